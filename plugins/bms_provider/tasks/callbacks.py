"""Callbacks of failed tasks and overdue runs, which raise alarms."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from bms_flows.monitoring import alarms, failed_tasks
from bms_flows.monitoring.alarms import span
from bms_flows.monitoring.failed_tasks import FailedTask
from bms_flows.runtime.notice import Links
from bms_provider import flow_context, notices
from bms_warehouse import database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection


def task_failed(context: Mapping[str, Any]) -> None:
    """Raise and send the alarm of a failed task."""
    run, task, error = context["dag_run"], context["ti"], context.get("exception")
    mapped = task.map_index is not None and task.map_index >= 0
    failed = FailedTask(
        run.dag_id,
        run.run_id,
        f"{task.task_id} [{task.map_index}]" if mapped else task.task_id,
        task.try_number,
        type(error).__name__ if error is not None else None,
    )
    with flow_context.open_context() as flow:
        with flow.warehouse.begin() as connection:
            failed_tasks.raise_alarm(connection, failed)
        notices.deliver(flow)


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
