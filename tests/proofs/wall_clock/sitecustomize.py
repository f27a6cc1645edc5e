"""Adjustable wall clock; Python loads this module first if PYTHONPATH names its folder.

`time.time` and `datetime.now` follow `jump`; monotonic clocks and everybody else's don't.
"""

import ctypes
import gc
import time
from datetime import datetime, timedelta, tzinfo

_time, _now = time.time, datetime.now
_ahead = 0.0


def jump(seconds: float) -> None:
    """Set this process's wall clock ahead, or back."""
    global _ahead  # noqa: PLW0603 - there is one clock
    _ahead += seconds


def _shifted_now(cls: type[datetime], tz: tzinfo | None = None) -> datetime:  # noqa: ARG001 - as the one it replaces
    return _now(tz) + timedelta(seconds=_ahead)


time.time = lambda: _time() + _ahead
# A C class is read-only, but its dictionary is not; so every module sees the change.
gc.get_referents(datetime.__dict__)[0]["now"] = classmethod(_shifted_now)
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime))
