"""DataFrames of the service's records, without a float for any amount.

| Field | dtype |
|---|---|
| identifiers and other integers | `Int64` |
| booleans | `boolean` |
| amounts and rates | `decimal128(38, 9)[pyarrow]` |
| days | `date32[day][pyarrow]` |
| timestamps (`..._on`) | `datetime64[us, UTC]` |
| codes and their names | `category` |
| other texts | `string` |
| lists (`domains`, `skills`, `languages`) | `object`, Python lists |
| `_extra`: unknown fields, and fields of another type, as JSON | `string` |

A missing value is `pd.NA` (`NaT` for timestamps, None for lists). Every column exists in an empty
DataFrame, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow as pa

from bms.field_values import AMOUNT_DECIMALS, without_noise
from bms.records import Record, described
from bms.records.declaration import Kind
from bms.typed_rows import EXTRA, kinds

DIGITS, DECIMALS = 38, AMOUNT_DECIMALS
"""Digits of an amount, and those after the decimal point, as in the warehouse."""

ARROW: Final[Mapping[Kind, pa.DataType]] = {
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "amount": pa.decimal128(DIGITS, DECIMALS),
    "day": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "text": pa.string(),
}
PANDAS: Final[Mapping[pa.DataType, Any]] = {
    ARROW["integer"]: pd.Int64Dtype(),
    ARROW["boolean"]: pd.BooleanDtype(),
    ARROW["amount"]: pd.ArrowDtype(ARROW["amount"]),
    ARROW["day"]: pd.ArrowDtype(ARROW["day"]),
    ARROW["text"]: pd.StringDtype("pyarrow"),
}

BATCH: Final = 10_000
"""Rows converted at once: bounds the Python objects in memory."""

JSON: Final = msgspec.json.Encoder(decimal_format="number")


class InexactValue(ValueError):
    """A value does not fit its column exactly; the text names row and field, never the value."""

    retriable = False


def dataframe(record: type[Record], rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of `typed_rows` as a DataFrame; raise `InexactValue`."""
    fields = kinds(record)
    types = {name: ARROW[kind] for name, kind in fields.items() if kind != "nested"}
    schema = pa.schema([*types.items(), (EXTRA, pa.string())])
    nested: dict[str, list[Any]] = {name: [] for name, kind in fields.items() if kind == "nested"}
    batches: list[pa.RecordBatch] = []
    iterator, converted = iter(rows), 0
    while batch := list(islice(iterator, BATCH)):
        arrays = [_array(name, batch, type_, converted) for name, type_ in types.items()]
        extras = [JSON.encode(row[EXTRA]).decode() if row[EXTRA] else None for row in batch]
        batches.append(pa.record_batch([*arrays, pa.array(extras, pa.string())], schema=schema))
        for name, values in nested.items():
            values += [row[name] for row in batch]
        converted += len(batch)
    frame: pd.DataFrame = pa.Table.from_batches(batches, schema).to_pandas(types_mapper=PANDAS.get)
    for name, values in nested.items():
        frame[name] = pd.Series(values, dtype=object)
    repeated = {name: "category" for name, each in described(record).items() if each.category}
    return frame.astype(repeated)[[*fields, EXTRA]]


def _array(
    name: str, rows: Sequence[Mapping[str, Any]], type_: pa.DataType, first: int
) -> pa.Array:
    values = [row[name] for row in rows]
    try:
        return _exact(values, type_)
    except (pa.ArrowException, OverflowError):
        pass  # the error's text quotes the value
    wrong = next(index for index, value in enumerate(values) if not _fits(value, type_))
    raise InexactValue(
        f"row {first + wrong}: {name} does not fit {type_}; read_rows returns it unchanged"
    )


def _fits(value: Any, type_: pa.DataType) -> bool:
    try:
        _exact([value], type_)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def _exact(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type_):
        # Arrow would write out all digits of 1E99999 before it refuses the number.
        values = [without_noise(value) for value in values]
        for value in values:
            if value is not None and not -DIGITS <= value.adjusted() < DIGITS - DECIMALS:
                raise OverflowError
    return pa.array(values, type_)
