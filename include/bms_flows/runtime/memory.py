"""Memory settings of Arrow: no import of pandas, and free memory goes back to the system."""

import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

import pyarrow as pa
from pyarrow.pandas_compat import _pandas_api

PANDAS: Final = "pandas"


def configure_arrow() -> None:
    """Keep pyarrow from importing pandas, and make it allocate from the system's memory.

    pyarrow imports pandas when it converts its first Python value. Without the import, a load starts
    with 2.3 instead of 4.0 s of CPU and 145 instead of 183 MB (medians of 5 processes each that
    import the invoice flow; 2 cores, pandas 3.1.1, pyarrow 26.0.1, 2026-11-25). pyarrow leaves a
    pandas that is too old alone, so it gets a stub of version 0 for this moment. `_Refresh` makes it
    look again once other code imports pandas. Arrow's own memory pool keeps free memory, 80 MB for
    a year of invoices.
    """
    if PANDAS not in sys.modules:
        too_old = ModuleType(PANDAS)
        too_old.__dict__["__version__"] = "0"
        sys.modules[PANDAS] = too_old
        try:
            with warnings.catch_warnings(action="ignore"):
                pa.array([0])
        finally:
            del sys.modules[PANDAS]
        sys.meta_path.insert(0, _Refresh())
    pa.set_memory_pool(pa.system_memory_pool())


class _Refresh(MetaPathFinder):
    """Finder that lets pyarrow find pandas after its first import by other code.

    Otherwise pyarrow takes a NaN in a Series for a number, and a Series for any iterable.
    """

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - part of the protocol
    ) -> ModuleSpec | None:
        """Return the spec of pandas, whose loader refreshes pyarrow; None for other modules."""
        if name != PANDAS or path is not None:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            execute = loader.exec_module

            def execute_and_refresh(module: ModuleType) -> None:
                execute(module)
                _ = _pandas_api.pd  # looks for pandas again

            loader.exec_module = execute_and_refresh
        return spec
