"""Callbacks of failed tasks and overdue runs, which raise alarms."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection as WarehouseConnection
from sqlalchemy import select

from bms_flows.monitoring import alarms, drop_alarms
from bms_flows.monitoring.alarms import span
from bms_flows.monitoring.freshness import read_freshness
from bms_flows.runtime.notice import Links
from bms_provider import flow_context, notices
from bms_warehouse import database
from bms_warehouse.tables import step_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection


def task_failed(context: Mapping[str, Any]) -> None:
    """Raise and send the alarm of a failed task: one alarm per flow or drop, for any number of tasks."""
    run, task = context["dag_run"], context["ti"]
    mapped = task.map_index is not None and task.map_index >= 0
    name = f"{task.task_id} [{task.map_index}]" if mapped else task.task_id
    error = context.get("exception")
    with flow_context.open_context() as flow:
        with flow.warehouse.begin() as connection:
            # Without the error's text: an error of another library may quote a row.
            detail = (
                f"Task {name} failed after attempt {task.try_number}: {type(error).__name__}."
                if error is not None
                else _killed(connection, name, task.try_number, run)
            )
            freshness = read_freshness(connection, flow.settings).get(run.dag_id)
            held = freshness is not None and freshness.state == "suspect"
            alarms.raise_(
                connection,
                "suspect" if held else "failed",
                drop_alarms.subject(connection, run.dag_id, run.run_id),
                detail=detail,
                flow=run.dag_id,
                dag_run_id=run.run_id,
            )
        notices.deliver(flow)


def _killed(connection: WarehouseConnection, name: str, try_number: int, run: Any) -> str:
    """Describe a task that ended without an exception; Airflow's DAG processor calls back for it."""
    running = select(step_run.c.id).where(
        step_run.c.flow == run.dag_id,
        step_run.c.dag_run_id == run.run_id,
        step_run.c.state == "running",
    )
    text = f"Task {name} was killed in attempt {try_number} without an exception"
    if connection.scalar(running.limit(1)) is None:
        return (
            f"{text}, before its work started or after it ended. No worker took the task, its process "
            "was killed at the start, or its state was set by hand. Check the scheduler's log."
        )
    return (
        f"{text}, during its work. Its process was killed (memory, a stopped worker), or its "
        "heartbeat was lost. Check the logs of the task and the worker."
    )


def run_overdue(connection: Connection, context: Mapping[str, Any]) -> None:
    """Raise the alarm of a run that has not ended by its deadline; the watchdog sends it.

    `connection` is Airflow's connection to the warehouse. A failed run has its own alarm. The runs
    of a backfill have no deadline: all are queued at once and wait for each other.
    """
    run = context["dag_run"]
    if run["state"] not in ("queued", "running") or run["run_type"] == "backfill":
        return
    settings = flow_context.flow_settings()
    queued = datetime.fromisoformat(run["queued_at"])
    due = datetime.fromisoformat(str(context["deadline"]["deadline_time"]))
    warehouse = database.connect(flow_context.warehouse_uri(connection))
    try:
        with warehouse.begin() as transaction:
            alarms.raise_(
                transaction,
                "overdue",
                run["dag_id"],
                detail=f"The run was queued {Links.of(settings).time(queued)} "
                f"and has not ended within {span(due - queued)}.",
                flow=run["dag_id"],
                dag_run_id=run["dag_run_id"],
                since=due,
            )
    finally:
        warehouse.dispose()
