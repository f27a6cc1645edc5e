"""Clients of the hook in tasks: connections, masked tokens, event loops, ambiguous outcomes."""

import asyncio
import json
import signal
import threading
import time
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.sdk._shared.secrets_masker import redact
from airflow.sdk.exceptions import AirflowFailException, AirflowTaskTimeout
from airflow.sdk.execution_time.context import set_current_context

from bms.counters import Counters
from bms.endpoints import BY_NAME, ENDPOINTS, Endpoint
from bms.errors import AmbiguousWrite, InvalidRecords
from bms_provider.hooks.bms import BmsHook
from bms_sandbox.serve import Sandbox
from tests.bms_provider.conftest import fields_of
from tests.bms_provider.hooks.supervisor import Supervisor, supervised

CREATES = [endpoint for endpoint in ENDPOINTS if not endpoint.idempotent]
BODY = {"first_name": "Zoé", "last_name": "Canari"}
ENTITY = {"create_employee": {"id_entity": 1}}


@pytest.fixture
def task_context() -> Any:
    """The context of a running task."""
    with DAG("d", schedule=None):
        return {"task": EmptyOperator(task_id="task")}


@pytest.fixture
def connection(sandbox: Sandbox) -> dict[str, Any]:
    """The connection as Airflow's supervisor returns it."""
    fields = fields_of(sandbox)
    stored = {"conn_id": "bms_stored", "conn_type": "bms", "schema": None, "port": None}
    return {**stored, **fields, "extra": json.dumps(fields["extra"])}


def masked(supervisor: Supervisor) -> set[str]:
    values = [message["value"] for message in supervisor.received("MaskSecret")]
    return {value for value in values if isinstance(value, str)}


@pytest.mark.usefixtures("connected")
def test_get_conn_reads_typed_records(sandbox: Sandbox) -> None:
    with BmsHook().get_conn() as client:
        ids = [contact.id for contact in client.list_contacts(filter="ALL", page_size=10)]
    assert ids == [row["id"] for row in sandbox.rows("contacts")]


@pytest.mark.usefixtures("connected")
async def test_get_conn_works_in_a_notebook() -> None:
    """A notebook runs an event loop and no task."""
    assert asyncio.get_running_loop()
    with BmsHook().get_conn() as client:
        assert client.access().scopes


@pytest.mark.usefixtures("connected")
async def test_get_conn_is_refused_in_an_async_task_with_the_alternative(task_context: Any) -> None:
    with (
        set_current_context(task_context),
        pytest.raises(RuntimeError, match=r"Use `async with hook\.aclient\(\)"),
    ):
        BmsHook().get_conn()


@pytest.mark.usefixtures("connected")
async def test_aclient_reads_in_an_async_task(task_context: Any) -> None:
    with set_current_context(task_context):
        async with BmsHook().aclient(page_size=5) as client:
            page = await client.list_contacts(filter="ALL")
    assert (len(page), page.size) == (5, 5)


def test_connection_and_token_are_read_and_masked_through_the_supervisor(
    connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one task: twice synchronously, then in an event loop with other requests to Airflow."""

    async def beside_other_requests(hook: BmsHook) -> int:
        async def reads() -> int:
            async with hook.aclient() as client:
                rows = await client.list_employees(id_entity=1, filter="ALL")
                return len(rows)

        others = (hook.aget_connection("bms_stored") for _ in range(20))
        count, _ = await asyncio.gather(reads(), asyncio.gather(*others))
        return count

    with supervised(monkeypatch, connection) as supervisor:
        for _ in range(2):
            with BmsHook("bms_stored").get_conn() as client:
                assert client.access().scopes
        assert asyncio.run(beside_other_requests(BmsHook("bms_stored"))) == 40
    assert len(supervisor.received("GetConnection")) == 2 + 21
    tokens = {value for value in masked(supervisor) if value.startswith("eyJ")}
    assert len(tokens) == 3
    assert all(redact(f"Bearer {token}") == "Bearer ***" for token in tokens)
    assert connection["password"] in masked(supervisor)


@pytest.mark.parametrize("endpoint", CREATES, ids=str)
@pytest.mark.usefixtures("connected")
def test_an_ambiguous_creation_fails_the_task_for_good(
    sandbox: Sandbox, endpoint: Endpoint
) -> None:
    """Airflow repeats no task that raises `AirflowFailException`."""
    sandbox.set_fault("commit_then_500", operation=endpoint.name)
    with BmsHook().get_conn() as client, pytest.raises(AirflowFailException) as raised:
        getattr(client, endpoint.name)(BODY | ENTITY.get(endpoint.name, {}))
    assert isinstance(raised.value, AmbiguousWrite)
    assert str(raised.value).startswith(f"{endpoint}: sent, outcome unknown")
    assert raised.value.elapsed is not None
    resource = endpoint.path.rsplit("/", 1)[1].lower()
    assert [row["last_name"] for row in sandbox.rows(resource)].count("Canari") == 1


@pytest.mark.usefixtures("connected")
async def test_a_create_that_the_client_does_not_know_yet_fails_for_good_too(
    sandbox: Sandbox,
) -> None:
    """The protection follows from `idempotent=False`: it needs no code for the operation."""
    sandbox.set_fault("commit_then_lose_reply", operation="create_contact")
    added = replace(BY_NAME["create_contact"], name="create_supplier")
    async with BmsHook().aclient() as client:
        with pytest.raises(AirflowFailException):
            await client._call(added, lambda body: body, body=BODY)
    assert [row["last_name"] for row in sandbox.rows("contacts")].count("Canari") == 1


@pytest.mark.parametrize("endpoint", CREATES, ids=str)
@pytest.mark.usefixtures("connected")
def test_the_timeout_of_a_task_during_a_creation_fails_the_task_for_good(
    sandbox: Sandbox, endpoint: Endpoint
) -> None:
    """Airflow would retry the timeout itself, while the service goes on with the creation."""
    sandbox.set_fault("latency", operation=endpoint.name, seconds=3600.0)

    def end(*_: object) -> None:
        raise AirflowTaskTimeout

    def strike(counters: Counters) -> None:
        while counters.requests < 2:  # the token, then the creation
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, end)
    try:
        with BmsHook().get_conn() as client:
            threading.Thread(target=strike, args=[client._client.counters], daemon=True).start()
            with pytest.raises(AirflowFailException, match="outcome unknown"):
                getattr(client, endpoint.name)(BODY | ENTITY.get(endpoint.name, {}))
    finally:
        signal.signal(signal.SIGALRM, before)


DAYS: dict[str, Any] = {"id_entity": 1, "start_date": "2026-03-02", "end_date": "2026-03-06"}


@pytest.mark.usefixtures("connected")
def test_get_df_returns_each_list(sandbox: Sandbox) -> None:
    hook = BmsHook()
    invoices = hook.get_df("client_invoices", **DAYS)
    stored = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 6))
    assert invoices["total_incl_vat"].sum() == sum(
        Decimal(each["total_incl_vat"]) for each in stored
    )
    contacts = hook.get_df("contacts", filter="ALL", page_size=10)
    assert [*contacts["id"]] == [row["id"] for row in sandbox.rows("contacts")]
    assert len(hook.get_df("consultants", page_size=50)) == 120
    assert len(hook.get_df("employees", id_entity=1, filter="ALL")) == 40


@pytest.mark.usefixtures("connected")
def test_get_df_loses_no_value_and_no_row(sandbox: Sandbox) -> None:
    first, second, *_ = (row["id"] for row in sandbox.rows("consultants"))
    sandbox.edit("consultants", first, birth_year="unknown")
    frame = BmsHook().get_df("consultants").set_index("id")
    assert frame["_extra"][first] == '{"birth_year":"unknown"}'
    sandbox.edit("consultants", second, rate="text")
    with pytest.raises(InvalidRecords):
        BmsHook().get_df("consultants")


@pytest.mark.usefixtures("connected")
def test_get_df_names_the_lists() -> None:
    name: Any = "invoices"
    with pytest.raises(ValueError, match="name takes employees, client_invoices, contacts"):
        BmsHook().get_df(name)
