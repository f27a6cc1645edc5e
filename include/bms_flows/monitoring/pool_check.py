"""Detection of tasks that wait for slots of a pool that is missing or too small.

Airflow leaves such tasks in the state scheduled forever.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, exists, select, tuple_

from bms_flows.catalog import LOADED_BY
from bms_flows.monitoring import alarms
from bms_warehouse.tables import alarm, step_run

CODE: Final = "no_slots"
LOADS: Final = [(flow.dag_id, flow.last_step) for flow in LOADED_BY.values()]
"""The steps of loads, which hold slots of the pool."""
RECHECK_S: Final = 20.0
"""Seconds between two counts; Airflow starts a startable task within a few seconds."""


@dataclass(frozen=True)
class PoolUsage:
    """Number of tasks of the pool's DAGs that wait to start, and that hold slots."""

    waiting: int
    holding: int

    @property
    def stuck(self) -> bool:
        """Whether tasks wait although no task holds a slot."""
        return self.waiting > 0 and self.holding == 0


def check(
    connection: Connection,
    pool: str,
    task_slots: int,
    command: str,
    count: Callable[[], PoolUsage],
    wait: Callable[[float], None] = time.sleep,
) -> bool:
    """Raise or close the alarm of a pool without slots; return whether tasks are stuck.

    `task_slots` are those of one task; `command` creates the pool.
    """
    usage = count()
    if usage.stuck:
        wait(RECHECK_S)
        usage = count()
    if usage.stuck:
        detail = (
            f"{usage.waiting} tasks wait and none runs: the pool {pool} is missing or has fewer"
            f" than {task_slots} slots. Create it with: {command}"
        )
        alarms.raise_(connection, CODE, pool, detail=detail)
    elif usage.holding or _loaded_since(connection, pool):  # else the state of the pool is unknown
        alarms.recover(connection, pool)
    return usage.stuck


def _loaded_since(connection: Connection, pool: str) -> bool:
    """Return whether a load, which holds slots, has begun since the alarm opened.

    Most loads end between two checks.
    """
    begun = exists().where(
        alarm.c.subject == pool,
        alarm.c.recovered_at.is_(None),
        step_run.c.started_at > alarm.c.raised_at,
        tuple_(step_run.c.flow, step_run.c.step).in_(LOADS),
    )
    return bool(connection.scalar(select(begun)))
