"""Check of the service's pool; the checking task uses no slot of the pool."""

from __future__ import annotations

from typing import Any, Final

from airflow.sdk import get_current_context

from bms_flows.catalog import POOL_USERS
from bms_flows.monitoring import pool_check
from bms_flows.monitoring.pool_check import Pool, PoolUsage
from bms_provider import flow_context, notices, policy, pool

SERVICE: Final = Pool(pool.NAME, policy.TASK_SLOTS, pool.COMMAND)
HOLDING: Final = ["queued", "running"]
"""States in which a task holds its slots."""


def check() -> bool:
    """Check the pool, raise or close the alarm, notify; return whether tasks are stuck."""
    ti = get_current_context()["ti"]
    with flow_context.open_context() as flow:
        with flow.warehouse.begin() as connection:
            stuck = pool_check.check(connection, SERVICE, lambda: pool_usage(ti))
        notices.deliver(flow)
    return stuck


def pool_usage(ti: Any) -> PoolUsage:
    """Count tasks through the current task, as tasks have no access to Airflow's database.

    Ignores waiting tasks of paused DAGs.
    """
    waiting = {dag: ti.get_ti_count(dag_id=dag, states=["scheduled"]) for dag in POOL_USERS}
    return PoolUsage(
        sum(count for dag, count in waiting.items() if count and not ti.get_dag(dag).is_paused),
        sum(ti.get_ti_count(dag_id=dag, states=HOLDING) for dag in POOL_USERS),
    )
