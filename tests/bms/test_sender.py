"""Tests of authentication, retries and the raw mode against the sandbox over HTTP."""

import asyncio
import json

import pytest
from aiohttp import web

from bms.client import Client
from bms.errors import (
    AmbiguousWrite,
    BmsError,
    ConnectionFailed,
    Forbidden,
    MalformedResponse,
    MissingScope,
    NotFound,
    RangeRefused,
    Refused,
    ServiceUnavailable,
    Throttled,
    Timeout,
    TokenRefused,
    Unauthorized,
)
from tests.bms.fake_services import (
    CONTACT,
    DAYS,
    EMPLOYEE,
    EMPTY_ARRAY,
    FakeService,
    Open,
    Sandbox,
    Sleeps,
    advance,
    hang,
)


@pytest.mark.parametrize(
    ("kind", "created"),
    [
        ("commit_then_lose_reply", 1),
        ("commit_then_500", 1),
        ("reset_after_read", 0),
        ("reset_before_read", 0),
        ("503", 0),
        ("429", 0),
        ("truncated_body", 1),
        ("malformed_json", 1),
    ],
)
async def test_a_create_with_an_ambiguous_outcome_is_never_repeated(
    client: Client, sandbox: Sandbox, kind: str, created: int
) -> None:
    sandbox.set_fault(kind, "create_employee")
    with pytest.raises(AmbiguousWrite) as caught:
        await client.create_employee(EMPLOYEE)
    assert not caught.value.retriable
    assert caught.value.endpoint == "create_employee"
    truth = sandbox.truth()
    assert sum(truth["requests"]["create_employee"].values()) == 1
    assert truth["faults"] == {kind: 1}
    assert len(truth["created"]["employees"]) == created


async def test_a_throttled_create_is_repeated_with_create_refused_by_429(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.set_fault("429", "create_contact", count=2)
    client = await open_client(sandbox.settings(create_refused_by_429=True))
    await client.create_contact(CONTACT)
    assert len(sandbox.truth()["created"]["contacts"]) == 1
    assert client.counters.throttles == 2


@pytest.mark.parametrize(
    "kind",
    ["429", "503", "reset_before_read", "reset_after_read", "truncated_body", "malformed_json"],
)
async def test_a_read_is_retried_until_it_succeeds(
    client: Client, sandbox: Sandbox, kind: str, sleeps: Sleeps
) -> None:
    sandbox.set_fault(kind, "list_client_invoices", count=3)
    rows = await client.list_client_invoices(**DAYS)
    assert {r.id_invoice for r in rows} == sandbox.invoice_ids()
    assert sandbox.truth()["faults"] == {kind: 3}
    assert len(sleeps) >= 1  # aiohttp itself repeats a GET on a connection that was reset


async def test_a_revoked_token_is_renewed_once_and_each_request_is_repeated(
    client: Client, sandbox: Sandbox
) -> None:
    await client.access()
    sandbox.revoke_tokens()
    rows = await asyncio.gather(*(client.list_client_invoices(**DAYS) for _ in range(20)))
    assert {len(r) for r in rows} == {len(sandbox.invoice_ids())}
    requested = sandbox.truth()["requests"]
    assert sum(requested["token"].values()) == 2
    assert requested["list_client_invoices"]["200"] == 20


@pytest.mark.parametrize("operation", ["list_employees", "create_employee"])
async def test_tokens_that_another_task_revokes_repeatedly_lose_no_request(
    client: Client, sandbox: Sandbox, operation: str, sleeps: Sleeps
) -> None:
    """The service keeps one live token per client; each renewal ends the previous token."""
    sandbox.set_fault("token_revoked", operation, count=4)
    if operation == "list_employees":
        assert await client.list_employees(id_entity=1)
    else:
        await client.create_employee(EMPLOYEE)
        assert len(sandbox.truth()["created"]["employees"]) == 1
    assert len(sleeps) == 3  # the first renewal is immediate
    assert sum(sandbox.truth()["requests"]["token"].values()) == 5


async def test_refused_new_tokens_raise_unauthorized_after_all_attempts(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.set_fault("token_revoked", "list_employees")
    with pytest.raises(Unauthorized) as caught:
        await client.list_employees(id_entity=1)
    assert caught.value.status == 401
    assert sandbox.truth()["requests"] == {"token": {"200": 7}, "list_employees": {"401": 7}}


async def test_a_wrong_secret_is_not_retried(sandbox: Sandbox, open_client: Open) -> None:
    client = await open_client(sandbox.settings(secret="wrong"))
    with pytest.raises(TokenRefused) as caught:
        await client.access()
    assert not caught.value.retriable
    assert sum(sandbox.truth()["requests"]["token"].values()) == 1


async def test_a_secret_renewed_meanwhile_leaves_the_retry_to_a_new_client(
    fake: FakeService, open_client: Open
) -> None:
    refused: list[str] = []

    async def refuse(request: web.Request) -> web.StreamResponse:
        refused.append(request.path)
        return web.Response(status=401)

    client = await open_client(fake.settings())
    await client.access()
    fake.respond = fake.respond_token = refuse
    with pytest.raises(TokenRefused) as caught:
        await client.list_employees(id_entity=1)
    assert caught.value.retriable
    assert len(refused) == 2  # the token, then the credentials: more attempts could lock the client


async def test_a_token_request_is_retried_like_a_read(
    client: Client, sandbox: Sandbox, sleeps: Sleeps
) -> None:
    sandbox.set_fault("503", "token", count=2)
    assert (await client.access()).scopes
    assert len(sleeps) == 2


async def test_a_missing_scope_raises_before_anything_is_sent(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.set_dialect(granted_scopes=["read:employee"])
    with pytest.raises(MissingScope) as caught:
        await client.create_employee(EMPLOYEE)
    assert caught.value.needed == "write:employee"
    assert caught.value.granted == {"read:employee"}
    assert "grant write:employee" in str(caught.value)
    assert list(sandbox.truth()["requests"]) == ["token"]


async def test_with_unknown_scopes_the_request_is_sent(client: Client, sandbox: Sandbox) -> None:
    sandbox.set_dialect(granted_scopes=["read:employee"], scope_shape="missing")
    with pytest.raises(Forbidden):
        await client.create_employee(EMPLOYEE)


async def test_on_token_sees_each_token_before_its_first_use(
    sandbox: Sandbox, open_client: Open
) -> None:
    told: list[str] = []

    async def on_token(token: str) -> None:
        assert "list_client_invoices" not in sandbox.truth()["requests"]
        told.append(token)

    client = await open_client(sandbox.settings(), on_token=on_token)
    await client.list_client_invoices(**DAYS)
    assert len(told) == 1
    assert told[0].count(".") == 2


async def test_concurrency_limits_the_requests_in_flight(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.set_latency(0.02)
    client = await open_client(sandbox.settings(concurrency=3))
    await asyncio.gather(
        *(client.list_client_invoices(**DAYS) for _ in range(9)),
        *(client.create_contact(CONTACT) for _ in range(9)),
    )
    assert sandbox.truth()["in_flight_max"] == 3


async def test_the_timeout_excludes_the_wait_for_the_limiter(
    fake: FakeService, open_client: Open
) -> None:
    async def slowly(request: web.Request) -> web.StreamResponse:
        advance(40)
        return await EMPTY_ARRAY(request)

    fake.respond = slowly
    client = await open_client(fake.settings(concurrency=1, timeout=60, attempts=1))
    await asyncio.gather(*(client.list_client_invoices(**DAYS) for _ in range(3)))


async def test_refusals_are_typed_and_sent_once(client: Client, sandbox: Sandbox) -> None:
    sandbox.set_dialect(longest_range=3)
    with pytest.raises(RangeRefused) as caught:
        await client.list_client_invoices(**DAYS)
    assert caught.value.status == 422
    with pytest.raises(NotFound):
        await client.read_contact(999_999_999)
    with pytest.raises(Refused):
        await client.create_contact({"city": "Lyon"})
    requested = sandbox.truth()["requests"]
    assert [sum(requested[o].values()) for o in ("list_client_invoices", "read_contact")] == [1, 1]
    assert sum(requested["create_contact"].values()) == 1


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("429", Throttled),
        ("503", ServiceUnavailable),
        ("reset_after_read", ConnectionFailed),
        ("malformed_json", MalformedResponse),
    ],
)
async def test_a_read_raises_the_last_error_after_all_attempts(
    client: Client, sandbox: Sandbox, kind: str, error: type[BmsError], sleeps: Sleeps
) -> None:
    sandbox.set_fault(kind, "list_employees", retry_after=7)
    with pytest.raises(error) as caught:
        await client.list_employees(id_entity=1)
    assert caught.value.retriable
    assert caught.value.tries == client.settings.attempts
    assert f"tries: {client.settings.attempts}" in str(caught.value)
    assert len(sleeps) == client.settings.attempts - 1
    if isinstance(caught.value, Throttled):
        assert caught.value.retry_after == 7
        assert all(7 <= wait <= 8 for wait in sleeps)


@pytest.mark.parametrize("form", ["seconds", "date", "absent"])
async def test_retry_after_is_obeyed_in_every_form(
    client: Client, sandbox: Sandbox, sleeps: Sleeps, form: str
) -> None:
    sandbox.set_dialect(retry_after=form)
    sandbox.set_fault("503", "list_employees", count=1, retry_after=50)
    await client.list_employees(id_entity=1)
    [wait] = sleeps
    assert wait < 1 if form == "absent" else 20 <= wait <= 51.5


async def test_a_create_is_retried_while_the_service_is_unreachable(
    open_client: Open, fake: FakeService, sleeps: Sleeps
) -> None:
    """Without a connection, the create was certainly not executed."""
    client = await open_client(fake.settings())
    await client.access()
    await fake.stop()
    with pytest.raises(ConnectionFailed) as caught:
        await client.create_contact(CONTACT)
    assert caught.value.sent is False
    assert caught.value.retriable
    assert len(sleeps) == client.settings.attempts - 1


async def test_a_create_that_times_out_is_ambiguous(open_client: Open, fake: FakeService) -> None:
    fake.respond = hang
    client = await open_client(fake.settings(attempts=2))
    with pytest.raises(AmbiguousWrite, match="timeout"):
        await client.create_contact(CONTACT)
    assert len(fake.requests) == 1
    with pytest.raises(Timeout) as caught:
        await client.read_contact(1)
    assert caught.value.sent


async def test_raw_returns_status_headers_and_body(client: Client, sandbox: Sandbox) -> None:
    found = await client.raw("list_contacts", {"filter": "ALL", "page_size": 2})
    assert (found.status, found.ok) == (200, True)
    assert found.headers["content-type"].startswith("application/json")
    assert len(json.loads(found.body)["data"]) == 2
    refused = await client.raw("list_contacts", {"page_size": 2})
    assert (refused.status, refused.ok) == (422, False)
    assert sandbox.truth()["requests"]["list_contacts"] == {"200": 1, "422": 1}


async def test_raw_without_authentication_sends_no_token(client: Client, sandbox: Sandbox) -> None:
    found = await client.raw("list_contacts", {"filter": "ALL"}, authenticate=False)
    assert found.status == 401
    assert sandbox.truth()["requests"] == {"list_contacts": {"401": 1}}


async def test_raw_retries_while_the_service_is_in_distress(
    client: Client, sandbox: Sandbox, sleeps: Sleeps
) -> None:
    sandbox.set_fault("503", "list_employees", count=2)
    assert (await client.raw("list_employees", {"id_entity": 1})).ok
    assert len(sleeps) == 2
    sandbox.set_fault("429", "list_employees")
    with pytest.raises(Throttled):
        await client.raw("list_employees", {"id_entity": 1})


async def test_raw_renews_a_revoked_token(client: Client, sandbox: Sandbox) -> None:
    await client.access()
    sandbox.revoke_tokens()
    assert (await client.raw("list_employees", {"id_entity": 1})).ok
    assert sandbox.truth()["requests"]["list_employees"] == {"200": 1, "401": 1}


async def test_raw_refuses_an_operation_that_writes(client: Client, sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="not a reading operation"):
        await client.raw("create_contact")
    assert sandbox.truth()["requests"] == {}


async def test_the_raw_token_serves_the_following_requests(
    client: Client, sandbox: Sandbox
) -> None:
    found = await client.raw_token()
    assert json.loads(found.body)["access_token"]
    await client.list_client_invoices(**DAYS)
    assert sandbox.truth()["requests"]["token"] == {"200": 1}
    assert client.counters.token_fetches == 1
