"""Callbacks of failed tasks and overdue runs, with a real warehouse and a real webhook."""

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms_flows.monitoring import alarms
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.notice import Links, NotDelivered
from bms_flows.runtime.settings import FlowSettings
from bms_provider import callbacks, notices, policy
from tests.bms_provider.conftest import RecordLoad
from tests.listeners import Webhook, webhook
from tests.support.sql import execute

pytestmark = pytest.mark.usefixtures("warehouse_connection", "data_root")


def context(**given: Any) -> dict[str, Any]:
    """Return Airflow's context of a task callback."""
    task = {"task_id": "sync", "map_index": -1, "try_number": 4}
    return {
        "dag_run": SimpleNamespace(dag_id="contact_sync", run_id="manual__1"),
        "ti": SimpleNamespace(**(task | given)),
        "exception": ValueError("Zoé Canari, zoe@example.com"),
    }


def open_alarms(warehouse: Engine) -> list[alarms.Alarm]:
    with warehouse.connect() as connection:
        return alarms.open_alarms(connection)


def test_failed_tasks_of_a_flow_send_one_message_without_personal_data(messages: Webhook) -> None:
    for index in (0, 1, 2):
        callbacks.task_failed(context(map_index=index))
    (text,) = messages.texts
    assert text.startswith(
        "Alarm: contact_sync (failed)\nTask sync [0] failed after attempt 4: ValueError."
    )
    assert "Canari" not in text
    assert "zoe@" not in text
    assert "/dags/contact_sync/runs/manual__1" in text


def test_a_task_that_an_operator_tests_raises_no_alarm(warehouse: Engine) -> None:
    """`airflow tasks test` deletes the run, so the link of a message would lead nowhere."""
    run = SimpleNamespace(dag_id="contact_sync", run_id="__airflow_temporary_run_2026-11-27__")
    callbacks.task_failed(context() | {"dag_run": run})
    assert open_alarms(warehouse) == []


@pytest.mark.parametrize("started", [True, False])
def test_a_killed_task_is_reported_as_killed(
    record_load: RecordLoad, messages: Webhook, started: bool
) -> None:
    """Airflow's DAG processor calls back for a killed task, without an exception."""
    if started:
        record_load(0.5, "running", dag_run_id="manual__1", finished_at=None)
    given = context()
    del given["exception"]
    callbacks.task_failed(given)
    (text,) = messages.texts
    assert "NoneType" not in text
    assert "Task sync was killed in attempt 4 without an exception" in text
    assert ("during its work" in text) == started


def test_the_alarm_of_a_held_load_has_its_own_code(
    record_load: RecordLoad, messages: Webhook
) -> None:
    record_load(0, "suspect")
    callbacks.task_failed(context() | {"exception": LoadHeld("…")})
    assert messages.titles == ["Alarm: contact_sync (suspect)"]
    assert "Held: the list (many_gone)." in messages.texts[0]


def call(state: str, **given: Any) -> datetime:
    """Call the deadline callback as the triggerer does; return the deadline."""
    now = datetime.now(UTC)
    due = now - timedelta(minutes=1)
    run = {
        "dag_id": "contact_sync",
        "dag_run_id": "manual__1",
        "run_type": "manual",
        "state": state,
        "queued_at": (now - timedelta(minutes=31)).isoformat(),
        "start_date": None,
    }
    context = {"dag_run": run | given, "deadline": {"deadline_time": due}}
    asyncio.run(policy.raise_overdue(context=context))
    return due


@pytest.mark.parametrize("state", ["queued", "running"])
def test_an_overdue_run_raises_an_alarm(warehouse: Engine, messages: Webhook, state: str) -> None:
    due = call(state)
    assert messages.texts == []
    notices.deliver(FlowContext(warehouse, UPath("memory:/"), FlowSettings()))
    (text,) = messages.texts
    assert text.startswith("Alarm: contact_sync (overdue)")
    assert "has not ended within 30 min." in text
    assert open_alarms(warehouse)[0].since == due


@pytest.mark.parametrize(
    ("state", "run_type"), [("success", "manual"), ("failed", "manual"), ("running", "backfill")]
)
def test_a_run_that_ended_or_that_a_backfill_queued_is_not_overdue(
    warehouse: Engine, messages: Webhook, state: str, run_type: str
) -> None:
    """A backfill queues all of its runs at once, and its runs wait for each other."""
    call(state, run_type=run_type)
    assert open_alarms(warehouse) == []
    assert messages.texts == []


def test_the_alarm_of_an_overdue_run_closes_once_that_run_is_complete(
    warehouse: Engine, record_load: RecordLoad
) -> None:
    """A run of older days, or of a part of a list, makes no data fresh."""
    invoices = {"flow": "invoice_extraction", "step": "extract", "id_entity": 1}
    days = invoices | {"window_start": date(2020, 1, 1), "window_end": date(2020, 12, 31)}
    record_load(1, **invoices, window_end=datetime.now(UTC).date())
    call("running", dag_id="invoice_extraction")
    settings = FlowSettings()

    def is_open() -> bool:
        with warehouse.begin() as connection:
            check_targets(connection, settings, Links.of(settings))
        return bool(open_alarms(warehouse))

    record_load(0, **days, dag_run_id="manual__2")
    record_load(0, **days | {"id_entity": 2}, dag_run_id="manual__1")
    record_load(0, "running", **days, dag_run_id="manual__1", finished_at=None)
    assert is_open()
    execute(warehouse, "delete from bms.step_run where state = 'running'")
    record_load(0, **days, dag_run_id="manual__1")
    assert not is_open()


def test_a_late_callback_keeps_the_alarm_of_the_failed_run(warehouse: Engine) -> None:
    """The triggerer may have been down; its context has the run's state at the deadline."""
    callbacks.task_failed(context())
    call("running")
    assert [each.code for each in open_alarms(warehouse)] == ["failed"]


def test_an_alarm_without_a_channel_is_sent_once_a_channel_exists(
    warehouse: Engine, connect: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    callbacks.task_failed(context())
    assert "Alarms not sent: configure bms_webhook or bms_mail" in caplog.text
    with webhook() as found:
        connect("bms_webhook", conn_type="http", host=found.url)
        notices.deliver(FlowContext(warehouse, UPath("memory:/"), FlowSettings()))
    assert found.titles == ["Alarm: contact_sync (failed)"]


def test_the_webhook_s_address_is_not_logged(
    connect: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """The address is the webhook's secret; a failed delivery logs the most."""
    connect("bms_webhook", conn_type="http", host="http://127.0.0.1:1/services/s3cr3t-hook")
    with pytest.raises(NotDelivered):
        callbacks.task_failed(context())
    assert "s3cr3t-hook" not in caplog.text
