"""Losses and clean years of simulated companies, loaded by the flow and judged by its checks.

    python -m proofs.losses_invoices [--only clean losses] [--loss NAME ...] [--company NAME ...]

Each night reads the last 35 days over HTTP and publishes into PostgreSQL, as the flow does. A loss
begins after a year of history and stays; it is found in the first night that holds days. A held clean
night is accepted at once, as an operator would.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path

from bms_flows.invoices import run
from bms_flows.runtime.windows import Window
from bms_warehouse.database import connect
from proofs import companies
from proofs.companies import DAY, LOSSES, PROFILES, CompanyProfile, Loss
from proofs.page import command, heading, show
from tests.bms_flows.invoices.listed import Company, ListedInvoices, Row, serving
from tests.support.warehouse_server import WarehouseServer, warehouse_server

HISTORY_FROM, FIRST_NIGHT = date(2022, 1, 3), date(2023, 1, 9)
WARM_UP, MOST_NIGHTS, STARTS = 21, 20, (0, 9, 17)
LAST_DAY = FIRST_NIGHT + (WARM_UP + MOST_NIGHTS + 40) * DAY
YEARS = {"August closure": 3, "price rise": 3, "takeover": 3, "import": 3}
OTHER_YEARS = 4
COMPANIES = tuple(each.name for each in PROFILES)


def set_today(day: date) -> None:
    """Let loads run on the morning after a day, whatever the database's time is."""
    morning = datetime.combine(day + DAY, time(4), UTC)
    setattr(run, "clock", lambda _: morning)  # noqa: B010 - mypy allows no assignment


class Nights:
    """Nightly loads of a simulated company."""

    def __init__(
        self,
        warehouse: str,
        folder: Path,
        service: ListedInvoices,
        profile: CompanyProfile,
        last: date = LAST_DAY,
        number: int = 0,
    ) -> None:
        """Take a company's warehouse, whose latest run has this `number`."""
        self.truth = companies.SimulatedCompany(profile, HISTORY_FROM, last)
        self.company = Company(connect(warehouse), folder / profile.name, service, number=number)
        self.loss: Loss | None = None
        self.night = 0
        self.today = FIRST_NIGHT
        service.listed = self._listed  # type: ignore[method-assign]

    def _listed(self, window: Window) -> list[Row]:
        rows = self.truth.listed(self.today, window.start, window.end)
        return self.loss(rows, self.night, self.today) if self.loss and rows else rows

    def start(self) -> None:
        """Load a year of history."""
        self.load(FIRST_NIGHT - DAY, HISTORY_FROM)
        self.company.accept()

    def load(self, day: date, start: date | None = None) -> str:
        """Load up to a day; return the text of what is held, empty if nothing is."""
        self.today = day
        set_today(day)
        return self.company.held(start or day - 34 * DAY, day)

    def clean(self, count: int) -> Counter[str]:
        """Load clean nights and accept what is held; return the held nights by day and checks."""
        held: Counter[str] = Counter()
        for day in (FIRST_NIGHT + n * DAY for n in range(count)):
            if message := self.load(day):
                lines = (line for line in message.splitlines() if line.startswith("- "))
                codes = {line[2:].partition(" ")[0] for line in lines}
                held[f"{day}: {', '.join(sorted(codes))}"] += 1
                self.company.accept()
        return held

    def nights_until_held(self, loss: Loss, first: date) -> int | None:
        """Return in which night of a loss days are held; None if in none."""
        self.loss = loss
        for self.night in range(MOST_NIGHTS):
            if self.load(first + self.night * DAY):
                return self.night + 1
        return None


def clean_years(
    server: WarehouseServer, service: ListedInvoices, names: Sequence[str]
) -> Iterator[Sequence[object]]:
    """Yield the held nights of clean years."""
    total = years = 0
    for profile in (each for each in PROFILES if each.name in names):
        count = YEARS.get(profile.name, OTHER_YEARS)
        last = FIRST_NIGHT + count * 365 * DAY
        nights = Nights(server.warehouse(), server.folder, service, profile, last)
        nights.start()
        held = nights.clean(count * 365)
        years, total = years + count, total + held.total()
        nights.company.warehouse.dispose()
        yield profile.name, count, held.total(), "; ".join(held)
    yield "all", years, total, f"{total / years:.2f} a year"


def cell(
    server: WarehouseServer, service: ListedInvoices, profile: CompanyProfile, base: str, loss: str
) -> str:
    """Return in which night a loss is found, the median and worst of its starts."""
    found = []
    for start in STARTS:
        copy = server.warehouse(base)
        nights = Nights(copy, server.folder, service, profile, number=1000)
        night = nights.nights_until_held(LOSSES[loss], FIRST_NIGHT + (WARM_UP + start) * DAY)
        found.append(night or MOST_NIGHTS + 1)
        nights.company.warehouse.dispose()
        server.drop(copy)
    texts = [str(night) if night <= MOST_NIGHTS else "none" for night in sorted(found)]
    return texts[0] if len({*texts}) == 1 else f"{texts[1]} ({texts[-1]})"


def losses(
    server: WarehouseServer, service: ListedInvoices, names: Sequence[str]
) -> Iterator[Sequence[object]]:
    """Yield in which night each loss is found."""
    bases = {profile: server.warehouse() for profile in PROFILES}
    for profile, base in bases.items():
        nights = Nights(base, server.folder, service, profile)
        nights.start()
        nights.clean(WARM_UP)
        nights.company.warehouse.dispose()
    for name in names:
        yield name, *(cell(server, service, profile, base, name) for profile, base in bases.items())


def main(
    *,
    only: Sequence[str] = ("losses", "clean"),
    loss: Sequence[str] = tuple(LOSSES),
    company: Sequence[str] = COMPANIES,
) -> None:
    """Print the tables; `company` limits the clean years."""
    heading("Losses in responses of invoices")
    with warehouse_server() as server, serving() as service:
        if "losses" in only:
            found = {str(name): cells for name, *cells in losses(server, service, loss)}
            at_once = [name for name, cells in found.items() if {*cells} == {"1"}]
            print(f"Held in the first night, in all companies: {', '.join(at_once)}.", end="\n\n")
            show(
                ["loss", *COMPANIES],
                ((n, *cells) for n, cells in found.items() if n not in at_once),
            )
        if "clean" in only:
            head = ("company", "years", "held nights", "which")
            show(head, clean_years(server, service, company))


if __name__ == "__main__":
    command(main)
