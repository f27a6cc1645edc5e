"""Tasks of the DAG retention."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from bms_flows.onboarding.ledger import snapshot_store, store
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.privacy import retention
from bms_flows.runtime import step_log
from bms_flows.runtime.context import recorded_step
from bms_provider import flow_context


def sweep() -> dict[str, dict[str, int]]:
    """Delete expired files, request bodies of finished ledger rows, and old service snapshots.

    A snapshot expires when its plan can no longer be approved and no unfinished row needs it.
    Returns the number of deleted files and bytes by kind.
    """
    settings, now = OnboardingSettings.from_environment(), datetime.now(UTC)
    with (
        flow_context.open_context() as flow,
        recorded_step(flow, flow_context.step("sweep")) as step_run_id,
    ):
        swept = retention.sweep(flow.data_root, retention.retention_days(flow.settings), now=now)
        bodies_before = now - timedelta(days=settings.body_days)
        snapshots_before = now - timedelta(hours=settings.approval_hours)
        rows = {
            "bodies": store.delete_bodies(flow.warehouse, bodies_before),
            "snapshots": snapshot_store.forget(flow.warehouse, snapshots_before),
        }
        deleted = {kind: asdict(each) for kind, each in swept.items()}
        deleted |= {kind: {"files": number, "bytes": 0} for kind, number in rows.items()}
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete", details=deleted)
    return deleted
