"""Exact conversion of values to Arrow arrays."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from bms.field_values import without_noise

Values: TypeAlias = Sequence[Any] | pa.Array

ZERO: Final = Decimal(0)
MISFITS: Final = (ValueError, OverflowError, pa.ArrowException)
"""Errors of values that an array cannot hold exactly; their text may quote the value."""


def exact_array(values: Values, type_: pa.DataType) -> pa.Array:
    """Return values as an array of `type_`; raise one of `MISFITS` if a value does not fit exactly."""
    if isinstance(values, pa.Array):
        return values.cast(type_)
    if pa.types.is_decimal(type_):
        values = [_plain_amount(value) for value in values]
        most = type_.precision
        # Arrow would write out all digits of 1E99999 or 1E-99999 before it refuses the amount.
        if any(value and abs(value.adjusted()) >= most for value in values):
            raise OverflowError("the amount has too many digits")
    return pa.array(values, type_)


def _plain_amount(value: Decimal | None) -> Decimal | None:
    """Return an amount without noise, and zero without an exponent."""
    return without_noise(value) if value or value is None else ZERO


def misfits(values: Values, convert: Callable[[Values], pa.Array]) -> Iterator[int]:
    """Yield the positions of the values that `convert` refuses."""
    for position, value in enumerate(values):
        try:
            convert([value])
        except MISFITS:
            yield position
