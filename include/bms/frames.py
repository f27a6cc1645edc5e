"""DataFrame and Series with exact amounts, or with days.

`Frame` and `Column` add `nlargest`, `describe`, `to_sql`, `to_excel`, `to_csv` with a decimal comma, and
comparisons of days with `datetime.date`.
"""

import sqlite3
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bms.amount_array import is_amount
from bms.arrays import MOST_DIGITS

# The stubs of pandas leave out its hooks for subclasses, and call overridden methods final.
_Series: Any = pd.Series
_DataFrame: Any = pd.DataFrame


class Column(_Series):  # type: ignore[misc]  # see above
    """A column of a `Frame`."""

    @property
    def _constructor(self) -> Any:
        return Column

    @property
    def _constructor_expanddim(self) -> Any:
        return Frame

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

    def to_csv(self, *args: Any, **kwargs: Any) -> Any:
        """Write the values as CSV; see `Frame.to_csv`."""
        return self.to_frame().to_csv(*args, **kwargs)


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
        """Write the rows to a table, amounts as `numeric` and lists as `json`."""
        if isinstance(dtype, Mapping | None) and not isinstance(con, sqlite3.Connection):
            from sqlalchemy import JSON, Numeric  # noqa: PLC0415 - pandas needs it only here

            types = dict[Any, Any]()
            for column, given in self.dtypes.items():
                if is_amount(given):
                    types[column] = Numeric(MOST_DIGITS, given.pyarrow_dtype.scale)
                elif given.kind == "O" and any(isinstance(each, list) for each in self[column]):
                    types[column] = JSON(none_as_null=True)
            dtype = {**types, **(dtype or {})}
        return super().to_sql(name, con, dtype=dtype, **kwargs)

    def to_csv(self, *args: Any, decimal: str = ".", **kwargs: Any) -> Any:
        """Write the rows as CSV; pandas itself ignores `decimal` in amounts."""
        rows = self.copy(deep=False)
        for position, dtype in enumerate(self.dtypes):
            if is_amount(dtype) and decimal != ".":
                texts = pa.array(self.iloc[:, position].array).cast("string")
                rows.isetitem(position, pc.replace_substring(texts, ".", decimal).to_pylist())
        return _DataFrame.to_csv(rows, *args, decimal=decimal, **kwargs)

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


def _ranks(column: Any) -> Any:
    """Return a column by position, with the ranks of amounts."""
    return pd.Series(column.array._order() if is_amount(column.dtype) else column.array)  # noqa: SLF001 - ours
