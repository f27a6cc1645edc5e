"""Memory settings of Arrow: no import of pandas, and free memory goes back to the system."""

import sys
import warnings
from types import ModuleType

import pyarrow as pa


def configure_arrow() -> None:
    """Keep pyarrow from importing pandas, and make it allocate from the system's memory.

    pyarrow imports pandas once, when it converts its first Python value; this costs a second and
    100 MB. It leaves a pandas that is too old alone, so it gets a stub of version 0 for this
    moment. A later `to_pandas` imports pandas. Arrow's own memory pool keeps free memory, 80 MB for
    a year of invoices.
    """
    if "pandas" not in sys.modules:
        too_old = ModuleType("pandas")
        too_old.__dict__["__version__"] = "0"
        sys.modules["pandas"] = too_old
        try:
            with warnings.catch_warnings(action="ignore"):
                pa.array([0])
        finally:
            del sys.modules["pandas"]
    pa.set_memory_pool(pa.system_memory_pool())
