"""Tasks of retention."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from bms_flows import retention, runs
from bms_flows.workplace import recorded
from bms_provider import workplace


def sweep() -> dict[str, dict[str, int]]:
    """Delete files past their days and return, for each kind, how many and their bytes."""
    with workplace.open_workplace() as place, recorded(place, workplace.step("sweep")) as run_id:
        days = retention.kept_days(place.settings)
        swept = retention.sweep(place.data_root, days, now=datetime.now(UTC))
        found = {kind: asdict(each) for kind, each in swept.items()}
        with place.warehouse.begin() as connection:
            runs.finish(connection, run_id, state="complete", details=found)
    return found
