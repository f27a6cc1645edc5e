"""Status of all flows for `bms status`: the health report, last runs, and what waits for whom."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping

from bms_flows.catalog import FLOWS
from bms_flows.monitoring import health
from bms_flows.monitoring.health import iso
from bms_flows.monitoring.pending import pending_items
from bms_flows.onboarding.settings import OnboardingSettings
from bms_warehouse.queries import loads

RECORDED = {name: flow.last_step for name, flow in FLOWS.items() if flow.steps}
"""Flows that record their steps in the warehouse, with the step that completes a load."""


def status(
    connection: Connection, settings: OnboardingSettings, now: datetime | None = None
) -> dict[str, Any]:
    """Return the status, ready for JSON; times in UTC."""
    report = health.report(connection, settings, now or datetime.now(UTC))
    latest = loads.latest(connection, RECORDED, 1)
    return {
        **report,
        "flows": {name: _flow(report["flows"].get(name), latest[name]) for name in RECORDED},
        "waits": [
            {
                "waits_for": item.waits_for,
                "what": item.text,
                "why": item.detail,
                "since": iso(item.since),
                "flow": item.flow,
            }
            for item in pending_items(connection, [*FLOWS], settings)
        ],
    }


def _flow(fresh: dict[str, Any] | None, latest: list[RowMapping]) -> dict[str, Any]:
    """Return a flow's freshness, or the state of its last run if it has no target, with that run."""
    last = latest[0] if latest else None
    untargeted: dict[str, Any] = {
        "state": last["state"] if last else "never_ran",
        **dict.fromkeys(("complete_at", "age_s", "limit_s", "deadline", "newest_day")),
        "entities": {},
    }
    return {
        **(fresh or untargeted),
        "last_run": last
        and {
            "state": last["state"],
            "started_at": iso(last["started_at"]),
            "finished_at": iso(last["finished_at"]),
            "dag_run_id": last["dag_run_id"],
        },
    }
