"""Tasks of retention."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from bms_flows.onboarding.ledger import snapshot_store
from bms_flows.onboarding.reporting import review
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.privacy import retention
from bms_flows.runtime import step_log
from bms_flows.runtime.context import recorded_step
from bms_provider import flow_context


def sweep() -> dict[str, dict[str, int]]:
    """Delete files past their days, what was sent for rows that reached their end, and old snapshots.

    A snapshot of the service is deleted once its plan can no longer be approved, unless an unfinished
    row needs it. Returns, for each kind of file, how many went and their bytes.
    """
    settings = OnboardingSettings.from_environment()
    with (
        flow_context.open_context() as flow,
        recorded_step(flow, flow_context.step("sweep")) as run_id,
    ):
        days = retention.retention_days(flow.settings)
        swept = retention.sweep(flow.data_root, days, now=datetime.now(UTC))
        found = {kind: asdict(each) for kind, each in swept.items()}
        now = datetime.now(UTC)
        keep, asked = timedelta(days=settings.keep_days), timedelta(hours=settings.approval_hours)
        forgotten = {
            "bodies": review.forget_bodies(flow.warehouse, now - keep),
            "snapshots": snapshot_store.forget(flow.warehouse, now - asked),
        }
        found |= {kind: {"files": number, "bytes": 0} for kind, number in forgotten.items()}
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, run_id, state="complete", details=found)
    return found
