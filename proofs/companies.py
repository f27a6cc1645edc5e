"""Companies whose invoices the proof of the checks loads, and losses of their service; independent of the checks.

Volumes, holidays, late entries, payments and events were chosen before the checks were tried on them.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from math import exp
from typing import Final

from holidays import country_holidays

from tests.bms_flows.invoices.listed import Row

DAY: Final = timedelta(days=1)
SATURDAY: Final = 5
FREE: Final = country_holidays("FR", years=range(2021, 2028))


def is_free(day: date) -> bool:
    """Return whether a day is a weekend day or a French public holiday."""
    return day.weekday() >= SATURDAY or day in FREE


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
