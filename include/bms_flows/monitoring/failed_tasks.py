"""Alarms of failed tasks: one alarm per flow or drop, for any number of tasks."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, select

from bms_flows.catalog import FLOWS
from bms_flows.monitoring import alarms, causes, drop_alarms
from bms_flows.monitoring.alarms import Extent
from bms_flows.runtime.checks import LoadHeld
from bms_flows.texts import ERRORS_OF_TASKS
from bms_warehouse.tables import step_run

NEVER: Final = datetime.max.replace(tzinfo=UTC)
CONSEQUENCE: Final = "RowsWaiting"
"""Error of the report of a drop, mostly because another task of its run has failed."""


@dataclass(frozen=True)
class FailedTask:
    """A task that failed after its last attempt; `error` is the type of its exception, if any."""

    flow: str
    dag_run_id: str
    name: str
    attempt: int
    error: str | None


def raise_alarm(connection: Connection, task: FailedTask) -> None:
    """Raise the alarm of a failed task in the caller's transaction.

    It begins with the first failure of the run, so that it stays open until this failure is repaired,
    whatever other cause the alarm gets. A mere consequence does not replace the cause.
    """
    alarms.decide(connection)
    if task.error == CONSEQUENCE and any(
        each.dag_run_id == task.dag_run_id and each.code not in alarms.ELAPSED
        for each in alarms.open_alarms(connection)
    ):
        return
    flow = FLOWS[task.flow]
    held = causes.held_loads(connection, flow) if task.error == LoadHeld.__name__ else []
    alarms.raise_(
        connection,
        "suspect" if held else "failed",
        drop_alarms.subject(connection, task.flow, task.dag_run_id),
        detail=causes.describe(held) if held else _describe(connection, task),
        flow=task.flow,
        dag_run_id=task.dag_run_id,
        since=causes.unrepaired(connection, task.flow, task.dag_run_id, NEVER, 0),
        extent=causes.extent(held) if held else Extent(ERRORS_OF_TASKS.keys() & {task.error}),
    )


def _describe(connection: Connection, task: FailedTask) -> str:
    """Describe a failure without the error's text: an error of another library may quote a row.

    Airflow's DAG processor calls back for a task that ended without an exception.
    """
    if task.error is not None:
        return f"Task {task.name} failed after attempt {task.attempt}: {task.error}."
    running = select(step_run.c.id).where(
        step_run.c.flow == task.flow,
        step_run.c.dag_run_id == task.dag_run_id,
        step_run.c.state == "running",
    )
    text = f"Task {task.name} was killed in attempt {task.attempt} without an exception"
    if connection.scalar(running.limit(1)) is None:
        return (
            f"{text}, before its work started or after it ended. No worker took the task, its process "
            "was killed at the start, or its state was set by hand. Check the scheduler's log."
        )
    return (
        f"{text}, during its work. Its process was killed (memory, a stopped worker), or its "
        "heartbeat was lost. Check the logs of the task and the worker."
    )
