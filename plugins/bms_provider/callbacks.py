"""Callbacks of tasks and runs: alarms, events that are recorded, notices about drops."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from airflow.sdk import Connection

from bms_flows.monitoring import alarms, failed_tasks
from bms_flows.monitoring.alarms import span
from bms_flows.monitoring.failed_tasks import FailedTask
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.closing import notice
from bms_flows.onboarding.reporting.report import RECEIPT
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime import step_log, storage
from bms_flows.runtime.notice import Links, NotDelivered
from bms_provider import flow_context, notices
from bms_warehouse import database

log = logging.getLogger(__name__)

TEMPORARY = "__airflow_temporary_run_"
"""Start of the id of a run that `airflow tasks test` creates and deletes."""


def task_failed(context: Mapping[str, Any]) -> None:
    """Raise and send the alarm of a failed task, unless `airflow tasks test` runs it for an operator."""
    run, task, error = context["dag_run"], context["ti"], context.get("exception")
    if run.run_id.startswith(TEMPORARY):
        return
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

    `connection` is Airflow's connection to the warehouse. A failed run has its own alarm, also if it
    failed while the triggerer was down. The runs of a backfill have no deadline: all are queued at once
    and wait for each other.
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
            alarms.decide(transaction)
            reported = alarms.open_alarms(transaction)
            if any(
                a.dag_run_id == run["dag_run_id"] and a.code not in alarms.ELAPSED for a in reported
            ):
                return
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


def event_recorded(context: Mapping[str, Any]) -> None:
    """Record that the events of a task report changes; Airflow has recorded its success and events.

    If this fails, the next event reports the same changes again.
    """
    events = context["outlet_events"]
    reported = [each for asset in events for each in events[asset].extra.get("changed_by", ())]
    if reported:
        warehouse = flow_context.open_context(conn_id=context["task"].warehouse_conn_id)
        with warehouse as flow, flow.warehouse.begin() as connection:
            step_log.mark_reported(connection, reported)


def drop_ended(context: Mapping[str, Any]) -> None:
    """Send the outcome of a drop to the recipient in `BMS_INBOX_NOTICES`, if there is one and a report.

    A failed notice is logged and does not affect the drop or its run.
    """
    planned = context["ti"].xcom_pull(task_ids="plan")
    settings = flow_context.onboarding_settings()
    if planned is None or not settings.inbox_notices:
        return
    with flow_context.open_context(settings) as flow:
        drop, run = claim.get(flow.warehouse, planned["drop"]), context["dag_run"]
        inbox = REMOTES[drop.resource].resource.inbox
        to = settings.inbox_notices.get(inbox)
        if to is None:
            return
        if drop.report is None or drop.state == "open" or drop.dag_run_id != run.run_id:
            return  # the report is from another run
        folder = flow.path(drop.report)
        receipt = msgspec.json.decode(storage.read_file(folder / RECEIPT))
        links = Links.of(flow.settings)
        message = notice(
            drop,
            inbox,
            receipt["counts"],
            language=settings.language_of(inbox),
            plan=receipt["plan"]["id"],
            report=links.drop(drop.id),
            run=links.run(run.dag_id, run.run_id),
        )
    try:
        notices.send(message, settings, to)
    except NotDelivered as error:
        log.warning("the notice of drop %s was not delivered: %s", drop.id, error)
