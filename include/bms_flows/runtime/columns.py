"""Conversion of records into typed columns: exact amounts, row hashes, invalid cells by position."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import BigInteger, Boolean, Column, Date, DateTime, Integer, Numeric, Text
from sqlalchemy.dialects.postgresql import JSONB

from bms.arrays import MISFITS, Values, exact_array, misfits
from bms.dates import parse_date, parse_datetime
from bms.field_values import AMOUNT_DECIMALS
from bms.records import Record
from bms_flows.runtime import memory
from bms_flows.runtime.digests import content_digest

memory.configure_arrow()

MONEY_DIGITS, MONEY_SCALE = 30, AMOUNT_DECIMALS
"""A row whose amount has more decimals is quarantined, unless they are noise (`without_noise`)."""

LOCAL = r"^(19\d\d|20[0-2]\d|203[0-6])-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?$"
ZONED = LOCAL.replace("$", r"(Z|[+-]\d\d:\d\d)$")
"""Date-times that Arrow parses as `parse_datetime` does: from 2038 on, Arrow has no summer time."""

NUL = re.compile(r"\\(?:(u0000)|.)")
"""An escape in JSON; the group marks the escape of a NUL."""
SORTED = msgspec.json.Encoder(decimal_format="number", order="sorted")

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
ArrayOf = Callable[[Values], pa.Array]


@dataclass(frozen=True)
class InvalidCell:
    """A cell that doesn't fit its column: the record's position, the field, the reason code."""

    index: int
    field: str
    code: str


@dataclass(frozen=True)
class TypedRecords:
    """The valid records as columns, their positions (`kept`), and the invalid cells (`bad`)."""

    rows: pa.Table
    kept: Sequence[int]
    bad: Sequence[InvalidCell]


def typed_records(
    records: Sequence[Record],
    columns: Sequence[Column[Any]],
    zone: str,
    constants: Mapping[str, Any] | None = None,
) -> TypedRecords:
    """Convert `records` (fields named as the columns) into an Arrow table.

    `constants` are columns with one value for all rows. `zone`, an IANA name, is the zone of
    date-times without a zone.
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
        kept = [position for i, position in enumerate(kept) if i not in out]


def typed_columns(
    rows: pa.Table, columns: Sequence[Column[Any]], zone: str, constants: Mapping[str, Any]
) -> pa.Table | None:
    """Convert columns of JSON values into the table that `typed_records` makes of the same rows.

    Returns None if a cell doesn't fit its column; `typed_records` names the cell.
    """
    values = {name: rows.column(name).combine_chunks() for name in rows.column_names}
    arrays, failed = _arrays(values, rows.num_rows, columns, zone, constants)
    return None if failed else pa.table(arrays)


def row_hashes(rows: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return a 16-byte digest of each row over the columns `names`; equal values, equal digests."""
    columns = [rows.column(name).combine_chunks() for name in names]
    texts = [each for each in columns if pa.types.is_string(each.type)]
    others = [_fixed_width(each) for each in columns if not pa.types.is_string(each.type)]
    # No text contains a NUL (see _texts), so NUL separates values. A byte marks each text as not null.
    joined = pc.binary_join_element_wise(
        pa.repeat("", rows.num_rows),
        *texts,
        "\0",
        null_handling="replace",
        null_replacement="",
    )
    not_null = [_marks(each) for each in texts]
    fixed = np.hstack([*not_null, *chain.from_iterable(others)])
    rest = fixed.view(f"V{fixed.shape[1]}").ravel().tolist()
    contents = map(bytes.__add__, joined.cast(pa.binary()).to_pylist(), rest)
    return pa.array(map(content_digest, contents), pa.binary())


def _fixed_width(array: pa.Array) -> tuple[Bytes, Bytes]:
    """Return the bytes of each value, and one that marks it as not null; zeros for null."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    size, count = array.type.bit_width // 8, len(array)
    content = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    values = content[array.offset * size : (array.offset + count) * size].reshape(count, size)
    valid = _marks(array)
    return (values * valid if array.null_count else values), valid


def _marks(array: pa.Array) -> Bytes:
    """Return 1 for each value, 0 for null."""
    if not array.null_count:
        return np.ones((len(array), 1), np.uint8)
    marks: Bytes = array.is_valid().cast(pa.uint8()).to_numpy()[:, np.newaxis]
    return marks


def _arrays(
    values: Mapping[str, Values],
    count: int,
    columns: Sequence[Column[Any]],
    zone: str,
    constants: Mapping[str, Any],
) -> tuple[dict[str, pa.Array], list[InvalidCell]]:
    arrays: dict[str, pa.Array] = {}
    failed: dict[int, InvalidCell] = {}
    for column in columns:
        kind: type = type(column.type)
        array_of, code = _reader(kind, zone)
        if column.name in constants:
            one = array_of([constants[column.name]])[0]
            arrays[column.name] = pa.repeat(one, count)
            continue
        cells = values.get(column.name, ())
        try:
            arrays[column.name] = array_of(cells)
        except MISFITS:
            for index in misfits(cells, array_of):
                failed.setdefault(index, InvalidCell(index, column.name, code))
    return arrays, list(failed.values())


def _columns(records: Sequence[Record]) -> dict[str, tuple[Any, ...]]:
    """Transpose rows to columns."""
    names = records[0].__struct_fields__ if records else ()
    columns = zip(*map(msgspec.structs.astuple, records), strict=True)
    return dict(zip(names, columns, strict=True))


@cache
def _reader(kind: type, zone: str) -> tuple[ArrayOf, str]:
    """Return the function that converts values into an array of a column's type, and its failures' code."""
    readers: dict[type, tuple[ArrayOf, str]] = {
        BigInteger: (_exact(pa.int64()), "bad_integer"),
        Integer: (_exact(pa.int64()), "bad_integer"),
        Numeric: (_exact(pa.decimal128(MONEY_DIGITS, MONEY_SCALE)), "bad_amount"),
        Boolean: (_exact(pa.bool_()), "bad_boolean"),
        Date: (lambda values: _days(values, zone), "bad_date"),
        DateTime: (lambda values: _moments(values, zone), "bad_datetime"),
        JSONB: (lambda values: _texts([_json(value) for value in values]), "bad_json"),
        Text: (_texts, "bad_text"),
    }
    return readers[kind]


def _exact(type_: pa.DataType) -> ArrayOf:
    return partial(exact_array, type_=type_)


def _texts(values: Values) -> pa.Array:
    array = exact_array(values, pa.string())
    content = array.buffers()[2]
    if content is None or b"\0" not in content.to_pybytes():
        return array
    if pc.any(pc.match_substring(array, "\0")).as_py():  # the buffer may belong to more values
        raise ValueError("the text contains a NUL, which PostgreSQL can't store")
    return array


def _days(values: Values, zone: str) -> pa.Array:
    """Parse each distinct text once: a week of invoices has few dates."""
    texts = exact_array(values, pa.string()).dictionary_encode()
    days = [parse_date(text, zone) for text in texts.dictionary.to_pylist()]
    return pa.array(days, pa.date32()).take(texts.indices)


def _moments(values: Values, zone: str) -> pa.Array:
    """Let Arrow parse texts of one plain format; parse any other texts one by one."""
    kind = pa.timestamp("us", "UTC")
    texts = exact_array(values, pa.string())
    try:
        if pc.all(pc.match_substring_regex(texts, ZONED)).as_py():
            return texts.cast(kind)
        if pc.all(pc.match_substring_regex(texts, LOCAL)).as_py():
            # Like Python: the first of a repeated hour. Arrow rejects a skipped hour.
            local = texts.cast(pa.timestamp("us"))
            return pc.assume_timezone(local, zone, ambiguous="earliest").cast(kind)
    except pa.ArrowInvalid:
        pass  # an invalid or skipped time; parsed or rejected below
    distinct = texts.dictionary_encode()  # a service may repeat one text where it has no value
    moments = [parse_datetime(value, zone) for value in distinct.dictionary.to_pylist()]
    return pa.array(moments, kind).take(distinct.indices)


def _json(value: Any) -> str | None:
    return None if value is None else _storable(msgspec.json.encode(value).decode())


def extra_column(extras: Iterable[Mapping[str, Any] | None]) -> pa.Array:
    """Return the unknown fields of each row as JSON, None without one."""
    texts = [_storable(SORTED.encode(each).decode()) if each else None for each in extras]
    return pa.array(texts, pa.string())


def _storable(json: str) -> str:
    """Return JSON with U+FFFD in place of each NUL, which PostgreSQL's `jsonb` refuses."""
    if r"\u0000" not in json:
        return json
    return NUL.sub(lambda escape: r"\ufffd" if escape[1] else escape[0], json)
