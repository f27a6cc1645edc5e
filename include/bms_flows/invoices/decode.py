"""Decoder of invoice responses: straight into columns, or row by row for unusual responses.

Arrow reads JSON into columns in a fifth of the time that one object per row takes. But Arrow accepts
more than the interface describes, and its errors name no row. So `bms.decoding` reads a response
with any deviation row by row. Both ways return the same rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import json

from bms.decoding import UNREADABLE, RecordReader
from bms.endpoints import BY_NAME
from bms.records import ClientInvoice, described
from bms.records.declaration import labels
from bms.responses import Rows
from bms_flows.invoices.dedup import IdArray
from bms_flows.invoices.totals import DayFacts
from bms_flows.runtime.columns import MONEY_DIGITS, MONEY_SCALE

OUTLINE = msgspec.json.Decoder(list[msgspec.Raw])
REFERENCES = msgspec.json.Decoder(
    list[msgspec.defstruct("Reference", [("id_invoice", int), ("reference_number", Any, None)])]  # type: ignore[misc]
)
KINDS = {
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "amount": pa.decimal128(MONEY_DIGITS, MONEY_SCALE),
}


SCHEMA = pa.schema(
    [(name, KINDS.get(each.kind, pa.string())) for name, each in described(ClientInvoice).items()]
)
"""The record's fields as columns; dates stay texts until `bms_flows.runtime.columns` parses them."""
CODE_NAMES = labels(ClientInvoice)
"""Fields that name a code in the requested language, with the code's field."""
BLOCK = 1 << 20
"""Bytes per block that Arrow parses; a row must fit into one block."""


@dataclass(frozen=True)
class ColumnarResponse:
    """The rows of one response as columns, with dates as texts, and the response body."""

    rows: pa.Table
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class KnownDay:
    """A day of which an earlier load decoded rows."""

    facts: DayFacts
    """What the rows of the earlier load added to it."""
    gone: IdArray | None = None
    """Rows that are no longer listed, or that are listed with other content; None if all rows are equal."""


@dataclass(frozen=True)
class KnownResponse:
    """A response of which an earlier load decoded rows; `days` has every day of its window."""

    body: bytes = field(repr=False)
    days: Mapping[date, KnownDay]
    others: Sequence[msgspec.Raw] | None = None
    """The rows to decode; None if all days are equal."""
    new: bool = False
    """Whether one of these rows was not listed on these days."""

    def references(self, ids: IdArray) -> list[str | None]:
        """Return the reference numbers of the rows that are not decoded."""
        known = {*ids.tolist()}
        return [
            row.reference_number for row in REFERENCES.decode(self.body) if row.id_invoice in known
        ]


def joined(responses: Sequence[KnownResponse]) -> KnownResponse:
    """Return several responses as one, without body."""
    equal = all(each.others is None for each in responses)
    others = [row for each in responses for row in each.others or ()]
    days = {day: of_day for each in responses for day, of_day in each.days.items()}
    return KnownResponse(b"", days, None if equal else others)


Response = ColumnarResponse | KnownResponse | Rows[ClientInvoice]


class ResponseReader:
    """Decodes responses of `list_client_invoices`; not thread-safe."""

    def __init__(self) -> None:
        self._records = RecordReader(BY_NAME["list_client_invoices"], ClientInvoice)

    def read(
        self, body: bytes, raws: Sequence[msgspec.Raw] = ()
    ) -> ColumnarResponse | Rows[ClientInvoice]:
        """Return the response as columns if possible, else as records; raise `MalformedResponse`.

        `raws` are the rows of the body, if the caller has split them.
        """
        rows = read_columns(body, raws)
        return self.records(body) if rows is None else ColumnarResponse(rows, body)

    def rows(self, raws: Sequence[msgspec.Raw]) -> ColumnarResponse | Rows[ClientInvoice]:
        """Return rows of a response."""
        return self.read(b"[%b]" % b",".join(raws), raws)

    def records(self, body: bytes) -> Rows[ClientInvoice]:
        """Return the response as records, with the deviations of each."""
        return self._records.rows(body)


@cache
def _numbers(range_date: str) -> msgspec.json.Decoder[list[Any]]:
    """Return the decoder of rows that are objects with a number as key and as each amount.

    The decoder reads the text of the date that the range filters, and ignores other fields.
    """
    amounts = [(name, float) for name in ClientInvoice.amounts()]
    fields: list[Any] = [(ClientInvoice.KEY, int), *amounts, (range_date, str | None, None)]
    return msgspec.json.Decoder(list[msgspec.defstruct("Numbers", fields, gc=False)])  # type: ignore[misc]


def split(body: bytes, range_date: str = "invoice_date") -> tuple[list[msgspec.Raw], list[Any]]:
    """Return the rows of a response as bytes, and each row's key and the text of its date.

    Raises one of `UNREADABLE` if the response must be read row by row: Arrow would accept a quoted
    amount and a row without key.
    """
    return OUTLINE.decode(body), _numbers(range_date).decode(body)


def read_columns(body: bytes, raws: Sequence[msgspec.Raw] = ()) -> pa.Table | None:
    """Return the rows of a response as columns, None if the response must be read row by row."""
    try:
        raws = raws or split(body)[0]
        lines = b"\n".join(raws)
        # Arrow crashes on a line that begins with null: require one object per line.
        if lines.count(b"\n") >= len(raws):
            return None
        rows = json.read_json(
            pa.BufferReader(lines),
            json.ReadOptions(use_threads=False, block_size=BLOCK),
            json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="error"),
        )
        rows.validate(full=True)  # rejects texts that are not UTF-8
    except (*UNREADABLE, pa.ArrowException):
        return None
    return rows
