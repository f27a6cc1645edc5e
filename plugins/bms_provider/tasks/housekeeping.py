"""Tasks of retention."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from bms_flows import retention, runs
from bms_flows.creation import review
from bms_flows.creation.settings import Settings
from bms_flows.workplace import recorded
from bms_provider import workplace


def sweep() -> dict[str, dict[str, int]]:
    """Delete files past their days, and what was sent for rows that reached their end.

    Returns, for each kind of file, how many went and their bytes.
    """
    keep = timedelta(days=Settings.from_environment().keep_days)
    with workplace.open_workplace() as place, recorded(place, workplace.step("sweep")) as run_id:
        days = retention.kept_days(place.settings)
        swept = retention.sweep(place.data_root, days, now=datetime.now(UTC))
        found = {kind: asdict(each) for kind, each in swept.items()}
        forgotten = review.forget_bodies(place.warehouse, datetime.now(UTC) - keep)
        found["bodies"] = {"files": forgotten, "bytes": 0}
        with place.warehouse.begin() as connection:
            runs.finish(connection, run_id, state="complete", details=found)
    return found
