"""How companies number their invoices, and losses of a day; chosen before the checks were tried on them."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from tests.bms_flows.invoices.listed import Row, invoice

DAY: Final = timedelta(days=1)
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
    dialect, draws = DIALECTS[name], random.Random(f"{name} {seed}")
    rows: list[Row] = []
    last: dict[str, int] = {}
    for day in (NUMBERS_FROM + n * DAY for n in range(DAYS)):
        for _ in range(draws.randint(PER_DAY - 4, PER_DAY + 4) if day.weekday() < 5 else 0):
            series = f"{day:{dialect.restarts}}" if dialect.restarts else ""
            credit = dialect.credits and draws.random() < 0.1
            series += "credit" if credit else ""
            last[series] = last.get(series, 0) + 1 + (draws.random() < dialect.canceled)
            reference = dialect.write(last[series], day, draws)
            if name == "drafts replaced" and day > NUMBERS_TO - 2 * DAY and draws.random() < 0.5:
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
