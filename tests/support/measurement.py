"""Measurements of processes and of the machine."""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
UNCOMPILED = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}


def measured(script: str, *arguments: object) -> dict[str, Any]:
    """Run a benchmark script in a separate process; return the JSON that it prints."""
    command = [sys.executable, "-m", f"bench.{script}", *map(str, arguments)]
    # Processes share compiled modules, as in an installation.
    inherited = {name: value for name, value in os.environ.items() if name not in UNCOMPILED}
    environment = {**inherited, "PYTHONPYCACHEPREFIX": str(PROJECT / ".local" / "compiled")}
    done = subprocess.run(  # noqa: S603 - our own scripts
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=environment
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]  # an object, by every script


def peak_memory() -> int:
    """Return the peak memory of this process in bytes (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load_average() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def machine() -> str:
    """Return a line with the cores, system, Python and package versions."""
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("aiohttp", "msgspec", "pyarrow", "psycopg")
    )
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {versions}"
