"""Records become columns: typed, exact, hashed; a row that can't be is named, the others go on."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import BigInteger, Boolean, Column, Date, DateTime, Integer, Numeric, Text
from sqlalchemy.dialects.postgresql import JSONB

from bms.dates import parse_date, parse_datetime

MONEY_DIGITS, MONEY_SCALE = 30, 9
"""An amount with more decimals than this is set aside rather than rounded."""


@dataclass(frozen=True)
class BadCell:
    """A cell that doesn't fit its column: the record's place, the field, the reason's code."""

    index: int
    field: str
    code: str


@dataclass(frozen=True)
class Frame:
    """Records as columns, without those that are bad; `kept` are the others' places."""

    rows: pa.Table
    kept: Sequence[int]
    bad: Sequence[BadCell]


def frame(
    records: Sequence[Any],
    columns: Sequence[Column[Any]],
    zone: str,
    constants: Mapping[str, Any] | None = None,
) -> Frame:
    """Turn `records` (attributes named as the columns) into an Arrow table.

    `constants` are columns with one value for all rows; date-times
    without a zone are meant in `zone`, an IANA name.
    """
    kept: Sequence[int] = range(len(records))
    bad: list[BadCell] = []
    while True:
        arrays, failed = _arrays([records[i] for i in kept], columns, zone, constants or {})
        if not failed:
            return Frame(pa.table(arrays), kept, bad)
        bad += [BadCell(kept[cell.index], cell.field, cell.code) for cell in failed]
        out = {cell.index for cell in failed}
        kept = [place for i, place in enumerate(kept) if i not in out]


def digests(rows: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return a 16-byte digest of each row over the columns `names`, equal when all values are equal."""
    texts = [rows.column(name).combine_chunks().cast(pa.string()) for name in names]
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


def _arrays(
    records: Sequence[Any],
    columns: Sequence[Column[Any]],
    zone: str,
    constants: Mapping[str, Any],
) -> tuple[dict[str, pa.Array], list[BadCell]]:
    arrays: dict[str, pa.Array] = {}
    failed: dict[int, BadCell] = {}
    for column in columns:
        if column.name in constants:
            kind = _arrow(column, zone)[0]
            arrays[column.name] = pa.repeat(pa.scalar(constants[column.name], kind), len(records))
            continue
        values = list(map(attrgetter(column.name), records))
        kind, prepare, code = _arrow(column, zone)
        try:
            arrays[column.name] = _array(values, kind, prepare)
        except (ValueError, OverflowError, pa.ArrowException):
            for index, value in enumerate(values):
                if index not in failed and not _fits(value, kind, prepare):
                    failed[index] = BadCell(index, column.name, code)
    return arrays, list(failed.values())


def _array(values: list[Any], kind: pa.DataType, prepare: Callable[[Any], Any] | None) -> pa.Array:
    array = pa.array(map(prepare, values) if prepare else values, kind, size=len(values))
    if pa.types.is_string(kind) and pc.any(pc.match_substring(array, "\0")).as_py():
        raise ValueError("a text holds a NUL, which PostgreSQL can't store")
    return array


def _fits(value: Any, kind: pa.DataType, prepare: Callable[[Any], Any] | None) -> bool:
    try:
        _array([value], kind, prepare)
    except (ValueError, OverflowError, pa.ArrowException):
        return False
    return True


def _arrow(column: Column[Any], zone: str) -> tuple[pa.DataType, Callable[[Any], Any] | None, str]:
    """Return a column's Arrow type, how a value is made ready for it, and the code of a misfit."""
    kinds: dict[type, tuple[pa.DataType, Callable[[Any], Any] | None, str]] = {
        BigInteger: (pa.int64(), None, "bad_integer"),
        Integer: (pa.int64(), None, "bad_integer"),
        Numeric: (pa.decimal128(MONEY_DIGITS, MONEY_SCALE), None, "bad_amount"),
        Boolean: (pa.bool_(), None, "bad_boolean"),
        Date: (pa.date32(), lambda value: parse_date(value, zone), "bad_date"),
        DateTime: (
            pa.timestamp("us", "UTC"),
            lambda value: parse_datetime(value, zone),
            "bad_datetime",
        ),
        JSONB: (pa.string(), _json, "bad_json"),
        Text: (pa.string(), None, "bad_text"),
    }
    return kinds[type(column.type)]


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
