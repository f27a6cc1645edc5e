import asyncio
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseHook, task_group
from airflow.sdk.exceptions import AirflowTaskTimeout
from airflow.sdk.execution_time.timeout import timeout
from airflow.sdk.observability import stats

from bms.errors import ServiceUnavailable
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.base import SERVICE_RETRIES, BmsOperator
from bms_provider.operators.consultants import BmsListConsultantsOperator
from bms_provider.operators.contacts import BmsCreateContactOperator, BmsReadContactOperator
from bms_sandbox.serve import Sandbox
from tests.bms_provider.conftest import fields_of


@pytest.mark.usefixtures("connected", "data_root")
def test_the_connection_is_read_before_the_event_loop_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A synchronous request to Airflow inside the event loop can deadlock the task."""
    read, looped = list[tuple[str, bool]](), list[bool]()
    get_connection, aexecute = BaseHook.get_connection, BmsOperator.aexecute

    def reading(conn_id: str) -> object:
        read.append((conn_id, bool(looped)))
        return get_connection(conn_id)

    async def looping(self: BmsOperator, context: Any) -> Any:
        looped.append(True)
        return await aexecute(self, context)

    monkeypatch.setattr(BaseHook, "get_connection", staticmethod(reading))
    monkeypatch.setattr(BmsOperator, "aexecute", looping)
    BmsListConsultantsOperator(task_id="list", path="c.jsonl").execute({})
    assert (read, looped) == ([("bms_default", False)], [True])


@pytest.mark.usefixtures("connected")
def test_metrics_are_emitted_after_an_error(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: dict[str, Any] = {}
    monkeypatch.setattr(stats, "incr", lambda name, count, **_: sent.update({name: count}))
    sandbox.set_fault("503", operation="token", retry_after=0)
    with pytest.raises(ServiceUnavailable):
        BmsCheckAccessOperator(task_id="check").execute({})
    assert sent == {
        "bms.requests": 6,
        "bms.retries": 5,
        "bms.throttles": 0,
        "bms.token_fetches": 0,
    }


@pytest.mark.usefixtures("connected", "data_root")
def test_the_log_has_what_the_service_granted_and_what_went_where(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="bms_provider")
    BmsCheckAccessOperator(task_id="check").execute({})
    rows = len(
        BmsListConsultantsOperator(task_id="ids", output="xcom", fields="id", path="-").execute({})
    )
    file = BmsListConsultantsOperator(task_id="list", path="c.jsonl").execute({})
    body = {"first_name": "Zoé", "last_name": "Canari"}
    BmsCreateContactOperator(task_id="create", body=lambda _: body).execute({})
    logged = [each.getMessage() for each in caplog.records if "requests: " in each.getMessage()]
    assert "Missing: none." in caplog.text
    assert logged == [
        "request_token: complete; requests: 1",
        f"list_consultants: rows: {rows}, returned through XCom; requests: 3",
        f"list_consultants: rows: {rows}, written to {file['path']}; requests: 3",
        "create_contact: record created; requests: 2",
    ]
    assert "Canari" not in caplog.text


@pytest.fixture
def slow_list(sandbox: Sandbox, connected: Any) -> Iterator[BmsListConsultantsOperator]:
    """An operator whose list does not arrive before a signal of the alarm clock."""
    assert connected
    sandbox.set_fault("latency", operation="list_consultants", seconds=3600.0)
    before = signal.getsignal(signal.SIGALRM)
    yield BmsListConsultantsOperator(task_id="list")
    signal.signal(signal.SIGALRM, before)


def test_a_task_that_times_out_leaves_no_incomplete_file(
    slow_list: BmsListConsultantsOperator, data_root: Path
) -> None:
    with pytest.raises(AirflowTaskTimeout), timeout(1):
        slow_list.execute({})
    assert [*data_root.rglob("*.part")] == []


class Closing(BmsCheckAccessOperator):
    """Takes a moment to close, as connections do."""

    closed = False

    async def aexecute(self, _context: Any) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.05)
            self.closed = True


@pytest.mark.usefixtures("connected")
def test_a_task_that_times_out_closes_what_it_opened() -> None:
    for _ in range(8):  # the order in which a loop cancels its tasks is random
        operator = Closing(task_id="close", execution_timeout=timedelta(minutes=1))
        with pytest.raises(AirflowTaskTimeout), timeout(0.1):
            operator.execute({})
        assert operator.closed


def test_a_task_that_is_killed_stops_and_leaves_no_incomplete_file(
    slow_list: BmsListConsultantsOperator, data_root: Path
) -> None:
    """Airflow calls `on_kill` in the signal handler, then kills the process after some seconds."""
    signal.signal(signal.SIGALRM, lambda *_: slow_list.on_kill())
    signal.setitimer(signal.ITIMER_REAL, 1)
    with pytest.raises(asyncio.CancelledError):
        slow_list.execute({})
    assert [*data_root.rglob("*.part")] == []
    slow_list.on_kill()  # nothing runs any more


def test_mapped_tasks_have_a_file_each() -> None:
    with DAG("d", schedule=None):
        one_file = "path: the mapped tasks would overwrite one file"
        with pytest.raises(ValueError, match=one_file):
            BmsReadContactOperator.partial(task_id="one", path="contact.json")
        BmsReadContactOperator.partial(
            task_id="each", path="contact-{{ ti.map_index }}.json"
        ).expand(id_contact=[1, 2])
        BmsReadContactOperator.partial(task_id="paths").expand_kwargs(
            [{"id_contact": n, "path": f"{n}.json"} for n in (1, 2)]
        )

        @task_group
        def group(id_contact: Any) -> None:
            with pytest.raises(ValueError, match=one_file):
                BmsReadContactOperator(task_id="read", id_contact=id_contact, path="c.json")

        group.expand(id_contact=[1, 2])


def test_operators_use_the_service_s_retry_policy_by_default() -> None:
    with DAG("d", schedule=None, default_args={"retries": 3}):
        ours = BmsListConsultantsOperator(task_id="ours")
        none = BmsListConsultantsOperator(task_id="none", retry_policy=None)
        mapped = BmsListConsultantsOperator.partial(task_id="m").expand(type=["A"])
    with DAG("e", schedule=None, default_args={"retry_policy": None}):
        default = BmsListConsultantsOperator(task_id="default")
    assert (ours.retry_policy, ours.retries) == (SERVICE_RETRIES, 3)
    assert mapped.retry_policy is SERVICE_RETRIES
    assert none.retry_policy is default.retry_policy is None


def test_another_connection_can_be_used(sandbox: Sandbox, connect: Any) -> None:
    connect("other", **fields_of(sandbox))
    access = BmsCheckAccessOperator(task_id="check", bms_conn_id="other").execute({})
    assert access["scopes"]
