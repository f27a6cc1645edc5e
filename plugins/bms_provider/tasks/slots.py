"""Detection of tasks that wait for slots of a pool that is missing or too small.

Airflow leaves such tasks in the state scheduled forever. Tasks have no access to Airflow's database, but
they can count task states. The checking task uses no slot of the pool.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import get_current_context

from bms_flows.catalog import POOL_USERS
from bms_flows.monitoring import alarms
from bms_provider import flow_context, notices, policy, pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

CODE: Final = "no_slots"
RECHECK_S: Final = 20.0
"""Seconds between two counts; Airflow starts a startable task within a few seconds."""
HOLDING: Final = ["queued", "running"]
"""States in which a task holds its slots."""


@dataclass(frozen=True)
class PoolUsage:
    """Number of tasks of the pool's DAGs that wait to start, and that hold slots."""

    waiting: int
    holding: int

    @property
    def stuck(self) -> bool:
        """Whether tasks wait although no task holds a slot."""
        return self.waiting > 0 and self.holding == 0


def check() -> bool:
    """Check the pool, raise or close the alarm, notify; return whether tasks are stuck."""
    ti = get_current_context()["ti"]
    with flow_context.open_context() as flow:
        with flow.warehouse.begin() as connection:
            stuck = check_slots(connection, lambda: pool_usage(ti))
        notices.deliver(flow)
    return stuck


def pool_usage(ti: Any) -> PoolUsage:
    """Count tasks through the current task; ignore waiting tasks of paused DAGs."""
    waiting = {dag: ti.get_ti_count(dag_id=dag, states=["scheduled"]) for dag in POOL_USERS}
    return PoolUsage(
        sum(count for dag, count in waiting.items() if count and not ti.get_dag(dag).is_paused),
        sum(ti.get_ti_count(dag_id=dag, states=HOLDING) for dag in POOL_USERS),
    )


def check_slots(
    connection: Connection,
    count: Callable[[], PoolUsage],
    wait: Callable[[float], None] = time.sleep,
) -> bool:
    """Raise or close the alarm of a pool without slots; return whether tasks are stuck."""
    seen = count()
    if seen.stuck:
        wait(RECHECK_S)
        seen = count()
    if seen.stuck:
        detail = (
            f"{seen.waiting} tasks wait and none runs: the pool {pool.NAME} is missing or has fewer"
            f" than {policy.TASK_SLOTS} slots. Create it with: {pool.COMMAND}"
        )
        alarms.raise_(connection, CODE, pool.NAME, detail=detail)
    elif seen.holding:  # without tasks the state of the pool is unknown
        alarms.recover(connection, pool.NAME)
    return seen.stuck
