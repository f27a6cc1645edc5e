"""Whether tasks wait for slots that nobody will give them: of a pool that is missing, or too small.

Airflow leaves such tasks scheduled for ever, without a word. A task may not read Airflow's
database, but it may count the states of tasks; whoever asks needs no slot of the pool itself.
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
BETWEEN_LOOKS: Final = 20.0
"""Seconds; a task that can be started is, within a few."""
HOLDING: Final = ["queued", "running"]
"""States in which a task holds its slots."""


@dataclass(frozen=True)
class Look:
    """Tasks of the pool's DAGs at one moment: those that wait to be started, those with slots."""

    waiting: int
    holding: int

    @property
    def stuck(self) -> bool:
        """Whether some wait although nobody holds a slot."""
        return self.waiting > 0 and self.holding == 0


def watch() -> bool:
    """Look at the pool's tasks, raise or end the alarm, tell; return whether tasks are stuck."""
    ti = get_current_context()["ti"]
    with flow_context.open_context() as flow:
        with flow.warehouse.begin() as connection:
            stuck = watch_slots(connection, lambda: look(ti))
        notices.deliver(flow)
    return stuck


def look(ti: Any) -> Look:
    """Count, by asking Airflow through the current task.

    What waits in a DAG that a person has paused waits for that person.
    """
    waiting = {dag: ti.get_ti_count(dag_id=dag, states=["scheduled"]) for dag in POOL_USERS}
    return Look(
        sum(count for dag, count in waiting.items() if count and not ti.get_dag(dag).is_paused),
        sum(ti.get_ti_count(dag_id=dag, states=HOLDING) for dag in POOL_USERS),
    )


def watch_slots(
    connection: Connection, looking: Callable[[], Look], wait: Callable[[float], None] = time.sleep
) -> bool:
    """Raise the alarm of a pool that gives no slots, or end it; return whether tasks are stuck."""
    seen = looking()
    if seen.stuck:
        wait(BETWEEN_LOOKS)  # what is waited for is that nothing happens: only time can tell
        seen = looking()
    if seen.stuck:
        detail = (
            f"{seen.waiting} tasks wait and none runs: the pool {pool.NAME} is missing or has fewer"
            f" than {policy.TASK_SLOTS} slots. Make it with: {pool.COMMAND}"
        )
        alarms.raise_(connection, CODE, pool.NAME, detail=detail)
    elif seen.holding:  # while nothing wants a slot nobody can tell
        alarms.recover(connection, pool.NAME)
    return seen.stuck
