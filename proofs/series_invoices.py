"""Invoice numbers of ten dialects, from which a service loses invoices; loaded by the flow and judged by its checks.

    python -m proofs.series_invoices

A day near the end of 150 days loses invoices; the table shows how many numbers are found. The generator
imports nothing of the flow's own reading of numbers.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from sqlalchemy import Connection, Engine, text

from bms_flows.invoices import run
from bms_warehouse.database import connect
from proofs.page import command, heading, show
from tests.bms_flows.invoices.listed import Company, Row, invoice, serving
from tests.support.warehouse_server import warehouse_server

DAY: Final = timedelta(days=1)
FIRST, DAYS, PER_DAY = date(2025, 10, 1), 150, 12
LAST: Final = FIRST + (DAYS - 1) * DAY
Write = Callable[[int, date, random.Random], str]
"""Returns the reference of the n-th invoice."""


@dataclass(frozen=True)
class Dialect:
    """How a company numbers its invoices."""

    write: Write
    restarts: str = ""
    """Period in which numbers restart, as a form of the date."""
    canceled: float = 0
    """Share of numbers that canceled drafts leave unused."""
    credits: bool = False
    """Whether one invoice in ten is a credit note of a series of its own."""


DIALECTS: Final[dict[str, Dialect]] = {
    "FA2026-00123": Dialect(lambda n, day, _: f"FA{day:%Y}-{n:05}", "%Y"),
    "2026/11/0042": Dialect(lambda n, day, _: f"{day:%Y/%m}/{n:04}", "%Y%m"),
    "plain counter": Dialect(lambda n, *_: f"{48_000 + n}"),
    "year and counter in one": Dialect(lambda n, day, _: f"{day:%y}{n:06}", "%Y"),
    "year without restart": Dialect(lambda n, day, _: f"F-{day:%Y}-{n:06}"),
    "prefix of the entity": Dialect(lambda n, day, _: f"07-{n}/{day:%y}", "%Y"),
    "credit notes apart": Dialect(lambda n, *_: f"F{n:06}", credits=True),
    "999, then 1000": Dialect(lambda n, *_: f"INV-{n:03}"),
    "two offices": Dialect(lambda n, *_: f"{10_000 + n // 2 if n % 2 else 50_000 + n // 2}"),
    "canceled drafts": Dialect(lambda n, *_: f"A{n:06}", canceled=0.04),
    "drafts replaced": Dialect(lambda n, *_: f"R{n:06}"),
    "random": Dialect(lambda _, __, draws: f"{draws.getrandbits(40):X}"),
}


def numbered(name: str, seed: int = 1) -> list[Row]:
    """Return the invoices of a company as its service should list them on the last day."""
    dialect, draws = DIALECTS[name], random.Random(f"{name} {seed}")  # noqa: S311 - a simulation
    rows: list[Row] = []
    last: dict[str, int] = {}
    for day in (FIRST + n * DAY for n in range(DAYS)):
        for _ in range(draws.randint(PER_DAY - 4, PER_DAY + 4) if day.weekday() < 5 else 0):  # noqa: PLR2004
            series = f"{day:{dialect.restarts}}" if dialect.restarts else ""
            credit = dialect.credits and draws.random() < 0.1  # noqa: PLR2004
            series += "credit" if credit else ""
            last[series] = last.get(series, 0) + 1 + (draws.random() < dialect.canceled)
            reference = dialect.write(last[series], day, draws)
            if name == "drafts replaced" and day > LAST - 2 * DAY and draws.random() < 0.5:  # noqa: PLR2004
                last[series] -= 1
                reference = f"DRAFT-{len(rows)}"
            rows.append(
                invoice(
                    len(rows) + 1,
                    day,
                    reference_number=f"C{reference[1:]}" if credit else reference,
                    id_client=draws.randint(1, 40),
                    total_incl_vat=120 + len(rows) % 7,
                    total_excl_vat=100 + len(rows) % 7,
                )
            )
    return rows


LOSSES: Final[dict[str, Callable[[list[Row]], list[Row]]]] = {
    "nothing": lambda _: [],
    "one invoice": lambda rows: rows[len(rows) // 2 :][:1],
    "one client": lambda rows: [r for r in rows if r["id_client"] == rows[3]["id_client"]],
    "largest invoice": lambda rows: [max(rows[1:], key=lambda r: r["total_incl_vat"])],
    "5 % of a day": lambda rows: rows[2::20],
    "every third invoice": lambda rows: rows[1::3],
}
"""Invoices of a day that are lost."""


def usual_holes(warehouse: Engine) -> str:
    """Return the usual holes per number of the latest load's series."""
    with warehouse.connect() as connection:
        latest = text("select details->'numbers' from bms.step_run order by id desc limit 1")
        shares = [each["usual_share"] for each in connection.scalar(latest)]
    return ", ".join(f"{share:.1%}" for share in shares) or "no series"


def missing(warehouse: Engine) -> set[str]:
    """Return the missing numbers that the flow stores."""
    with warehouse.connect() as connection:
        stored = text("select reference_number from bms.client_invoice_missing_number")
        return {*connection.scalars(stored)}


def lost_rows(rows: list[Row], loss: str) -> list[Row]:
    """Return the invoices of a day near the end that are lost."""
    return LOSSES[loss]([row for row in rows if row["invoice_date"] == f"{LAST - 3 * DAY}"])


def found(company: Company, name: str, loss: str) -> tuple[set[str], set[str]]:
    """Load a dialect with a loss; return the lost numbers, and the numbers that the flow reports."""
    rows = numbered(name)
    lost = lost_rows(rows, loss)
    company.service.rows, company.service.lost = rows, {row["id_invoice"] for row in lost}

    def morning_after(_: Connection) -> datetime:
        """Return the morning after the last day instead of the database's time."""
        return datetime.combine(LAST + DAY, time(4), UTC)

    setattr(run, "clock", morning_after)  # noqa: B010 - mypy allows no assignment
    if company.held(FIRST, LAST):
        company.accept()
    return {row["reference_number"] for row in lost}, missing(company.warehouse)


def results() -> Iterator[Sequence[object]]:
    """Yield the lost and found numbers of each dialect."""
    with warehouse_server() as server, serving() as service:
        for name in DIALECTS:
            cells: list[str] = []
            for loss in LOSSES:
                warehouse = connect(server.warehouse())
                company = Company(warehouse, server.folder / name.replace("/", "-"), service)
                lost, reported = found(company, name, loss)
                cells = cells or [usual_holes(warehouse)]
                wrong = f", {len(reported - lost)} wrong" if reported - lost else ""
                cells.append(f"{len(lost & reported)}/{len(lost)}{wrong}")
                warehouse.dispose()
            yield name, *cells


def main() -> None:
    """Print the table."""
    heading("Lost invoices found by their numbers", "Found/lost, by what is lost. ")
    show(["numbers", "usual holes", *LOSSES], results())


if __name__ == "__main__":
    command(main)
