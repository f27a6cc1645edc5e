"""Exact amounts as an array of pandas, whose everyday operations stay exact.

pandas supports decimals of Arrow only in part. `AmountArray` adds what is missing, for columns, frames
and groups: arithmetic that stays exact (`* 1.2` multiplies by the decimal 1.2; a ratio has at most nine
decimals, and is NA if it divides by 0), means with nine decimals, and running totals.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import repeat
from numbers import Real
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bms.arrays import INTEGER, MOST_DIGITS, as_floats, common_amount, exact_number, kind, narrowed
from bms.field_values import AMOUNT_DECIMALS


def is_amount(dtype: Any) -> bool:
    """Return whether a column has exact amounts."""
    return isinstance(dtype, pd.ArrowDtype) and pa.types.is_decimal(dtype.pyarrow_dtype)


# The stubs of pandas leave out its hooks for subclasses, and call overridden methods final.
_Dtype: Any = pd.ArrowDtype
_Array: Any = pd.arrays.ArrowExtensionArray


class AmountDtype(_Dtype):  # type: ignore[misc]  # see above
    """The type of exact amounts, with a name like `decimal128(18, 2)[pyarrow]`."""

    def construct_array_type(self) -> Any:
        """Return the type of the values."""
        return AmountArray

    def _get_common_dtype(self, dtypes: Sequence[Any]) -> Any:
        kinds = {each.kind for each in dtypes if not is_amount(each)}
        if not kinds <= {*"iuf"}:
            return super()._get_common_dtype(dtypes)
        if "f" in kinds:
            return pd.Float64Dtype()
        types = [each.pyarrow_dtype if is_amount(each) else INTEGER for each in dtypes]
        return AmountDtype(common_amount(types))


class AmountArray(_Array):  # type: ignore[misc]  # see above
    """Exact amounts; what results from them may be of other types."""

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        dtype = super().dtype
        return AmountDtype(dtype.pyarrow_dtype) if is_amount(dtype) else dtype

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Any:
        if is_amount(dtype) and kind(scalars) == "O" and isinstance(scalars, np.ndarray):
            scalars = [exact_number(each) for each in scalars]
        return super()._from_sequence(scalars, dtype=dtype, copy=copy)

    def __setitem__(self, key: Any, value: Any) -> None:
        exact = is_amount(self.dtype) and pd.api.types.is_list_like(value) and kind(value) == "f"
        super().__setitem__(key, [*map(exact_number, value)] if exact else value)

    @classmethod
    def _box_pa_scalar(cls, value: Any, pa_type: Any = None) -> Any:
        amount = pa_type is not None and pa.types.is_decimal(pa_type)
        return super()._box_pa_scalar(exact_number(value) if amount else value, pa_type)

    def _cmp_method(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        amounts = is_amount(self.dtype)
        values = _Array(as_floats(self._pa_array)) if amounts and kind(other) == "f" else self
        compare = _Array._cmp_method  # noqa: SLF001 - a hook of pandas for subclasses
        return compare(values, exact_number(other) if amounts else other, op)

    def isin(self, values: Any) -> Any:
        """Return whether each value is one of `values`, exactly."""
        if not is_amount(self.dtype):
            return super().isin(values)
        exact = {None if pd.isna(each) else exact_number(each) for each in values}
        return np.array([each in exact for each in self._pa_array.to_pylist()], bool)

    def _arith_method(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if not is_amount(self.dtype):
            return super()._arith_method(other, op)
        values, other = self, exact_number(other)
        if op.__name__ in ("truediv", "floordiv"):
            other = _without_zeros(other)
            if self.dtype.pyarrow_dtype.scale < AMOUNT_DECIMALS:
                # Arrow's quotient by a short number has four decimals, unless the dividend has more.
                values = _narrow(self._wide(), AMOUNT_DECIMALS)
        elif op.__name__ in ("rtruediv", "rfloordiv"):
            values = _without_zeros(self)
        calculate = _Array._arith_method  # noqa: SLF001 - as above
        try:
            result = calculate(values, other, op)
        except pa.ArrowInvalid:
            try:
                result = calculate(_narrow(values), _narrow(other), op)
            except pa.ArrowInvalid:
                text = "the exact result exceeds 38 digits: round() first, or use astype(float)"
                raise OverflowError(text) from None
        return _narrow(result, AMOUNT_DECIMALS if "div" in op.__name__ else None)

    def _accumulate(self, name: str, *, skipna: bool = True, **kwargs: Any) -> Any:
        if name in RUNNING and is_amount(self.dtype):
            return self._running(name, repeat(0), skipna=skipna)
        return super()._accumulate(name, skipna=skipna, **kwargs)

    def _reduce(self, name: str, **kwargs: Any) -> Any:
        values = self._wide() if name == "mean" else self
        return _Array._reduce(values, name, **kwargs)  # noqa: SLF001 - as above

    def _where(self, mask: Any, value: Any) -> Any:
        return _narrow(_Array._where(self._wide(), mask, value))  # noqa: SLF001 - as above

    def fillna(self, *args: Any, **kwargs: Any) -> Any:
        """Return the values with others in place of NA, with as many decimals as they need."""
        return _narrow(_Array.fillna(self._wide(), *args, **kwargs))

    def _wide(self) -> Any:
        return AmountArray(self._for_means()) if is_amount(self.dtype) else self

    def _groupby_op(self, *, how: str, ids: Any, ngroups: int, **kwargs: Any) -> Any:
        if is_amount(self.dtype):
            skipna = kwargs.get("skipna", True)
            if how in RUNNING:
                return self._running(how, ids, skipna=skipna)
            if how == "mean":
                return self._means(ids, ngroups, skipna=skipna)
            if how in ("rank", "idxmax", "idxmin"):
                ranks = self._order()
                return ranks._groupby_op(how=how, ids=ids, ngroups=ngroups, **kwargs)  # noqa: SLF001 - as above
        return super()._groupby_op(how=how, ids=ids, ngroups=ngroups, **kwargs)

    def _means(self, ids: Any, ngroups: int, *, skipna: bool) -> Any:
        """Return the mean of each group."""
        values, options = self._for_means(), pc.ScalarAggregateOptions(skip_nulls=skipna)
        table = pa.table({"group": pa.array(ids, pa.int64()), "value": values})
        found = table.group_by("group").aggregate([("value", "mean", options)]).to_pydict()
        means = dict(zip(found["group"], found["value_mean"], strict=True))
        return AmountArray(pa.array([means.get(each) for each in range(ngroups)], values.type))

    def _for_means(self) -> Any:
        scale = max(AMOUNT_DECIMALS, self.dtype.pyarrow_dtype.scale)
        return self._pa_array.cast(pa.decimal128(MOST_DIGITS, scale))

    def _order(self) -> Any:
        """Return the ranks of the values: floats in the same order."""
        return self._rank(method="dense").astype("Float64")

    def _running(self, name: str, groups: Iterable[int], *, skipna: bool) -> Any:
        """Return the running total, maximum or minimum of each group, exactly."""
        current, totals = dict[int, Any](), list[Any]()
        for group, value in zip(groups, self._pa_array.to_pylist(), strict=False):
            before = current.get(group, value)
            if None in (value, before) or group < 0:  # a negative number is no group
                totals.append(None)
                if skipna:
                    continue
            else:
                totals.append(RUNNING[name](before, value) if group in current else value)
            current[group] = totals[-1]
        type_ = pa.decimal128(MOST_DIGITS, self.dtype.pyarrow_dtype.scale)
        return _narrow(AmountArray(pa.array(totals, type_)))


RUNNING: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "cumsum": operator.add,
    "cummax": max,
    "cummin": min,
}
"""What each running statistic does with the value so far and the next one."""


def _narrow(values: Any, decimals: int | None = None) -> Any:
    """Return amounts with as few digits as they need, and anything else unchanged."""
    if not is_amount(getattr(values, "dtype", None)):
        return values
    return AmountArray(narrowed(pa.chunked_array(pa.array(values)), decimals))


def _without_zeros(divisor: Any) -> Any:
    """Return a divisor with NA in place of 0, so that a quotient by 0 is NA."""
    if pd.api.types.is_list_like(divisor):
        column = pd.Series(divisor)
        return column.where(column != 0).array
    if isinstance(divisor, Real | Decimal) and divisor == 0:
        raise ZeroDivisionError("division of amounts by 0")
    return divisor
