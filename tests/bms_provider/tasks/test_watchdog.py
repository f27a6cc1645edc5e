"""The watchdog's task and Airflow's callbacks, against a real warehouse and a real webhook."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, insert, make_url, select
from upath import UPath

from bms_flows.monitoring import alarms
from bms_flows.onboarding.inbox import unfinished
from bms_flows.onboarding.inbox.discovery import Seen
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.notice import NotDelivered
from bms_flows.runtime.settings import FlowSettings
from bms_provider import notices, policy
from bms_provider.tasks import callbacks, watchdog
from bms_warehouse.tables import dropped_file, step_run
from tests.listeners import Webhook, webhook

NOW = datetime.now(UTC)


@pytest.fixture(autouse=True)
def clock() -> None:
    """Begin each test's time with the test: a suite may last longer than a promise."""
    global NOW  # noqa: PLW0603 - read by every function here
    NOW = datetime.now(UTC)


@pytest.fixture(autouse=True)
def connected(connect: Callable[..., None], warehouse_uri: str, data_root: Path) -> None:  # noqa: ARG001 - its inboxes
    url = make_url(warehouse_uri)
    host = url.query.get("host", url.host)
    connect(
        "bms_warehouse", conn_type="postgres", host=host, login=url.username, schema=url.database
    )


@pytest.fixture
def messages(connect: Callable[..., None]) -> Iterator[Webhook]:
    with webhook() as found:
        connect("bms_webhook", conn_type="http", host=found.url)
        yield found


def load(warehouse: Engine, hours: float, state: str = "complete", **given: Any) -> None:
    at = NOW - timedelta(hours=hours)
    values = {"flow": "contact_sync", "dag_run_id": f"scheduled__{hours}", "step": "sync"}
    times = {"state": state, "started_at": at, "finished_at": at}
    with warehouse.begin() as connection:
        connection.execute(insert(step_run).values(values | times | given))


def context(**given: Any) -> dict[str, Any]:
    """Return what Airflow gives the callback of a task."""
    task = {"task_id": "sync", "map_index": -1, "try_number": 4}
    return {
        "dag_run": SimpleNamespace(dag_id="contact_sync", run_id="manual__1"),
        "ti": SimpleNamespace(**(task | given)),
        "exception": ValueError("Zoé Canari, zoe@example.com"),
    }


def open_alarms(warehouse: Engine) -> list[alarms.Alarm]:
    with warehouse.connect() as connection:
        return alarms.open_alarms(connection)


def test_a_look_tells_once_and_returns_the_states(warehouse: Engine, messages: Webhook) -> None:
    load(warehouse, 2)
    states = [watchdog.check() for _ in range(2)]
    assert states[0]["contact_sync"] == "late"
    assert states[0]["invoice_extraction"] == "never_ran"
    load(warehouse, -0.1)
    watchdog.check()
    assert messages.titles == ["Alarm: contact_sync (late)", "Recovered: contact_sync (late)"]


def test_tasks_that_give_up_are_one_message_without_a_person_in_it(messages: Webhook) -> None:
    for index in (1, 2, 3):
        callbacks.task_failed(context(map_index=index))
    (text,) = messages.texts
    assert text.startswith(
        "Alarm: contact_sync (failed)\nTask sync [1] failed after attempt 4: ValueError."
    )
    assert "Canari" not in text
    assert "zoe@" not in text
    assert "/dags/contact_sync/runs/manual__1" in text


def test_the_first_of_the_mapped_tasks_has_its_index(messages: Webhook) -> None:
    callbacks.task_failed(context(map_index=0))
    assert "Task sync [0] failed after attempt 4: ValueError." in messages.texts[0]


@pytest.mark.parametrize("started", [True, False])
def test_a_task_that_was_killed_is_told_as_such(
    warehouse: Engine, messages: Webhook, started: bool
) -> None:
    """Airflow's DAG processor calls back for it, and there is no exception."""
    if started:
        load(warehouse, 0.5, "running", dag_run_id="manual__1", finished_at=None)
    given = context()
    del given["exception"]
    callbacks.task_failed(given)
    (text,) = messages.texts
    assert "NoneType" not in text
    assert "Task sync was killed in attempt 4 without an exception" in text
    assert ("during its work" in text) == started


def test_a_task_that_gave_up_on_a_suspect_load_says_so(
    warehouse: Engine, messages: Webhook
) -> None:
    load(warehouse, 0, "suspect")
    callbacks.task_failed(context())
    assert messages.titles == ["Alarm: contact_sync (suspect)"]


def overdue(state: str, **given: Any) -> dict[str, Any]:
    """Return what Airflow gives the callback of a deadline."""
    run = {
        "dag_id": "contact_sync",
        "dag_run_id": "manual__1",
        "run_type": "manual",
        "state": state,
        "queued_at": (NOW - timedelta(minutes=31)).isoformat(),
        "start_date": None,
    }
    return {"dag_run": run | given, "deadline": {"deadline_time": NOW - timedelta(minutes=1)}}


def call(state: str, **given: Any) -> None:
    """Do what the triggerer does at a deadline."""
    asyncio.run(policy.raise_overdue(context=overdue(state, **given)))


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_run_past_its_time_is_told(warehouse: Engine, messages: Webhook, state: str) -> None:
    call(state)
    assert messages.texts == []
    notices.deliver(FlowContext(warehouse, UPath("memory:/"), FlowSettings()))
    (text,) = messages.texts
    assert text.startswith("Alarm: contact_sync (overdue)")
    assert "has not ended within 30 min." in text
    assert open_alarms(warehouse)[0].since == NOW - timedelta(minutes=1)


@pytest.mark.parametrize(
    ("state", "minutes", "raised"),
    [("queued", None, False), ("running", 5, False), ("running", 31, True)],
)
def test_a_run_of_a_backfill_is_overdue_by_the_time_that_it_works(
    warehouse: Engine, state: str, minutes: int | None, raised: bool
) -> None:
    """A backfill queues all of its runs at once; they wait for each other."""
    began = (NOW - timedelta(minutes=minutes)).isoformat() if minutes else None
    call(state, run_type="backfill", dag_run_id="backfill__1", start_date=began)
    assert bool(open_alarms(warehouse)) == raised


@pytest.mark.parametrize("state", ["success", "failed"])
def test_a_run_that_ended_is_not_overdue(warehouse: Engine, messages: Webhook, state: str) -> None:
    call(state)
    assert open_alarms(warehouse) == []
    assert messages.texts == []


def test_a_look_makes_the_inboxes_that_everything_else_waits_for(data_root: Path) -> None:
    """On a fresh installation nothing is dropped before there is a folder to drop into."""
    watchdog.check()
    made = {each.relative_to(data_root).as_posix() for each in (data_root / "inbox").rglob("*")}
    for inbox in ("employees", "contacts", "consultants"):
        assert {f"inbox/{inbox}/_LISEZMOI.txt", f"inbox/{inbox}/_modele_{inbox}.xlsx"} <= made


def test_a_look_ends_a_wait_for_a_file_that_was_taken_away(warehouse: Engine) -> None:
    seen = Seen("a.csv", 1, "1")
    unfinished.keep(warehouse, "employee", [seen], {"a.csv": "incomplete"})
    watchdog.check()
    with warehouse.connect() as connection:
        found = connection.execute(select(dropped_file.c.state, dropped_file.c.reason)).all()
    assert found == [("withdrawn", "gone")]


def test_without_a_channel_the_alarm_stands_and_waits_for_one(
    connect: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    callbacks.task_failed(context())
    assert "Alarms not sent: configure bms_webhook or bms_mail" in caplog.text
    with webhook() as found:
        connect("bms_webhook", conn_type="http", host=found.url)
        watchdog.check()
    assert found.titles == ["Alarm: contact_sync (failed)"]


def test_a_chat_s_address_reaches_no_log(
    connect: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """It is its password; the way to it is down, and everything that is logged is looked at."""
    connect("bms_webhook", conn_type="http", host="http://127.0.0.1:1/services/s3cr3t-hook")
    with pytest.raises(NotDelivered):
        callbacks.task_failed(context())
    assert "s3cr3t-hook" not in caplog.text
