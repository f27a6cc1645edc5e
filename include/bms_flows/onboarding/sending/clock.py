"""The machine's clock since its boot, which no change of a wall clock affects."""

import time
import uuid
from functools import cache
from pathlib import Path

from bms_flows.onboarding.ledger.entry import BootTime


def boot_time() -> BootTime:
    """Return the time since boot; it continues while the process is stopped and the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return BootTime(_boot(), time.monotonic() if clock is None else time.clock_gettime(clock))


@cache
def _boot() -> str:
    """Return the id of the machine's boot; where the system has none, an id of this process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"process {uuid.uuid4()}"
