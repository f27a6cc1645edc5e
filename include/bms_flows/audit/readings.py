"""Readings of one window of invoices in several ways that must return the same rows."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import msgspec

from bms.client import Client
from bms.endpoints import InvoiceLanguage
from bms.errors import RangeRefused
from bms.records import ClientInvoice
from bms.responses import Rows as DecodedRows
from bms_flows.audit.compare import Key, RowDigests, digest, repeated
from bms_flows.audit.warehouse import CODE_LABELS
from bms_flows.runtime import quarantine
from bms_flows.runtime.windows import DAY, Window

OTHER_LANGUAGE: Final[Mapping[InvoiceLanguage, InvoiceLanguage]] = {"EN": "FR", "FR": "EN"}


@dataclass(frozen=True)
class InvoiceResponse:
    """One response: digests of its rows with and without code labels, and repeated keys."""

    records: Sequence[ClientInvoice]
    rows: RowDigests
    nameless: RowDigests
    repeated: frozenset[Key]
    rejected: frozenset[Key]
    """Keys of undecodable rows, as in `bms.quarantine`."""


@dataclass(frozen=True)
class InvoiceReadings:
    """All responses for a window, read at about the same time."""

    window: Window
    month: InvoiceResponse
    days: Mapping[date, InvoiceResponse]
    halves: Sequence[InvoiceResponse]
    other: InvoiceResponse
    """The whole window in the other language."""

    @property
    def all(self) -> Iterable[InvoiceResponse]:
        """Every response."""
        return (self.month, self.other, *self.halves, *self.days.values())

    @property
    def by_day(self) -> RowDigests:
        """Rows of all days."""
        return together(self.days.values())

    @property
    def by_half(self) -> RowDigests:
        """Rows of both halves."""
        return together(self.halves)


def overlapping(window: Window) -> tuple[Window, Window]:
    """Return two halves of a window that overlap in the middle."""
    middle = window.start + (window.days // 2) * DAY
    return Window(window.start, middle), Window(max(window.start, middle - DAY), window.end)


def requests(window_days: int) -> int:
    """Return the number of requests for one reading of a window."""
    return window_days + 4


def together(readings: Iterable[InvoiceResponse]) -> RowDigests:
    """Return the rows of several responses."""
    rows: dict[Key, bytes] = {}
    for each in readings:
        rows |= each.rows
    return rows


async def read(
    client: Client, id_entity: int, window: Window, language: InvoiceLanguage
) -> InvoiceReadings:
    """Read `window` as a whole, by days, by halves and in the other language.

    If the service refuses the range, read only its later half and return that as `window`. Raises the
    errors of the client.
    """

    async def request(days: Window, language: InvoiceLanguage) -> InvoiceResponse:
        response = await client.list_client_invoices(
            id_entity=id_entity, start_date=days.start, end_date=days.end, language=language
        )
        return decode(response)

    while True:
        try:
            month = await request(window, language)
            break
        except RangeRefused:
            if window.days == 1:
                raise
            window = window.halves()[-1]
    parts = [Window(day, day) for day in window] + [*overlapping(window)]
    *rest, other = await asyncio.gather(
        *(request(part, language) for part in parts), request(window, OTHER_LANGUAGE[language])
    )
    days = dict(zip(window, rest[: window.days], strict=True))
    return InvoiceReadings(window, month, days, rest[window.days :], other)


def decode(response: DecodedRows[ClientInvoice]) -> InvoiceResponse:
    """Return the records of a response with their digests."""
    records = response.records
    values = [msgspec.structs.asdict(record) for record in records]
    nameless = [{**each, **dict.fromkeys(CODE_LABELS)} for each in values]
    keys: list[Key] = [record.key for record in records]
    return InvoiceResponse(
        records,
        dict(zip(keys, map(digest, values), strict=True)),
        dict(zip(keys, map(digest, nameless), strict=True)),
        frozenset(repeated(keys)),
        frozenset(quarantine.row_key(row.key, row.raw) for row in response.rejected),
    )
