"""One window of an entity's invoices, read in every way that should bring the same rows."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import msgspec

from bms.client import Client, InvoiceLanguage
from bms.errors import RangeRefused
from bms.records import ClientInvoice
from bms.responses import Rows as Answer
from bms_flows.audit.compare import Key, Rows, digest, doubled
from bms_flows.audit.warehouse import NAMES
from bms_flows.runtime import quarantine
from bms_flows.runtime.windows import DAY, Window

OTHER: Final[Mapping[InvoiceLanguage, InvoiceLanguage]] = {"EN": "FR", "FR": "EN"}


@dataclass(frozen=True)
class Reading:
    """One answer: its rows with and without the names of codes, and what came twice."""

    records: Sequence[ClientInvoice]
    rows: Rows
    nameless: Rows
    doubled: frozenset[Key]
    rejected: frozenset[Key]
    """Keys of rows that no record can hold, as `bms.quarantine` names them."""


@dataclass(frozen=True)
class Readings:
    """All answers about a window, read at about the same time."""

    window: Window
    month: Reading
    days: Mapping[date, Reading]
    halves: Sequence[Reading]
    other: Reading
    """The month in the other language."""

    @property
    def all(self) -> Iterable[Reading]:
        """Every answer."""
        return (self.month, self.other, *self.halves, *self.days.values())

    @property
    def by_day(self) -> Rows:
        """The days' rows together."""
        return together(self.days.values())

    @property
    def by_half(self) -> Rows:
        """The halves' rows together."""
        return together(self.halves)


def overlapping(window: Window) -> tuple[Window, Window]:
    """Return two halves of a window that share the days in its middle."""
    middle = window.start + (window.days // 2) * DAY
    return Window(window.start, middle), Window(max(window.start, middle - DAY), window.end)


def requests(window_days: int) -> int:
    """Return how many requests one reading of so many days takes."""
    return window_days + 4


def together(readings: Iterable[Reading]) -> Rows:
    """Return the rows of several answers as one."""
    rows: dict[Key, bytes] = {}
    for each in readings:
        rows |= each.rows
    return rows


async def read(
    client: Client, id_entity: int, window: Window, language: InvoiceLanguage
) -> Readings:
    """Read `window` at once, by days, by halves and in the other language.

    A range that the service refuses is halved: then its later half is read, and stands in the
    answer's `window`. Raises the client's errors.
    """

    async def ask(days: Window, spoken: InvoiceLanguage) -> Reading:
        answer = await client.list_client_invoices(
            id_entity=id_entity, start_date=days.start, end_date=days.end, language=spoken
        )
        return reading(answer)

    while True:
        try:
            month = await ask(window, language)
            break
        except RangeRefused:
            if window.days == 1:
                raise
            window = window.halves()[-1]
    parts = [Window(day, day) for day in window] + [*overlapping(window)]
    *rest, other = await asyncio.gather(
        *(ask(part, language) for part in parts), ask(window, OTHER[language])
    )
    days = dict(zip(window, rest[: window.days], strict=True))
    return Readings(window, month, days, rest[window.days :], other)


def reading(answer: Answer[ClientInvoice]) -> Reading:
    """Return an answer's records with what is compared of them."""
    records = answer.records
    values = [msgspec.structs.asdict(record) for record in records]
    nameless = [{**each, **dict.fromkeys(NAMES)} for each in values]
    keys: list[Key] = [record.key for record in records]
    return Reading(
        records,
        dict(zip(keys, map(digest, values), strict=True)),
        dict(zip(keys, map(digest, nameless), strict=True)),
        frozenset(doubled(keys)),
        frozenset(quarantine.row_key(row.key, row.raw) for row in answer.rejected),
    )
