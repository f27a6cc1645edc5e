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

from bms.decoding import RecordReader
from bms.endpoints import BY_NAME
from bms.json_content import UNREADABLE
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
    gone: IdArray
    """Rows that are no longer listed, or that are listed with other content."""


@dataclass(frozen=True)
class SplitResponse:
    """A response that lists each row once and on a day of its window, split into rows."""

    body: bytes = field(repr=False)
    days: Mapping[date, KnownDay]
    """Days of which an earlier load decoded rows."""
    others: Sequence[msgspec.Raw]
    """The rows to decode."""

    @property
    def size(self) -> int:
        """Bytes of the response and of the rows to decode."""
        return len(self.body) + sum(map(len, self.others))

    def references(self, ids: IdArray) -> list[str | None]:
        """Return the reference numbers of rows that are not decoded."""
        known = {*ids.tolist()}
        return [
            row.reference_number for row in REFERENCES.decode(self.body) if row.id_invoice in known
        ]


Decoded = ColumnarResponse | Rows[ClientInvoice]
Response = Decoded | SplitResponse


class ResponseReader:
    """Decodes responses of `list_client_invoices`; not thread-safe."""

    def __init__(self) -> None:
        self._records = RecordReader(BY_NAME["list_client_invoices"], ClientInvoice)

    def read(self, body: bytes) -> Decoded:
        """Return the response as columns if possible, else as records; raise `MalformedResponse`."""
        rows = read_columns(body)
        return self.records(body) if rows is None else ColumnarResponse(rows, body)

    def rows(self, raws: Sequence[msgspec.Raw]) -> Decoded:
        """Return rows whose keys and amounts are numbers, as `numbers` requires."""
        body = b"[%b]" % b",".join(raws)
        rows = columns_of(raws)
        return self.records(body) if rows is None else ColumnarResponse(rows, body)

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


def numbers(body: bytes, range_date: str = "invoice_date") -> list[Any]:
    """Return each row's key and the text of its date.

    Raises one of `UNREADABLE` if the response must be read row by row: Arrow would accept a quoted
    amount and a row without key.
    """
    return _numbers(range_date).decode(body)


def read_columns(body: bytes) -> pa.Table | None:
    """Return the rows of a response as columns, None if the response must be read row by row."""
    try:
        numbers(body)
        return columns_of(OUTLINE.decode(body))
    except UNREADABLE:
        return None


def columns_of(raws: Sequence[msgspec.Raw]) -> pa.Table | None:
    """Return rows as columns, None if they must be read one by one."""
    lines = b"\n".join(raws)
    # Arrow crashes on a line that begins with null: require one object per line.
    if lines.count(b"\n") >= len(raws):
        return None
    try:
        rows = json.read_json(
            pa.BufferReader(lines),
            json.ReadOptions(use_threads=False, block_size=BLOCK),
            json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="error"),
        )
        rows.validate(full=True)  # rejects texts that are not UTF-8
    except pa.ArrowException:
        return None
    return rows
