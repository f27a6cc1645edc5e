"""The synchronous client against the sandbox over real HTTP."""

import asyncio
import gc
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from types import FrameType
from typing import Any

import pytest

from bms.arguments import BadArgument
from bms.client import Client
from bms.errors import AmbiguousWrite, InvalidRecords, InvalidTlsFile, NotFound
from bms.records import ClientInvoice, ContactItem
from bms.sync_client import SyncClient
from tests.bms.fake_services import DAYS, Sandbox
from tests.support.patience import LONG_S


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[SyncClient]:
    with SyncClient(Client(sandbox.settings(page_size=100))) as client:
        yield client


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "bms-client"]


def test_reads_each_resource(client: SyncClient) -> None:
    assert client.access().scopes
    employees = client.list_employees(id_entity=1, filter="ALL")
    assert client.read_employee(employees.records[0].guid_employee).id_entity == 1
    assert client.read_contact(next(client.list_contacts(filter="ALL")).id).id
    assert isinstance(client.read_consultant(next(client.list_consultants()).id).rate, Decimal)
    invoices = client.list_client_invoices(**DAYS)
    assert all(isinstance(invoice, ClientInvoice) for invoice in invoices)
    assert len(invoices) > 0
    days: dict[str, Any] = {"start_date": "2026-03-02", "end_date": "2026-03-06"}
    assert len(client.list_client_invoices(**{**DAYS, **days})) == len(invoices)


def test_creates_each_resource(client: SyncClient) -> None:
    body = {"first_name": "Zoé", "last_name": "Lefèvre"}
    guid = client.create_employee({**body, "id_entity": 1}).guid_employee
    assert client.read_employee(guid).last_name == "Lefèvre"
    assert client.read_contact(client.create_contact(body).id).last_name == "Lefèvre"
    assert client.read_consultant(client.create_consultant(body).id).last_name == "Lefèvre"


def test_yields_the_records_of_all_pages_in_order(client: SyncClient, sandbox: Sandbox) -> None:
    contacts = list(client.list_contacts(filter="ALL"))
    assert [each.id for each in contacts] == [row["id"] for row in sandbox.rows("contacts")]
    assert isinstance(contacts[0], ContactItem)
    pages = list(client.contact_pages(filter="ALL"))
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    assert len(pages) > 1
    assert sum(map(len, client.consultant_pages(page_size=50))) == 120


def test_an_iteration_that_stops_early_leaves_no_request(client: SyncClient) -> None:
    assert next(client.contact_pages(filter="ALL", page_size=5)).number == 1
    assert client.access().scopes


def test_an_invalid_row_raises_and_names_its_page(client: SyncClient, sandbox: Sandbox) -> None:
    consultants = sandbox.rows("consultants")
    sandbox.edit("consultants", consultants[53]["id"], rate="text")
    with pytest.raises(InvalidRecords, match="rate") as raised:
        list(client.list_consultants(page_size=50))
    assert raised.value.__notes__ == ["These rows are on page 2."]


def test_errors_of_the_service_reach_the_caller(client: SyncClient, sandbox: Sandbox) -> None:
    with pytest.raises(NotFound):
        client.read_contact(404_040)
    sandbox.set_fault("commit_then_500", "create_contact")
    with pytest.raises(AmbiguousWrite):
        client.create_contact({"first_name": "Zoé", "last_name": "Lefèvre"})


def test_a_reversed_range_is_refused(client: SyncClient) -> None:
    """The service would return an empty list."""
    with pytest.raises(BadArgument, match="before the first day: swap them") as refused:
        client.list_client_invoices(id_entity=1, start_date="2026-03-02", end_date="2026-03-01")
    assert not refused.value.retriable


def test_an_error_while_opening_is_raised_by_each_call(sandbox: Sandbox) -> None:
    settings = sandbox.settings(base_url="https://127.0.0.1:9", verify="/absent.pem")
    with SyncClient(Client(settings)) as client:
        for _ in range(2):
            with pytest.raises(InvalidTlsFile):
                client.access()


async def test_works_where_an_event_loop_runs(sandbox: Sandbox) -> None:
    """As in a notebook."""
    assert asyncio.get_running_loop()
    with SyncClient(Client(sandbox.settings())) as client:
        assert client.access().scopes


def test_closing_ends_the_thread_and_later_calls_fail(sandbox: Sandbox) -> None:
    with SyncClient(Client(sandbox.settings())) as client:
        client.access()
        pages = client.contact_pages(filter="ALL", page_size=5)
        next(pages)
        assert len(threads()) == 1
    assert threads() == []
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.access()
    client.close()
    pages.close()  # type: ignore[attr-defined]  # a generator


def test_a_forked_process_is_refused_at_once(client: SyncClient) -> None:
    """The thread of the event loop does not exist there, so a call would wait for ever."""
    client.access()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 advises against a fork beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(10)
        with suppress(RuntimeError):
            client.access()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_client_that_is_not_closed_is_closed_with_its_garbage(sandbox: Sandbox) -> None:
    client = SyncClient(Client(sandbox.settings()))
    client.access()
    del client
    gc.collect()
    assert threads() == []


def test_garbage_collection_in_the_client_s_own_thread_does_not_block(sandbox: Sandbox) -> None:
    client = SyncClient(Client(sandbox.settings()))
    client.access()
    thread, loop = client._thread, client._loop
    cycle: list[Any] = [client]
    cycle.append(cycle)
    del client, cycle
    loop.call_soon_threadsafe(gc.collect)
    thread.join(LONG_S)
    assert not thread.is_alive()


def test_an_interrupted_wait_cancels_the_request(client: SyncClient, sandbox: Sandbox) -> None:
    """As Airflow's task timeout interrupts it: by an exception in a signal handler."""
    sandbox.set_latency(3600)

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise InterruptedError

    def access_in_vain() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        client.access()

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(InterruptedError):
            access_in_vain()
        client.close()  # at once: it would otherwise wait for the response
    finally:
        signal.signal(signal.SIGALRM, before)
        sandbox.set_latency(0)
