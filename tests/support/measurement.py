"""Measurements of processes and of the machine."""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
UNCOMPILED = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}


def measured(script: str, *arguments: object) -> dict[str, Any]:
    """Run a benchmark script in a separate process; see `run_measured`."""
    return run_measured([sys.executable, "-m", f"bench.{script}", *arguments])


def run_measured(command: Sequence[object]) -> dict[str, Any]:
    """Run a program that prints JSON last; return its output with `process` and `cpu`.

    `process` are the seconds from start to exit, `cpu` those of the processor, child processes included.
    """
    before, started = _children_seconds(), time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own scripts
        list(map(str, command)),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env=compiled(),
    )
    seconds = time.perf_counter() - started
    output = json.loads(done.stdout.splitlines()[-1])
    return {**output, "process": seconds, "cpu": _children_seconds() - before}


def compiled() -> dict[str, str]:
    """Return an environment in which processes share compiled modules, as in an installation."""
    inherited = {name: value for name, value in os.environ.items() if name not in UNCOMPILED}
    return {**inherited, "PYTHONPYCACHEPREFIX": str(PROJECT / ".local" / "compiled")}


def _children_seconds() -> float:
    """Return the processor seconds of this process's ended children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak_memory() -> int:
    """Return the peak memory of this process in bytes (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, its ended children and its running children so far."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    running = sum(sum(_cpu_times(int(child))) for child in children)
    return sum(_cpu_times(pid)) + running


def _cpu_times(pid: int) -> list[float]:
    """Return user and system seconds of a process, then of its ended children; none if it ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(each) / os.sysconf("SC_CLK_TCK") for each in fields[11:15]]


def load_average() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def machine() -> str:
    """Return a line with the cores, system and Python; the lock of the commit has the versions of packages."""
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
