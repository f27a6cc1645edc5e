"""Typed rows of a response, and its invalid rows with their reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import msgspec
import pyarrow as pa

from bms.dates import parse_date
from bms.records import ClientInvoice
from bms.responses import RejectedRow, Rows
from bms_flows.invoices.decode import (
    CODE_NAMES,
    ColumnarResponse,
    Response,
    ResponseReader,
)
from bms_flows.invoices.totals import listed_days
from bms_flows.runtime.columns import (
    SORTED,
    extra_column,
    row_hashes,
    typed_columns,
    typed_records,
)
from bms_warehouse.tables import CLIENT_INVOICE_FIELDS, client_invoice

_COLUMNS = [client_invoice.columns[name] for name in CLIENT_INVOICE_FIELDS]
_HASHED = [name for name in CLIENT_INVOICE_FIELDS if name not in CODE_NAMES] + ["_extra", "_day"]


@dataclass(frozen=True)
class ResponseRows:
    """The valid and invalid rows of a response."""

    table: pa.Table
    """Valid rows: fields of the interface, `_extra`, `_day` and `_row_hash`."""
    positions: Sequence[int]
    """Position in the response's records of each row of `table`."""
    invalid: Sequence[RejectedRow]
    records: Rows[ClientInvoice] | None
    """The response row by row, None if every value is as the interface describes."""


@dataclass(frozen=True)
class Reading:
    """How responses for an entity are read; a load stores it, so that they can be read again."""

    id_entity: int
    zone: str
    """Zone of the service's date-times without a zone."""
    range_date: str
    """The date that the service's range filters."""
    volatile: frozenset[str] = frozenset()
    """Unknown fields that are left out, because they change with every response."""

    @classmethod
    def of_step(cls, details: Mapping[str, Any]) -> "Reading":
        """Return how the step run with these details read its responses."""
        volatile = frozenset(details.get("volatile", ()))  # versions before 0.1.0 left none out
        return cls(details["id_entity"], details["zone"], details["range_date"], volatile)


@dataclass
class RowReader:
    """Reads responses; not thread-safe."""

    reading: Reading
    responses: ResponseReader = field(default_factory=ResponseReader)

    def __post_init__(self) -> None:
        self._zone, self._range_date = self.reading.zone, self.reading.range_date
        self._constants = {"id_entity": self.reading.id_entity}

    def read(self, answer: Response) -> ResponseRows:
        """Return the rows of a response: as columns at once if every value fits, else row by row."""
        if isinstance(answer, ColumnarResponse):
            rows = typed_columns(answer.rows, _COLUMNS, self._zone, self._constants)
            if rows is not None:
                table = self._completed(rows, pa.nulls(rows.num_rows, pa.string()))
                return ResponseRows(table, range(rows.num_rows), (), None)
        records = self._records(answer)
        framed = typed_records(records.records, _COLUMNS, self._zone, self._constants)
        invalid = [*records.rejected]
        for cell in framed.bad:
            raw, key = _as_json(records, cell.index), records.records[cell.index].key
            invalid.append(
                RejectedRow(index=cell.index, key=key, field=cell.field, code=cell.code, raw=raw)
            )
        extra = extra_column(self._stable(records.extra.get(place)) for place in framed.kept)
        table = self._completed(framed.rows, extra)
        return ResponseRows(table, framed.kept, invalid, records)

    def as_json(self, answer: Response, read: ResponseRows, rows: Sequence[int]) -> list[bytes]:
        """Return rows of the table as JSON; equal values give equal bytes."""
        records = read.records or self._records(answer)
        return [_as_json(records, read.positions[row]) for row in rows]

    def _records(self, answer: Response) -> Rows[ClientInvoice]:
        return answer if isinstance(answer, Rows) else self.responses.records(answer.body)

    def _completed(self, rows: pa.Table, extra: pa.Array) -> pa.Table:
        rows = rows.append_column("_extra", extra)
        rows = rows.append_column("_day", listed_days(rows, self._range_date, self._zone))
        return rows.append_column("_row_hash", row_hashes(rows, _HASHED))

    def _stable(self, extra: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return unknown fields without volatile ones; None if no field is left."""
        if not (extra and self.reading.volatile):
            return extra
        return {n: value for n, value in extra.items() if n not in self.reading.volatile} or None

    def day_of(self, raw: bytes) -> date | None:
        """Return the day that a row is listed under, None if unreadable."""
        try:
            return parse_date(msgspec.json.decode(raw)[self._range_date], self._zone)
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, RecursionError):
            return None


def _as_json(answer: Rows[ClientInvoice], place: int) -> bytes:
    """Return a valid row as JSON again, its unknown fields included."""
    fields = msgspec.structs.asdict(answer.records[place]) | answer.extra.get(place, {})
    return SORTED.encode(fields)
