"""Records become columns: typed, exact, hashed; a row that can't be is named, the others go on."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import BigInteger, Boolean, Column, Date, DateTime, Integer, Numeric, Text
from sqlalchemy.dialects.postgresql import JSONB

from bms.dates import parse_date, parse_datetime
from bms.records import Record
from bms_flows.runtime import memory

memory.keep_pandas_out()
memory.give_memory_back()

MONEY_DIGITS, MONEY_SCALE = 30, 9
"""An amount with more decimals than this is set aside rather than rounded."""

LOCAL = r"^[12]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?$"
ZONED = LOCAL.replace("$", r"(Z|[+-]\d\d:\d\d)$")
"""Date-times that Arrow reads as `parse_datetime` does."""

Cells: TypeAlias = Sequence[Any] | pa.Array
ArrayOf = Callable[[Cells], pa.Array]


@dataclass(frozen=True)
class InvalidCell:
    """A cell that doesn't fit its column: the record's place, the field, the reason's code."""

    index: int
    field: str
    code: str


@dataclass(frozen=True)
class TypedRecords:
    """Records as columns, without those that are bad; `kept` are the others' places."""

    rows: pa.Table
    kept: Sequence[int]
    bad: Sequence[InvalidCell]


def typed_records(
    records: Sequence[Record],
    columns: Sequence[Column[Any]],
    zone: str,
    constants: Mapping[str, Any] | None = None,
) -> TypedRecords:
    """Turn `records` (fields named as the columns) into an Arrow table.

    `constants` are columns with one value for all rows; date-times
    without a zone are meant in `zone`, an IANA name.
    """
    kept: Sequence[int] = range(len(records))
    bad: list[InvalidCell] = []
    while True:
        values = _columns([records[i] for i in kept])
        arrays, failed = _arrays(values, len(kept), columns, zone, constants or {})
        if not failed:
            return TypedRecords(pa.table(arrays), kept, bad)
        bad += [InvalidCell(kept[cell.index], cell.field, cell.code) for cell in failed]
        out = {cell.index for cell in failed}
        kept = [place for i, place in enumerate(kept) if i not in out]


def typed_columns(
    rows: pa.Table, columns: Sequence[Column[Any]], zone: str, constants: Mapping[str, Any]
) -> pa.Table | None:
    """Turn columns as they stood on the wire into what `typed_records` makes of the same rows.

    None where a cell doesn't fit its column: `typed_records` can tell which.
    """
    values = {name: rows.column(name).combine_chunks() for name in rows.column_names}
    arrays, failed = _arrays(values, rows.num_rows, columns, zone, constants)
    return None if failed else pa.table(arrays)


def row_hashes(rows: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return a 16-byte digest of each row over the columns `names`, equal when all values are equal."""
    texts = [_as_text(rows.column(name).combine_chunks()) for name in names]
    # No text holds a NUL (see _text), so it separates, and no value can be mistaken for "no value".
    joined = pc.binary_join_element_wise(
        *texts, "\0", null_handling="replace", null_replacement="\0N"
    )
    return pa.array(
        [
            hashlib.blake2b(line, digest_size=16).digest()
            for line in joined.cast(pa.binary()).to_pylist()
        ],
        pa.binary(),
    )


def _as_text(array: pa.Array) -> pa.Array:
    # Writing out a date-time costs more than all other columns together; its microseconds do.
    plain = array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array
    return plain.cast(pa.string())


def _arrays(
    values: Mapping[str, Cells],
    count: int,
    columns: Sequence[Column[Any]],
    zone: str,
    constants: Mapping[str, Any],
) -> tuple[dict[str, pa.Array], list[InvalidCell]]:
    arrays: dict[str, pa.Array] = {}
    failed: dict[int, InvalidCell] = {}
    for column in columns:
        array_of, code = _reader(column, zone)
        if column.name in constants:
            one = array_of([constants[column.name]])[0]
            arrays[column.name] = pa.repeat(one, count)
            continue
        cells = values.get(column.name, ())
        try:
            arrays[column.name] = array_of(cells)
        except (ValueError, OverflowError, pa.ArrowException):
            for index, cell in enumerate(cells):
                if index not in failed and not _fits(cell, array_of):
                    failed[index] = InvalidCell(index, column.name, code)
    return arrays, list(failed.values())


def _columns(records: Sequence[Record]) -> dict[str, list[Any]]:
    """Turn rows to columns; a few hundred at a time, which stay in the processor's cache."""
    names = records[0].__struct_fields__ if records else ()
    columns: list[list[Any]] = [[] for _ in names]
    for start in range(0, len(records), 512):
        rows = map(msgspec.structs.astuple, records[start : start + 512])
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(values)
    return dict(zip(names, columns, strict=True))


def _fits(cell: Any, array_of: ArrayOf) -> bool:
    try:
        array_of([cell])
    except (ValueError, OverflowError, pa.ArrowException):
        return False
    return True


def _reader(column: Column[Any], zone: str) -> tuple[ArrayOf, str]:
    """Return how values become an array of a column's kind, and the code of one that can't."""
    readers: dict[type, tuple[ArrayOf, str]] = {
        BigInteger: (_plain(pa.int64()), "bad_integer"),
        Integer: (_plain(pa.int64()), "bad_integer"),
        Numeric: (_amounts, "bad_amount"),
        Boolean: (_plain(pa.bool_()), "bad_boolean"),
        Date: (lambda values: _days(values, zone), "bad_date"),
        DateTime: (lambda values: _moments(values, zone), "bad_datetime"),
        JSONB: (lambda values: _texts([_json(value) for value in values]), "bad_json"),
        Text: (_texts, "bad_text"),
    }
    return readers[type(column.type)]


def _plain(kind: pa.DataType) -> ArrayOf:
    return lambda values: _array(values, kind)


def _array(values: Cells, kind: pa.DataType) -> pa.Array:
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)


def _amounts(values: Cells) -> pa.Array:
    # Arrow writes an amount that doesn't fit out, digit by digit: 1E999999999 would take it hours.
    if not isinstance(values, pa.Array) and any(
        value is not None and value.adjusted() >= MONEY_DIGITS for value in values
    ):
        raise ValueError("an amount longer than any")
    return _array(values, pa.decimal128(MONEY_DIGITS, MONEY_SCALE))


def _texts(values: Cells) -> pa.Array:
    array = _array(values, pa.string())
    if pc.any(pc.match_substring(array, "\0")).as_py():
        raise ValueError("a text holds a NUL, which PostgreSQL can't store")
    return array


def _days(values: Cells, zone: str) -> pa.Array:
    """Read each distinct text once: a week of invoices has few dates."""
    texts = _array(values, pa.string()).dictionary_encode()
    days = [parse_date(text, zone) for text in texts.dictionary.to_pylist()]
    return pa.array(days, pa.date32()).take(texts.indices)


def _moments(values: Cells, zone: str) -> pa.Array:
    """Let Arrow read what all has one plain shape; anything else is read one by one."""
    kind = pa.timestamp("us", "UTC")
    texts = _array(values, pa.string())
    try:
        if pc.all(pc.match_substring_regex(texts, ZONED)).as_py():
            return texts.cast(kind)
        if pc.all(pc.match_substring_regex(texts, LOCAL)).as_py():
            # Python reads an hour that comes twice as the first; it has its own way with one
            # that the clock leaves out.
            local = texts.cast(pa.timestamp("us"))
            return pc.assume_timezone(local, zone, ambiguous="earliest").cast(kind)
    except pa.ArrowInvalid:
        pass  # one is no day or time of the calendar, or falls into such an hour: told below
    return pa.array([parse_datetime(value, zone) for value in texts.to_pylist()], kind)


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
