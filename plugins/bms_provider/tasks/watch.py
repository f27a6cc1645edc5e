"""The watchdog's task, and what Airflow calls when a task has given up or a run outlasts its time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.observability import stats

from bms_flows import alarms, drop_alarms
from bms_flows.alarms import span
from bms_flows.creation.remotes import REMOTES
from bms_flows.freshness import look
from bms_flows.gauges import gauges
from bms_flows.settings import Settings
from bms_flows.watch import watch as watch_promises
from bms_provider import notices, workplace
from bms_provider.tasks import inbox
from bms_warehouse import database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection


def watch() -> dict[str, str]:
    """Look at every promise, raise, recover and tell; return each flow's state.

    Last, see that there are inboxes, since nothing else runs before the first file lies in one; and end the
    drops that wait for a file which a person has taken away since: they wait for nothing.
    """
    with workplace.open_workplace() as place:
        with place.warehouse.begin() as connection:
            found = watch_promises(connection, place.settings, notices.links(place.settings))
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
    place_of = f" ({task.map_index})" if (task.map_index or 0) > 0 else ""
    kind = type(context.get("exception")).__name__
    with workplace.open_workplace() as place:
        with place.warehouse.begin() as connection:
            freshness = look(connection, place.settings).get(run.dag_id)
            suspect = freshness is not None and freshness.state == "suspect"
            alarms.raise_(
                connection,
                "suspect" if suspect else "failed",
                drop_alarms.subject(connection, run.dag_id, run.run_id),
                # Not the error's text: one from below might quote a row.
                detail=f"{task.task_id}{place_of} gave up at try {task.try_number}: {kind}.",
                flow=run.dag_id,
                dag_run_id=run.run_id,
            )
        notices.deliver(place)


def overdue(connection: Connection, context: Mapping[str, Any]) -> None:
    """Raise that a run has not ended in its time; one that has failed was told of.

    `connection` leads to the warehouse. The watchdog tells, at its next look.
    """
    run = context["dag_run"]
    if run["state"] not in ("queued", "running"):
        return
    settings = Settings.from_environment()
    queued = datetime.fromisoformat(run["queued_at"])
    due = datetime.fromisoformat(str(context["deadline"]["deadline_time"]))
    warehouse = database.connect(workplace.warehouse_uri(connection))
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
