"""Exact conversion of values to Arrow arrays."""

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bms.field_values import without_noise

Values: TypeAlias = Sequence[Any] | pa.Array

ZERO: Final = Decimal(0)
DIGITS, DECIMALS = 18, 2
"""Digits of an amount that needs no more, and decimals: products and ratios of two still fit."""
MOST_DIGITS: Final = 38
INTEGER: Final = pa.decimal128(19, 0)
"""The amounts that are 64-bit integers."""
MISFITS: Final = (ValueError, OverflowError, pa.ArrowException)
"""Errors of values that an array cannot hold exactly; their text may quote the value."""


def exact_array(values: Values, type_: pa.DataType) -> pa.Array:
    """Return values as an array of `type_`; raise one of `MISFITS` if a value does not fit exactly."""
    if isinstance(values, pa.Array):
        return values.cast(type_)
    if pa.types.is_decimal(type_):
        # Without noise, and zero without an exponent.
        values = [without_noise(value) if value or value is None else ZERO for value in values]
        most = type_.precision
        # Arrow would write out all digits of 1E99999 or 1E-99999 before it refuses the amount.
        if any(value and abs(value.adjusted()) >= most for value in values):
            raise OverflowError("the amount has too many digits")
    return pa.array(values, type_)


def misfits(values: Values, convert: Callable[[Values], pa.Array]) -> Iterator[int]:
    """Yield the positions of the values that `convert` refuses."""
    for position, value in enumerate(values):
        try:
            convert([value])
        except MISFITS:
            yield position


def narrowed(values: pa.ChunkedArray, decimals: int | None = None) -> pa.ChunkedArray:
    """Return decimals with as few digits as they need, at least 18, and at least two decimals.

    `decimals` is the most decimals to keep; by default all that are needed.
    """
    needed = values.type.scale
    if decimals is None:
        while needed > DECIMALS and _ends_in_zeros(values, needed):
            needed -= 1
    scale = max(needed, DECIMALS) if decimals is None else min(needed, decimals)
    values = pc.round(values, scale) if scale < values.type.scale else values
    limits = [abs(each.as_py() or 0) for each in pc.min_max(values).values()]
    digits = max(Decimal(each).adjusted() for each in limits) + 1 + scale
    return values.cast(pa.decimal128(min(max(digits, DIGITS), MOST_DIGITS), scale))


def common_amount(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the decimal type that holds the values of all `types`."""
    scale = max(each.scale for each in types)
    digits = scale + max(each.precision - each.scale for each in types)
    return pa.decimal128(min(digits, MOST_DIGITS), scale)


def _ends_in_zeros(values: pa.ChunkedArray, decimals: int) -> bool:
    shorter = pc.round(values, decimals - 1)
    return bool(pc.all(pc.equal(shorter, values), min_count=0).as_py())


def as_floats(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return decimals as the nearest floats; Arrow's own cast gives 0.41000000000000003 for 0.41."""
    return values.cast(pa.string()).cast(pa.float64())


def exact_number(value: Any) -> Any:
    """Return a number as a decimal, a flag as 0 or 1, and anything else unchanged."""
    if isinstance(value, Real) and math.isfinite(value):
        return Decimal(int(value)) if isinstance(value, Integral) else Decimal(str(value))
    if kind(value) == "b":
        return value.astype("int64" if isinstance(value, np.ndarray) else "Int64")
    return value


def kind(values: Any) -> str:
    """Return the code of the kind of an array's type, as in NumPy."""
    return getattr(getattr(values, "dtype", None), "kind", "")
