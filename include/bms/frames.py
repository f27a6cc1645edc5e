"""DataFrame and Series whose everyday operations work on exact amounts and on days.

pandas supports decimals of Arrow only in part. These subclasses add what is missing: arithmetic that
stays exact (`* 1.2` multiplies by the decimal 1.2; a ratio has at most nine decimals, and is NA if
it divides by 0), `cumsum`, `nlargest`, `describe`, `to_sql` and
`to_excel`, and comparisons of days with `datetime.date`. Operations return the same classes.
"""

import sqlite3
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bms.field_values import AMOUNT_DECIMALS

DIGITS, DECIMALS = 18, 2
"""Digits of an amount that needs no more, and decimals: products and ratios of two still fit."""
MOST_DIGITS: Final = 38


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


def _ends_in_zeros(values: pa.ChunkedArray, decimals: int) -> bool:
    shorter = pc.round(values, decimals - 1)
    return bool(pc.all(pc.equal(shorter, values), min_count=0).as_py())


def is_amount(dtype: Any) -> bool:
    """Return whether a column has exact amounts."""
    return isinstance(dtype, pd.ArrowDtype) and pa.types.is_decimal(dtype.pyarrow_dtype)


# The stubs of pandas leave out its hooks for subclasses, and call overridden methods final.
_Series: Any = pd.Series
_DataFrame: Any = pd.DataFrame
_arithmetic = _Series._arith_method  # noqa: SLF001 - a hook of pandas for subclasses


class Column(_Series):  # type: ignore[misc]  # see above
    """A column of a `Frame`."""

    @property
    def _constructor(self) -> Any:
        return Column

    @property
    def _constructor_expanddim(self) -> Any:
        return Frame

    def _arith_method(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        amount = is_amount(self.dtype)
        if not amount and not is_amount(getattr(other, "dtype", None)):
            return super()._arith_method(other, op)
        if amount and isinstance(other, Real):
            other = Decimal(int(other)) if isinstance(other, Integral) else Decimal(str(other))
        column = self
        if op.__name__ in ("truediv", "floordiv"):
            other = _without_zeros(other)
        elif op.__name__ in ("rtruediv", "rfloordiv"):
            column = _without_zeros(self)
        try:
            result = _arithmetic(column, other, op)
        except pa.ArrowInvalid:
            try:
                result = _arithmetic(_narrow(column), _narrow(other), op)
            except pa.ArrowInvalid:
                text = "the exact result exceeds 38 digits: round() first, or use astype(float)"
                raise OverflowError(text) from None
        return _narrow(result, AMOUNT_DECIMALS if "div" in op.__name__ else None)

    def _cmp_method(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        return super()._cmp_method(self._as_day(other), op)

    def _as_day(self, value: Any) -> Any:
        """Return a `date` as what a column of pandas' own days can be compared with."""
        own = type(value) is date and isinstance(self.dtype, np.dtype) and self.dtype.kind == "M"
        return pd.Timestamp(value) if own else value

    def isin(self, values: Any) -> Any:
        """Return whether each value is one of `values`; days may be `date`."""
        if isinstance(values, list | tuple | set):
            values = [self._as_day(each) for each in values]
        return super().isin(values)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """Return the mean, of amounts with nine decimals."""
        if not is_amount(self.dtype):
            return super().mean(*args, **kwargs)
        type_ = pa.decimal128(MOST_DIGITS, max(AMOUNT_DECIMALS, self.dtype.pyarrow_dtype.scale))
        return _Series.mean(self.astype(pd.ArrowDtype(type_)), *args, **kwargs)

    def cumsum(self, *args: Any, **kwargs: Any) -> Any:
        """Return the running total, exactly."""
        if not is_amount(self.dtype):
            return super().cumsum(*args, **kwargs)
        total, totals = Decimal(0), list[Decimal | None]()
        for each in self:
            total += 0 if each is pd.NA else each
            totals.append(None if each is pd.NA else total)
        type_ = pa.decimal128(MOST_DIGITS, self.dtype.pyarrow_dtype.scale)
        values = pd.arrays.ArrowExtensionArray(pa.array(totals, type_))
        return _narrow(self._constructor(values, index=self.index, name=self.name))

    def nlargest(self, n: int = 5, keep: Any = "first") -> Any:
        """Return the `n` largest values."""
        return self.iloc[_ranks(self).nlargest(n, keep).index]

    def nsmallest(self, n: int = 5, keep: Any = "first") -> Any:
        """Return the `n` smallest values."""
        return self.iloc[_ranks(self).nsmallest(n, keep).index]

    def describe(self, *args: Any, **kwargs: Any) -> Any:
        """Return statistics, of amounts as floats."""
        column = self.astype("Float64") if is_amount(self.dtype) else self
        return _Series.describe(column, *args, **kwargs)


class Frame(_DataFrame):  # type: ignore[misc]  # see above
    """A DataFrame with exact amounts, or with days."""

    @property
    def _constructor(self) -> Any:
        return Frame

    @property
    def _constructor_sliced(self) -> Any:
        return Column

    def __reduce__(self) -> Any:
        return pd.DataFrame, (pd.DataFrame(self),)

    def _amounts(self) -> list[Any]:
        return [name for name, dtype in self.dtypes.items() if is_amount(dtype)]

    def _arith_method(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Real | Decimal) and self._amounts():
            return self.apply(lambda column: op(column, other))
        return super()._arith_method(other, op)

    def _ranks(self, columns: Any) -> pd.DataFrame:
        names = [columns] if isinstance(columns, str) else columns
        return pd.DataFrame({name: _ranks(self[name]) for name in names})

    def nlargest(self, n: int, columns: Any, keep: Any = "first") -> Any:
        """Return the rows with the `n` largest values of `columns`."""
        return self.iloc[self._ranks(columns).nlargest(n, columns, keep).index]

    def nsmallest(self, n: int, columns: Any, keep: Any = "first") -> Any:
        """Return the rows with the `n` smallest values of `columns`."""
        return self.iloc[self._ranks(columns).nsmallest(n, columns, keep).index]

    def describe(self, *args: Any, **kwargs: Any) -> Any:
        """Return statistics, of amounts as floats."""
        floats = self.astype(dict.fromkeys(self._amounts(), "Float64"))
        return _DataFrame.describe(floats, *args, **kwargs)

    def to_sql(self, name: str, con: Any, *, dtype: Any = None, **kwargs: Any) -> Any:
        """Write the rows to a table, amounts as `numeric`."""
        if isinstance(dtype, Mapping | None) and not isinstance(con, sqlite3.Connection):
            from sqlalchemy import Numeric  # noqa: PLC0415 - pandas needs it only here

            scales = {each: self.dtypes[each].pyarrow_dtype.scale for each in self._amounts()}
            types = {each: Numeric(MOST_DIGITS, scale) for each, scale in scales.items()}
            dtype = {**types, **(dtype or {})}
        return super().to_sql(name, con, dtype=dtype, **kwargs)

    def to_excel(self, *args: Any, **kwargs: Any) -> None:
        """Write the rows to a workbook, timestamps in UTC without a zone: Excel has none."""
        zoned = {
            name: self[name].dt.tz_localize(None)
            for name, dtype in self.dtypes.items()
            if isinstance(dtype, pd.DatetimeTZDtype)
        }
        _DataFrame.to_excel(self.assign(**zoned), *args, **kwargs)


# Airflow serializes a DataFrame for XCom by the name of its class.
Frame.__module__, Frame.__qualname__ = pd.DataFrame.__module__, pd.DataFrame.__qualname__
Frame.__name__ = pd.DataFrame.__name__


def _narrow(column: Any, decimals: int | None = None) -> Any:
    """Return a column of amounts with as few digits as they need, and anything else unchanged."""
    if not isinstance(column, pd.Series) or not is_amount(column.dtype):
        return column
    values = narrowed(pa.chunked_array(pa.array(column)), decimals)
    return column._constructor(  # noqa: SLF001 - the hook of pandas for subclasses
        pd.arrays.ArrowExtensionArray(values), index=column.index, name=column.name
    )


def _without_zeros(divisor: Any) -> Any:
    """Return a divisor with NA in place of 0, so that a quotient by 0 is NA."""
    if isinstance(divisor, pd.Series):
        return divisor.where(divisor != 0)
    if divisor == 0:
        raise ZeroDivisionError("division of amounts by 0")
    return divisor


def _ranks(column: Any) -> Any:
    """Return a column by position, with the ranks of amounts: they are floats in the same order."""
    if not is_amount(column.dtype):
        return pd.Series(column.array)
    return pd.Series(column.rank(method="dense").astype("float64").to_numpy())
