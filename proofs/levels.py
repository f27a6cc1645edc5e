"""Growth of figures that should be constant: resources of a process, and a series from start to end."""

from collections.abc import Sequence
from statistics import median
from typing import Final

import psutil

GROWTH: Final = 1.5
"""What the last tenth of a series may be of its first."""


def memory(process: psutil.Process) -> float:
    """Return MB of a process's private memory; 0 for one that has just ended.

    PostgreSQL's shared buffers do not count: they fill with stored data up to their limit.
    """
    try:
        return float(process.memory_full_info().uss) / 1e6
    except psutil.Error:
        return 0.0


def tenths(series: Sequence[float]) -> tuple[float, float, float]:
    """Return the medians of the first tenth, of all and of the last tenth."""
    tenth = max(1, len(series) // 10)
    return median(series[:tenth]), median(series), median(series[-tenth:])


def grown(series: Sequence[float]) -> bool:
    """Return whether a series grows by more than one."""
    first, _, last = tenths(series)
    return last > GROWTH * first + 1


def line(name: str, series: Sequence[float]) -> str:
    """Return a series as a line of a table."""
    return f"| {name} | " + " | ".join(f"{each:,.0f}" for each in tenths(series)) + " |"
