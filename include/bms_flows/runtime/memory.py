"""Processes that hold little: without pandas where it has no use, and memory given back once it is free."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _Hidden(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        _path: Sequence[str] | None,
        _target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is hidden from pyarrow", name=fullname)
        return None


def keep_pandas_out() -> None:
    """Keep pyarrow from importing pandas, which it looks for at the first Python value it sees.

    That costs a second and 100 MB. It looks once, here in vain; others can still import pandas,
    and pyarrow itself does where a table is turned into a data frame.
    """
    if "pandas" in sys.modules:
        return
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)


def give_memory_back() -> None:
    """Have Arrow use the system's memory: its own pool keeps what is free.

    A year of invoices then needs 80 MB less at its peak, and no longer.
    """
    pa.set_memory_pool(pa.system_memory_pool())
