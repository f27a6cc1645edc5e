"""Companies whose invoices the proof of the checks loads, and losses of their service; independent of the checks.

Volumes, holidays, late entries, payments, events and dialects of invoice numbers were chosen before the
checks were tried on them.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from math import exp
from typing import Final

from tests.bms_flows.invoices.listed import Row, invoice

DAY: Final = timedelta(days=1)
SATURDAY: Final = 5
FREE: Final = {(1, 1), (5, 1), (5, 8), (7, 14), (8, 15), (11, 1), (11, 11), (12, 25)}
"""Holidays of fixed date in France, as month and day."""
EASTERS: Final = {
    2021: date(2021, 4, 4),
    2022: date(2022, 4, 17),
    2023: date(2023, 4, 9),
    2024: date(2024, 3, 31),
    2025: date(2025, 4, 20),
    2026: date(2026, 4, 5),
    2027: date(2027, 3, 28),
}


def is_free(day: date) -> bool:
    """Return whether a day is a weekend day or a French public holiday."""
    after = (day - EASTERS[day.year]).days
    return day.weekday() >= SATURDAY or (day.month, day.day) in FREE or after in {1, 39, 50}


@dataclass(frozen=True)
class CompanyProfile:
    """How a company bills."""

    name: str
    per_day: float
    """Invoices of an ordinary working day."""
    closed: float = 1.0
    """Share of the usual volume in August."""
    month_end: int = 0
    """Additional invoices on the last working day of a month."""
    annual: int = 0
    """Additional invoices on the first working day of a year."""
    growth: float = 0.0
    """Growth per day, as an exponent, during three years."""
    late: float = 0.2
    """Share of invoices that are entered one to four days after their date."""
    event_on: date | None = None
    prices: float = 1.0
    """Factor of amounts from the event on."""
    volume: float = 1.0
    """Factor of the volume from the event on; additional invoices are of other clients."""
    imported: int = 0
    """Old invoices that are entered on the day of the event."""


PROFILES: Final = (
    CompanyProfile("August closure", 40, closed=0.08, late=0.1),
    CompanyProfile("price rise", 25, closed=0.5, event_on=date(2024, 1, 2), prices=1.3),
    CompanyProfile("takeover", 12, closed=0.6, event_on=date(2024, 4, 2), volume=1.8),
    CompanyProfile("import", 30, closed=0.5, event_on=date(2024, 3, 12), imported=300),
    CompanyProfile("annual run", 8, month_end=60, annual=250, late=0.05),
    CompanyProfile("start-up", 2, growth=0.002, late=0.4),
)


class SimulatedCompany:
    """The invoices of a company, and what its service shows on a day."""

    def __init__(self, profile: CompanyProfile, first: date, last: date, seed: int = 1) -> None:
        self.profile, self.first = profile, first
        self.draws = random.Random(f"{profile.name} {seed}")  # noqa: S311 - a simulation
        self.invoices: list[tuple[date, date, Row]] = []
        """Day of entry, day of payment and row."""
        for n in range((last - first).days + 1):
            for _ in range(self._count(first + n * DAY)):
                self._add(first + n * DAY)
        if profile.event_on and profile.imported:
            for n in range(profile.imported):
                self._add(profile.event_on - (1 + n % 60) * DAY, entered=profile.event_on)

    def listed(self, today: date, start: date, end: date) -> list[Row]:
        """Return what the service lists for a range of invoice dates on the morning after `today`."""
        return [
            {**row, "total_due": 0 if paid <= today else row["total_incl_vat"]}
            for entered, paid, row in self.invoices
            if entered <= today and f"{start}" <= row["invoice_date"] <= f"{end}"
        ]

    def _count(self, day: date) -> int:
        each, draws = self.profile, self.draws
        if is_free(day):
            return 0
        mean = each.per_day * exp(each.growth * (day - self.first).days)
        if day.month == 8:  # noqa: PLR2004 - August
            mean *= each.closed
        if (day.month, day.day) >= (12, 24):
            mean *= 0.4
        if each.event_on and day >= each.event_on:
            mean *= each.volume
        mean = draws.gammavariate(25, mean / 25)
        count = sum(draws.random() < mean / 400 for _ in range(400))
        after = next(d for n in range(1, 9) if not is_free(d := day + n * DAY))
        before = next(d for n in range(1, 9) if not is_free(d := day - n * DAY))
        if after.month != day.month:
            count += round(each.month_end * draws.uniform(0.9, 1.1))
        return count + (each.annual if before.year != day.year else 0)

    def _add(self, day: date, entered: date | None = None) -> None:
        draws, number = self.draws, len(self.invoices) + 1
        late = draws.randint(1, 4) if draws.random() < self.profile.late else 0
        net = round(draws.lognormvariate(7, 0.8), 2)
        if self.profile.event_on and day >= self.profile.event_on:
            net = round(net * self.profile.prices, 2)
        if draws.random() < 0.03:  # noqa: PLR2004 - a credit note
            net = -net
        vat = round(net * 0.2, 2)
        row = {
            "id_invoice": number,
            "reference_number": f"F{day.year}-{number:06}",
            "invoice_date": f"{day}",
            "due_date": f"{day + 30 * DAY}",
            "id_client": int(draws.paretovariate(0.7)) % 200 + 1,
            "total_excl_vat": net,
            "total_vat": vat,
            "total_incl_vat": round(net + vat, 2),
            "currency": "USD" if draws.random() < 0.05 else "EUR",  # noqa: PLR2004 - a share
            "po_number": f"PO{number}" if draws.random() < 0.6 else None,  # noqa: PLR2004
            "status": "SENT",
            "canceled": draws.random() < 0.01,  # noqa: PLR2004 - a share
            "sent": True,
        }
        paid = day + draws.randint(10, 70) * DAY
        self.invoices.append((entered or day + late * DAY, paid, row))


Loss = Callable[[list[Row], int, date], list[Row]]
"""Changes a response: its rows, the number of nights since the loss began, the newest day."""


def _without(keep: Callable[[Row, int, date], bool]) -> Loss:
    return lambda rows, night, today: [row for row in rows if keep(row, night, today)]


def _changed(change: Callable[[Row], Row], share: int = 1) -> Loss:
    """Change one row in `share`."""
    return lambda rows, _, __: [
        {**row, **change(row)} if row["id_invoice"] % share == 0 else row for row in rows
    ]


def _times(factor: float) -> Callable[[Row], Row]:
    names = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
    return lambda row: {name: round(row[name] * factor, 2) for name in names}


def _of(row: Row) -> date:
    return date.fromisoformat(row["invoice_date"])


LOSSES: Final[dict[str, Loss]] = {
    "empty responses": lambda *_: [],
    "second half missing": lambda rows, *_: rows[: len(rows) // 2],
    "newest week missing": _without(lambda row, _, today: _of(row) < today - 6 * DAY),
    "every second invoice missing": _without(lambda row, *_: row["id_invoice"] % 2 == 0),
    "one in ten missing": _without(lambda row, *_: row["id_invoice"] % 10 > 0),
    "2 % more missing each night": _without(lambda row, night, _: row["id_invoice"] % 50 > night),
    "new invoices stop": lambda rows, night, today: [
        row for row in rows if _of(row) < today - night * DAY
    ],
    "oldest week missing": _without(lambda row, _, today: _of(row) > today - 28 * DAY),
    "one currency missing": _without(lambda row, *_: row["currency"] == "EUR"),
    "large invoices missing": _without(lambda row, *_: row["total_incl_vat"] < 3000),  # noqa: PLR2004
    "amounts in cents": _changed(_times(100)),
    "amounts a thousandth": _changed(_times(0.001)),
    "signs turned": _changed(_times(-1)),
    "one amount in ten doubled": _changed(_times(2), 10),
    "nothing due": _changed(lambda _: {"total_due": 0}),
    "all canceled": _changed(lambda _: {"canceled": True}),
    "one in five canceled": _changed(lambda _: {"canceled": True}, 5),
    "one client": _changed(lambda _: {"id_client": 7}),
    "another currency": _changed(lambda _: {"currency": "CHF"}),
    "order numbers emptied": _changed(lambda _: {"po_number": None}),
    "order numbers of another type": _changed(lambda _: {"po_number": {"value": 1}}),
    "due dates in another format": _changed(lambda _: {"due_date": "31/12/26"}),
    "each invoice three times": lambda rows, *_: [
        {**row, "id_invoice": row["id_invoice"] + n * 10_000_000} for row in rows for n in range(3)
    ],
    "references all equal": _changed(lambda _: {"reference_number": "F1"}),
    "one row repeated": lambda rows, *_: [*rows, *rows[-1:]],
    "totals a cent off": _changed(
        lambda row: {"total_incl_vat": round(row["total_incl_vat"] + 0.01, 2)}, 20
    ),
}

NUMBERS_FROM, DAYS, PER_DAY = date(2025, 10, 1), 150, 12
NUMBERS_TO: Final = NUMBERS_FROM + (DAYS - 1) * DAY
Write = Callable[[int, date, random.Random], str]
"""Returns the reference of the n-th invoice."""


@dataclass(frozen=True)
class NumberDialect:
    """How a company numbers its invoices."""

    write: Write
    restarts: str = ""
    """Period in which numbers restart, as a form of the date."""
    canceled: float = 0
    """Share of numbers that canceled drafts leave unused."""
    credits: bool = False
    """Whether one invoice in ten is a credit note with a separate series."""


DIALECTS: Final[dict[str, NumberDialect]] = {
    "FA2026-00123": NumberDialect(lambda n, day, _: f"FA{day:%Y}-{n:05}", "%Y"),
    "2026/11/0042": NumberDialect(lambda n, day, _: f"{day:%Y/%m}/{n:04}", "%Y%m"),
    "plain counter": NumberDialect(lambda n, *_: f"{48_000 + n}"),
    "year and counter in one": NumberDialect(lambda n, day, _: f"{day:%y}{n:06}", "%Y"),
    "year without restart": NumberDialect(lambda n, day, _: f"F-{day:%Y}-{n:06}"),
    "prefix of the entity": NumberDialect(lambda n, day, _: f"07-{n}/{day:%y}", "%Y"),
    "credit notes apart": NumberDialect(lambda n, *_: f"F{n:06}", credits=True),
    "999, then 1000": NumberDialect(lambda n, *_: f"INV-{n:03}"),
    "two offices": NumberDialect(lambda n, *_: f"{10_000 + n // 2 if n % 2 else 50_000 + n // 2}"),
    "canceled drafts": NumberDialect(lambda n, *_: f"A{n:06}", canceled=0.04),
    "drafts replaced": NumberDialect(lambda n, *_: f"R{n:06}"),
    "random": NumberDialect(lambda _, __, draws: f"{draws.getrandbits(40):X}"),
}


def numbered(name: str, seed: int = 1) -> list[Row]:
    """Return the invoices of a company as its service should list them on the last day."""
    dialect, draws = DIALECTS[name], random.Random(f"{name} {seed}")  # noqa: S311 - a simulation
    rows: list[Row] = []
    last: dict[str, int] = {}
    for day in (NUMBERS_FROM + n * DAY for n in range(DAYS)):
        for _ in range(draws.randint(PER_DAY - 4, PER_DAY + 4) if day.weekday() < 5 else 0):  # noqa: PLR2004
            series = f"{day:{dialect.restarts}}" if dialect.restarts else ""
            credit = dialect.credits and draws.random() < 0.1  # noqa: PLR2004
            series += "credit" if credit else ""
            last[series] = last.get(series, 0) + 1 + (draws.random() < dialect.canceled)
            reference = dialect.write(last[series], day, draws)
            if name == "drafts replaced" and day > NUMBERS_TO - 2 * DAY and draws.random() < 0.5:  # noqa: PLR2004
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


NUMBER_LOSSES: Final[dict[str, Callable[[list[Row]], list[Row]]]] = {
    "nothing": lambda _: [],
    "one invoice": lambda rows: rows[len(rows) // 2 :][:1],
    "one client": lambda rows: [r for r in rows if r["id_client"] == rows[3]["id_client"]],
    "largest invoice": lambda rows: [max(rows[1:], key=lambda r: r["total_incl_vat"])],
    "5 % of a day": lambda rows: rows[2::20],
    "every third invoice": lambda rows: rows[1::3],
}
"""Invoices of a day that are lost."""


def lost_rows(rows: list[Row], loss: str) -> list[Row]:
    """Return the invoices of a day near the end that are lost."""
    return NUMBER_LOSSES[loss](
        [row for row in rows if row["invoice_date"] == f"{NUMBERS_TO - 3 * DAY}"]
    )
