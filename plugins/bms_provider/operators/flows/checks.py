"""Operators that watch service, warehouse and flows: audit, probe, retention, freshness, pool."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bms_provider import compat, flow_context, policy, pool
from bms_provider.operators.flows.base import BmsFlowOperator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from bms_flows.monitoring.pool_check import PoolUsage

HOLDING = ["queued", "running"]
"""States in which a task holds its slots."""


class BmsReconcileOperator(BmsFlowOperator):
    """Compare the service with itself, and the warehouse with the service.

    :param entities: numbers of the entities (``entities``, templated); default: the connection's.
    :param first_day: first day to compare (``start_date``, templated); default: days in rotation.
    :param last_day: last day to compare (``end_date``, templated); default: the first day.
    :return: to XCom: a summary; ``bms.reconciliation`` has the result of each day and list.
    """

    entities: Sequence[int] | str | None = None
    first_day: date | str | None = None
    last_day: date | str | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Compare, record the results; return a summary."""
        from bms_flows.audit.run import audit
        from bms_flows.audit.settings import AuditSettings
        from bms_flows.runtime.windows import Window

        hook, settings, window = self.hook, AuditSettings.from_environment(), None
        if first := self.given(context, "first_day", date | None, "start_date"):
            last = self.given(context, "last_day", date | None, "end_date")
            window = Window(first, last or first)
        step = flow_context.step("audit", window=window)

        async def run() -> dict[str, Any]:
            async with hook.client(counters) as client:
                return await audit(
                    client,
                    flow,
                    settings,
                    step,
                    entities=self.given(context, "entities", list[int] | None) or hook.entities,
                    today=_today(settings.time_zone),
                    window=window,
                    connected=hook.entities,
                )

        with flow_context.counted("reconciliation") as counters, self.open() as flow:
            return asyncio.run(run())


class BmsProbeContractOperator(BmsFlowOperator):
    """Probe the behaviour that the service's interface leaves open, with read requests only.

    :param entities: numbers of the entities (``entities``, templated); default: the connection's.
    :return: to XCom: the names of the findings by result; ``bms.contract`` has the findings.
    """

    entities: Sequence[int] | str | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Probe every question once."""
        from bms_flows.contract.probe import run_probe

        entities = self.given(context, "entities", list[int] | None) or self.hook.entities
        with flow_context.counted("service_contract") as counters, self.open() as flow:
            client, step = self.hook.client(counters), flow_context.step("probe")
            today = _today(flow.settings.time_zone)
            return asyncio.run(run_probe(client, flow, step, entities=entities, today=today))


class BmsRetentionOperator(BmsFlowOperator):
    """Delete expired files, request bodies of finished ledger rows, and old service snapshots.

    :return: to XCom: the number of deleted files and bytes by kind.
    """

    def execute(self, context: Context) -> dict[str, dict[str, int]]:  # noqa: ARG002 - Airflow's signature
        """Delete what is expired."""
        from bms_flows.onboarding.ledger import store
        from bms_flows.privacy import retention
        from bms_flows.runtime import step_log
        from bms_flows.runtime.context import recorded_step

        settings, now = flow_context.onboarding_settings(), datetime.now(UTC)
        with (
            flow_context.open_context(settings, self.warehouse_conn_id) as flow,
            recorded_step(flow, flow_context.step("sweep")) as step_run_id,
        ):
            swept = retention.sweep(flow.data_root, retention.retention_days(settings), now=now)
            bodies_before = now - timedelta(days=settings.body_days)
            snapshots_before = now - timedelta(hours=settings.approval_hours)
            rows = {
                "bodies": store.delete_bodies(flow.warehouse, bodies_before),
                "snapshots": store.delete_snapshots(flow.warehouse, snapshots_before),
            }
            deleted = {kind: asdict(each) for kind, each in swept.items()}
            deleted |= {kind: {"files": number, "bytes": 0} for kind, number in rows.items()}
            with flow.warehouse.begin() as connection:
                step_log.finish(connection, step_run_id, state="complete", details=deleted)
        return deleted


class BmsWatchFreshnessOperator(BmsFlowOperator):
    """Check the freshness target of every flow, and send alarms and recoveries.

    Also creates missing inboxes, closes drops whose waiting file was removed, and returns or deletes hidden files.

    :return: to XCom: the state of each flow.
    """

    def execute(self, context: Context) -> dict[str, str]:  # noqa: ARG002 - Airflow's signature
        """Check, then send."""
        from bms_flows.monitoring import approvals, inbox_check
        from bms_flows.monitoring.freshness_check import check_targets
        from bms_flows.monitoring.gauges import gauges
        from bms_flows.onboarding.inboxes import Inbox
        from bms_flows.onboarding.resources.remotes import REMOTES
        from bms_flows.runtime.notice import Links
        from bms_provider import notices

        settings = flow_context.onboarding_settings()
        with flow_context.open_context(settings, self.warehouse_conn_id) as flow:
            with flow.warehouse.begin() as connection:
                found = check_targets(connection, settings, Links.of(settings))
                for name, value, tags in gauges(connection, found):
                    compat.metrics().gauge(name, value, tags=tags)
                approvals.check(connection, settings)
            try:
                inbox_check.check([Inbox(flow, name, settings) for name in REMOTES])
            finally:  # messages do not depend on inboxes, nor inboxes on messages
                notices.notify_approvers(flow, settings)
                notices.deliver(flow)  # raises while no channel accepts messages
        return {name: freshness.state or "never_ran" for name, freshness in found.items()}


class BmsWatchPoolOperator(BmsFlowOperator):
    """Check whether tasks wait in vain for slots of the service's pool.

    :return: to XCom: the result.
    """

    def execute(self, context: Context) -> bool:
        """Check the pool, raise or close the alarm, notify."""
        from bms_flows.monitoring import pool_check
        from bms_provider import notices

        service = pool.NAME, policy.TASK_SLOTS, pool.COMMAND
        with flow_context.open_context(None, self.warehouse_conn_id) as flow:
            with flow.warehouse.begin() as connection:
                stuck = pool_check.check(connection, *service, lambda: pool_usage(context["ti"]))
            notices.deliver(flow)
        return stuck


def pool_usage(ti: Any) -> PoolUsage:
    """Count tasks through the current task, as tasks have no access to Airflow's database.

    Ignores waiting tasks of paused DAGs.
    """
    from bms_flows.catalog import POOL_USERS
    from bms_flows.monitoring.pool_check import PoolUsage

    waiting = {dag: ti.get_ti_count(dag_id=dag, states=["scheduled"]) for dag in POOL_USERS}
    return PoolUsage(
        sum(count for dag, count in waiting.items() if count and not ti.get_dag(dag).is_paused),
        sum(ti.get_ti_count(dag_id=dag, states=HOLDING) for dag in POOL_USERS),
    )


def _today(zone: Any) -> date:
    return datetime.now(UTC).astimezone(zone).date()
