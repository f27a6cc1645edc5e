"""The watchdog's task, and what Airflow calls when a task has given up or a run outlasts its time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.observability import stats
from sqlalchemy import Connection as Opened
from sqlalchemy import select

from bms_flows.monitoring import alarms, drop_alarms
from bms_flows.monitoring.alarms import span
from bms_flows.monitoring.freshness import read_freshness
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.monitoring.gauges import gauges
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime.settings import FlowSettings
from bms_provider import flow_context, notices
from bms_provider.tasks import inbox
from bms_warehouse import database
from bms_warehouse.tables import run as steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection

WAITED = 0.1
"""Share of its time after whose waiting a backfill's run is no longer judged by when it was queued."""


def watch() -> dict[str, str]:
    """Look at every promise, raise, recover and tell; return each flow's state.

    Last, see that there are inboxes, since nothing else runs before the first file lies in one; and end the
    drops that wait for a file which a person has taken away since: they wait for nothing.
    """
    with flow_context.open_context() as place:
        with place.warehouse.begin() as connection:
            found = check_targets(connection, place.settings, notices.links(place.settings))
            for name, value, tags in gauges(connection, found):
                stats.gauge(name, value, tags=tags)
        notices.deliver(place)
        for name in REMOTES:
            inbox.provide(place, name)
            inbox.tidy(place, name)
    return {flow: freshness.state or "never_ran" for flow, freshness in found.items()}


def failed(context: Mapping[str, Any]) -> None:
    """Raise and tell that a task has given up: once for its flow or drop, however many of them do."""
    run, task = context["dag_run"], context["ti"]
    mapped = task.map_index is not None and task.map_index >= 0
    name = f"{task.task_id} [{task.map_index}]" if mapped else task.task_id
    error = context.get("exception")
    with flow_context.open_context() as place:
        with place.warehouse.begin() as connection:
            freshness = read_freshness(connection, place.settings).get(run.dag_id)
            suspect = freshness is not None and freshness.state == "suspect"
            alarms.raise_(
                connection,
                "suspect" if suspect else "failed",
                drop_alarms.subject(connection, run.dag_id, run.run_id),
                # Without the error's text: an error of another library may quote a row.
                detail=f"{name} gave up at try {task.try_number}: {type(error).__name__}."
                if error is not None
                else _killed(connection, name, task.try_number, run),
                flow=run.dag_id,
                dag_run_id=run.run_id,
            )
        notices.deliver(place)


def _killed(connection: Opened, name: str, try_number: int, run: Any) -> str:
    """Return what happened to a task that ended without an exception.

    Airflow's DAG processor calls back for such a task, and knows no more.
    """
    ended = f"{name} was ended at try {try_number} without an error of its own"
    at_work = select(steps.c.id).where(
        steps.c.flow == run.dag_id, steps.c.dag_run_id == run.run_id, steps.c.state == "running"
    )
    if connection.scalar(at_work.limit(1)) is None:
        return (
            f"{ended}; no work of it had begun or was left unfinished. No worker took it, its process "
            "was killed at its start, or the task's state was set by hand: see the scheduler's log."
        )
    return (
        f"{ended}; its work had begun. The process was killed (memory, a worker that stopped), or "
        "its heartbeat was lost: see the task's and the worker's log."
    )


def _waited(run: Mapping[str, Any], queued: datetime) -> timedelta:
    """Return how long a run waited for its start; the longest time where it has not started."""
    started = run["start_date"]
    return datetime.fromisoformat(started) - queued if started else timedelta.max


def overdue(connection: Connection, context: Mapping[str, Any]) -> None:
    """Raise that a run has not ended in its time; a run that failed has an alarm of its own.

    `connection` leads to the warehouse. The watchdog notifies, at its next check.
    """
    run = context["dag_run"]
    if run["state"] not in ("queued", "running"):
        return
    settings = FlowSettings.from_environment()
    queued = datetime.fromisoformat(run["queued_at"])
    due = datetime.fromisoformat(str(context["deadline"]["deadline_time"]))
    if run["run_type"] == "backfill" and _waited(run, queued) > WAITED * (due - queued):
        return  # a backfill queues all of its runs at once, and they wait for each other
    warehouse = database.connect(flow_context.warehouse_uri(connection))
    try:
        with warehouse.begin() as transaction:
            alarms.raise_(
                transaction,
                "overdue",
                run["dag_id"],
                detail=f"The run was queued {notices.links(settings).time(queued)} "
                f"and has not ended within {span(due - queued)}.",
                flow=run["dag_id"],
                dag_run_id=run["dag_run_id"],
                since=due,
            )
    finally:
        warehouse.dispose()
