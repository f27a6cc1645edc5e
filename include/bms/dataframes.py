"""DataFrames of the service's records, by default without a float for any amount.

| Field | dtype |
|---|---|
| identifiers and other integers | `Int64` |
| booleans | `boolean` |
| amounts and rates | `decimal128(18, 2)[pyarrow]` |
| days | `datetime64[us]` |
| timestamps (`..._on`) | `datetime64[us, UTC]` |
| codes and their names | `category` |
| other texts | `string` |
| lists (`domains`, `skills`, `languages`) | `object`, Python lists |
| `_extra`: unknown fields, and fields of another type, as JSON | `string` |

A missing value is `pd.NA` (`NaT` for days and timestamps, None for lists). Every column exists in an
empty DataFrame, too. Amounts have more digits or decimals if a value needs them. With
`amounts="float"` they are `Float64`; with `dates="arrow"` days are `date32[day][pyarrow]`.

The everyday operations of pandas work on all of them (see `bms.frames`), exactly on amounts.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, Literal, get_args

import pandas as pd
import pyarrow as pa

from bms.amount_array import AmountDtype
from bms.arrays import MISFITS, as_floats, exact_array, misfits, narrowed
from bms.field_values import AMOUNT_DECIMALS, JSON
from bms.frames import Frame
from bms.records import Record, described
from bms.records.declaration import Kind
from bms.typed_rows import EXTRA

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
    ARROW["day"]: pd.ArrowDtype(ARROW["day"]),
    ARROW["text"]: pd.StringDtype("pyarrow"),
    pa.float64(): pd.Float64Dtype(),
}
NO_CODES: Final = pd.CategoricalDtype(pd.Index([], dtype=PANDAS[ARROW["text"]]))
"""Codes of no rows: pandas' own have no type, and Parquet would store them as integers."""
Amounts = Literal["decimal", "float"]
Dates = Literal["datetime64", "arrow"]

BATCH: Final = 10_000
"""Rows converted at once: bounds the Python objects in memory."""


class InexactValue(ValueError):
    """A value does not fit its column exactly; the text names row and field, never the value."""

    retriable = False


def dataframe(
    record: type[Record],
    rows: Iterable[Mapping[str, Any]],
    *,
    amounts: Amounts = "decimal",
    dates: Dates = "datetime64",
) -> pd.DataFrame:
    """Return rows of `typed_rows` as a DataFrame; raise `InexactValue`."""
    for name, given, kind in (("amounts", amounts, Amounts), ("dates", dates, Dates)):
        if given not in get_args(kind):
            raise ValueError(f"{name} takes {' or '.join(get_args(kind))}, not {given!r}")
    declared = described(record)
    fields = {name: each.kind for name, each in declared.items()}
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
    table = pa.Table.from_batches(batches, schema)
    for position, (name, type_) in enumerate(types.items()):
        column = table.column(position)
        if type_ == ARROW["amount"]:
            column = as_floats(column) if amounts == "float" else narrowed(column)
        elif type_ == ARROW["day"] and dates == "datetime64":
            column = column.cast(pa.timestamp("us"))
        table = table.set_column(position, name, column)
    frame: pd.DataFrame = Frame(table.to_pandas(types_mapper=_dtype))
    for name, values in nested.items():
        frame[name] = pd.Series(values, dtype=object)
    codes = "category" if len(frame) else NO_CODES
    repeated = {name: codes for name, each in declared.items() if each.category}
    return frame.astype(repeated)[[*fields, EXTRA]]


def _dtype(type_: pa.DataType) -> Any:
    return AmountDtype(type_) if pa.types.is_decimal(type_) else PANDAS.get(type_)


def _array(
    name: str, rows: Sequence[Mapping[str, Any]], type_: pa.DataType, first: int
) -> pa.Array:
    values = [row[name] for row in rows]
    try:
        return exact_array(values, type_)
    except MISFITS:
        pass  # the error's text quotes the value
    wrong = next(misfits(values, partial(exact_array, type_=type_)))
    raise InexactValue(
        f"row {first + wrong}: {name} does not fit {type_}; read_rows returns it unchanged"
    )
