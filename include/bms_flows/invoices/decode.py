"""Decoder of invoice responses: straight into columns, or row by row for unusual responses.

Arrow reads JSON into columns in a fifth of the time that one object per row takes. But Arrow accepts
more than the interface describes, and its errors name no row. So `bms.decoding` reads a response
with any deviation row by row. Both ways return the same rows.
"""

import typing
from dataclasses import dataclass, field

import msgspec
import pyarrow as pa
from pyarrow import json

from bms.decoding import UNREADABLE, RecordReader
from bms.endpoints import BY_NAME
from bms.records import ClientInvoice, described
from bms.records.declaration import labels
from bms.responses import Rows
from bms_flows.runtime.columns import MONEY_DIGITS, MONEY_SCALE

OUTLINE = msgspec.json.Decoder(list[msgspec.Raw])
KINDS = {
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "amount": pa.decimal128(MONEY_DIGITS, MONEY_SCALE),
}


SCHEMA = pa.schema(
    [(name, KINDS.get(each.kind, pa.string())) for name, each in described(ClientInvoice).items()]
)
"""The record's fields as columns; dates stay texts until `bms_flows.runtime.columns` parses them."""
_NUMBERS: typing.Any = msgspec.defstruct(
    "Numbers",
    [(ClientInvoice.KEY, int), *((name, float) for name in ClientInvoice.amounts())],
    gc=False,
)
NUMBERS = msgspec.json.Decoder(list[_NUMBERS])
"""Accepts rows that are objects with a number as key and as each amount; ignores other fields."""
CODE_NAMES = labels(ClientInvoice)
"""Fields that name a code in the requested language, with the code's field."""
BLOCK = 1 << 20
"""Bytes per block that Arrow parses; a row must fit into one block."""


@dataclass(frozen=True)
class ColumnarResponse:
    """The rows of one response as columns, with dates as texts, and the response body."""

    rows: pa.Table
    body: bytes = field(repr=False)


Response = ColumnarResponse | Rows[ClientInvoice]


class ResponseReader:
    """Decodes responses of `list_client_invoices`; not thread-safe."""

    def __init__(self) -> None:
        self._records = RecordReader(BY_NAME["list_client_invoices"], ClientInvoice)

    def read(self, body: bytes) -> Response:
        """Return the response as columns if possible, else as records; raise `MalformedResponse`."""
        rows = read_columns(body)
        return self.records(body) if rows is None else ColumnarResponse(rows, body)

    def records(self, body: bytes) -> Rows[ClientInvoice]:
        """Return the response as records, with the deviations of each."""
        return self._records.rows(body)


def read_columns(body: bytes) -> pa.Table | None:
    """Return the rows of a response as columns, None if the response must be read row by row."""
    try:
        raws = OUTLINE.decode(body)
        # Arrow would accept a quoted amount and a row without key.
        NUMBERS.decode(body)
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
