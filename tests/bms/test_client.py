"""Tests of every operation and of retries against the sandbox over HTTP."""

import asyncio
from datetime import date
from decimal import Decimal
from typing import Any

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
from bms.paging import all_pages
from tests.bms.fake_services import TOKEN, FakeService, Open, Sandbox, Sleeps

DAYS = {"id_entity": 1, "start_date": date(2026, 3, 2), "end_date": date(2026, 3, 6)}
EMPLOYEE = {"id_entity": 1, "first_name": "Zoé", "last_name": "Lefèvre", "salary_base": 41000.5}
CONTACT = {"first_name": "Anaïs", "last_name": "Noël", "email": "anais@example.com"}
CONSULTANT = {"first_name": "Loïc", "last_name": "Petit", "rate": Decimal("612.50")}


def ids(box: Sandbox, **given: Any) -> set[int]:
    """Return the ids that a correct client returns."""
    days = {name: str(v) for name, v in (DAYS | given).items()}
    query = "&".join(f"{name}={v}" for name, v in days.items())
    return {row["id_invoice"] for row in box.control("GET", f"invoices?{query}")}


async def test_lists_the_invoices_of_a_range_with_exact_money(
    client: Client, sandbox: Sandbox
) -> None:
    rows = await client.list_client_invoices(**DAYS)
    rows.require_all()
    query = "id_entity=1&start_date=2026-03-02&end_date=2026-03-06"
    truth = {r["id_invoice"]: r for r in sandbox.control("GET", f"invoices?{query}")}
    assert {r.id_invoice for r in rows} == set(truth)
    for record in rows:
        assert record.total_incl_vat == Decimal(truth[record.id_invoice]["total_incl_vat"])
    assert rows.extra == {}


@pytest.mark.parametrize(
    ("readings", "given"),
    [
        ({"end_date": "exclusive"}, {"end_date_inclusive": False}),
        ({"expires_in_unit": "milliseconds"}, {"expires_in_unit": "milliseconds"}),
        ({"expires_in_unit": "minutes", "exp_claim": False}, {"expires_in_unit": "minutes"}),
        ({"token_bearer": "secret"}, {"token_bearer_secret": "canary-secret-7f3a"}),
        ({"token_type": "JWT"}, {}),
        ({"scope_shape": "space"}, {}),
        ({"scope_shape": "missing"}, {}),
        ({"scope_shape": "empty"}, {}),
        ({"one_live_token": True}, {}),
        ({"token_status": 201}, {}),
        ({"date_format": "ms", "datetime_format": "utc_ms"}, {}),
        ({"nulls": "absent"}, {}),
        ({"extra_fields": True}, {}),
    ],
    ids=str,
)
async def test_reads_the_same_invoices_in_every_dialect(
    sandbox: Sandbox, open_client: Open, readings: dict[str, Any], given: dict[str, Any]
) -> None:
    sandbox.speak(**readings)
    client = await open_client(sandbox.settings(**given))
    rows = await client.list_client_invoices(**DAYS)
    rows.require_all()
    assert {r.id_invoice for r in rows} == ids(sandbox)
    assert bool(rows.extra) == ("extra_fields" in readings)


async def test_the_path_of_the_base_url_is_part_of_every_request(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.speak(base_path="/tenant/api")
    client = await open_client(sandbox.settings(base_url=f"{sandbox.url}/tenant/api/"))
    assert len(await client.list_client_invoices(**DAYS)) > 0


async def test_access_returns_scopes_and_remaining_life(client: Client) -> None:
    access = await client.access()
    assert access.scopes is not None
    assert "read:invoice_client" in access.scopes
    assert access.expires_in_s == pytest.approx(3600, abs=5)
    assert (await client.access()).scopes == access.scopes
    assert client.counters.token_fetches == 1


@pytest.mark.parametrize("given", ["ALL", "ACTIVE", "STANDBY", "FORMER", None])
async def test_lists_and_reads_employees(client: Client, given: Any) -> None:
    rows = await client.list_employees(id_entity=1, filter=given)
    rows.require_all()
    if given == "ALL":
        item = rows.records[0]
        detail = await client.read_employee(item.guid_employee)
        assert detail.record.id_employee == item.id_employee
        assert detail.record.last_name == item.last_name
        assert detail.extra == {}


async def test_pages_through_all_contacts_and_consultants(client: Client, sandbox: Sandbox) -> None:
    contacts = [
        c
        async for page in all_pages(
            lambda n: client.list_contacts(filter="ALL", page_number=n, page_size=30)
        )
        for c in page
    ]
    consultants = [
        c
        async for page in all_pages(lambda n: client.list_consultants(page_number=n))
        for c in page
    ]
    rows = sandbox.truth["rows"]
    assert len({c.id for c in contacts}) == len(contacts) == rows["contacts"]
    assert len({c.id for c in consultants}) == len(consultants) == rows["consultants"]
    assert {c.actif for c in contacts} == {True, False}
    assert isinstance(consultants[0].rate, Decimal)
    contact = await client.read_contact(contacts[0].id)
    consultant = await client.read_consultant(consultants[0].id)
    assert contact.record.active == contacts[0].actif
    assert consultant.record.currency == consultants[0].currency
    assert contact.extra == consultant.extra == {}


@pytest.mark.parametrize("shape", ["number", "string", "object", "named_object"])
@pytest.mark.parametrize("status", [200, 201])
async def test_creates_records_with_every_shape_of_id(
    client: Client, sandbox: Sandbox, shape: str, status: int
) -> None:
    sandbox.speak(created_id=shape, create_status=status)
    contact = await client.create_contact(CONTACT)
    consultant = await client.create_consultant(CONSULTANT)
    employee = await client.create_employee(EMPLOYEE)
    assert (await client.read_contact(contact.id)).record.email == "anais@example.com"
    assert (await client.read_consultant(consultant.id)).record.rate == Decimal("612.50")
    assert employee.is_standby is True
    assert (await client.read_employee(employee.guid_employee)).record.last_name == "Lefèvre"


async def test_a_create_without_a_readable_id_is_ambiguous_and_not_repeated(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.speak(created_id="empty")
    with pytest.raises(AmbiguousWrite) as caught:
        await client.create_contact(CONTACT)
    assert caught.value.reason == "unreadable response"
    assert caught.value.status == 201
    assert len(sandbox.truth["created"]["contacts"]) == 1


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
    sandbox.fail({"kind": kind, "operation": "create_employee"})
    with pytest.raises(AmbiguousWrite) as caught:
        await client.create_employee(EMPLOYEE)
    assert not caught.value.retriable
    assert caught.value.endpoint == "create_employee"
    truth = sandbox.truth
    assert sum(truth["requests"]["create_employee"].values()) == 1
    assert truth["faults"] == {kind: 1}
    assert len(truth["created"]["employees"]) == created


async def test_a_throttled_create_is_repeated_with_create_refused_by_429(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.fail({"kind": "429", "operation": "create_contact", "count": 2})
    client = await open_client(sandbox.settings(create_refused_by_429=True))
    await client.create_contact(CONTACT)
    assert len(sandbox.truth["created"]["contacts"]) == 1
    assert client.counters.throttles == 2


@pytest.mark.parametrize(
    "kind",
    ["429", "503", "reset_before_read", "reset_after_read", "truncated_body", "malformed_json"],
)
async def test_a_read_is_retried_until_it_succeeds(
    client: Client, sandbox: Sandbox, kind: str, sleeps: Sleeps
) -> None:
    sandbox.fail({"kind": kind, "operation": "list_client_invoices", "count": 3})
    rows = await client.list_client_invoices(**DAYS)
    assert {r.id_invoice for r in rows} == ids(sandbox)
    assert sandbox.truth["faults"] == {kind: 3}
    assert len(sleeps) >= 1  # aiohttp itself repeats a GET on a connection that was reset


async def test_only_the_failed_page_is_retried(client: Client, sandbox: Sandbox) -> None:
    sandbox.fail({"kind": "503", "operation": "list_contacts", "count": 2, "after": 3})
    seen = [
        c.id
        async for page in all_pages(
            lambda n: client.list_contacts(filter="ALL", page_number=n, page_size=25)
        )
        for c in page
    ]
    assert len(seen) == sandbox.truth["rows"]["contacts"] == len(set(seen))
    assert client.counters.latencies["list_contacts"]
    assert len(client.counters.latencies["list_contacts"]) == 10 + 2


async def test_concurrent_requests_share_one_token(client: Client, sandbox: Sandbox) -> None:
    await asyncio.gather(*(client.list_client_invoices(**DAYS) for _ in range(40)))
    assert sum(sandbox.truth["requests"]["token"].values()) == 1


async def test_a_revoked_token_is_renewed_once_and_each_request_is_repeated(
    client: Client, sandbox: Sandbox
) -> None:
    await client.access()
    sandbox.control("POST", "tokens/revoke")
    rows = await asyncio.gather(*(client.list_client_invoices(**DAYS) for _ in range(20)))
    assert {len(r) for r in rows} == {len(ids(sandbox))}
    requested = sandbox.truth["requests"]
    assert sum(requested["token"].values()) == 2
    assert requested["list_client_invoices"]["200"] == 20


async def test_a_revoked_token_does_not_lose_a_create(client: Client, sandbox: Sandbox) -> None:
    await client.access()
    sandbox.control("POST", "tokens/revoke")
    await client.create_employee(EMPLOYEE)
    assert sandbox.truth["requests"]["create_employee"] == {"401": 1, "201": 1}
    assert len(sandbox.truth["created"]["employees"]) == 1


@pytest.mark.parametrize("operation", ["list_employees", "create_employee"])
async def test_tokens_that_another_task_revokes_repeatedly_lose_no_request(
    client: Client, sandbox: Sandbox, operation: str, sleeps: Sleeps
) -> None:
    """The service keeps one live token per client; each renewal ends the previous token."""
    sandbox.fail({"kind": "token_revoked", "operation": operation, "count": 4})
    if operation == "list_employees":
        assert await client.list_employees(id_entity=1)
    else:
        await client.create_employee(EMPLOYEE)
        assert len(sandbox.truth["created"]["employees"]) == 1
    assert len(sleeps) == 3  # the first renewal is immediate
    assert sum(sandbox.truth["requests"]["token"].values()) == 5


async def test_refused_new_tokens_raise_unauthorized_after_all_attempts(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.fail({"kind": "token_revoked", "operation": "list_employees"})
    with pytest.raises(Unauthorized) as caught:
        await client.list_employees(id_entity=1)
    assert caught.value.status == 401
    assert sandbox.truth["requests"] == {"token": {"200": 7}, "list_employees": {"401": 7}}


async def test_a_token_is_renewed_before_it_expires(sandbox: Sandbox, open_client: Open) -> None:
    now = 1_000_000.0
    client = await open_client(sandbox.settings(), clock=lambda: now)
    await client.list_client_invoices(**DAYS)
    now += 3600 - 61
    await client.list_client_invoices(**DAYS)
    assert client.counters.token_fetches == 1
    now += 2
    await client.list_client_invoices(**DAYS)
    assert client.counters.token_fetches == 2


@pytest.mark.parametrize("skew", [-7200, 7200])
async def test_a_wrong_local_clock_causes_no_extra_token_request(
    sandbox: Sandbox, open_client: Open, skew: float
) -> None:
    import time

    client = await open_client(sandbox.settings(), clock=lambda: time.time() + skew)
    assert (await client.access()).expires_in_s == pytest.approx(3600, abs=5)
    await client.list_client_invoices(**DAYS)
    await client.list_client_invoices(**DAYS)
    assert client.counters.token_fetches == 1


async def test_a_wrong_secret_is_not_retried(sandbox: Sandbox, open_client: Open) -> None:
    client = await open_client(sandbox.settings(secret="wrong"))
    with pytest.raises(TokenRefused):
        await client.access()
    assert sum(sandbox.truth["requests"]["token"].values()) == 1


async def test_a_token_request_is_retried_like_a_read(
    client: Client, sandbox: Sandbox, sleeps: Sleeps
) -> None:
    sandbox.fail({"kind": "503", "operation": "token", "count": 2})
    assert (await client.access()).scopes
    assert len(sleeps) == 2


async def test_requests_that_waited_for_a_failed_token_request_share_its_error(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.fail({"kind": "503", "operation": "token"})
    found = await asyncio.gather(
        *(client.list_client_invoices(**DAYS) for _ in range(10)), return_exceptions=True
    )
    assert {type(error) for error in found} == {ServiceUnavailable}
    assert sum(sandbox.truth["requests"]["token"].values()) == client.settings.attempts


async def test_a_missing_scope_raises_before_anything_is_sent(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.speak(granted_scopes=["read:employee"])
    with pytest.raises(MissingScope) as caught:
        await client.create_employee(EMPLOYEE)
    assert caught.value.needed == "write:employee"
    assert caught.value.granted == {"read:employee"}
    assert "grant write:employee" in str(caught.value)
    assert list(sandbox.truth["requests"]) == ["token"]


async def test_with_unknown_scopes_the_request_is_sent(client: Client, sandbox: Sandbox) -> None:
    sandbox.speak(granted_scopes=["read:employee"], scope_shape="missing")
    with pytest.raises(Forbidden):
        await client.create_employee(EMPLOYEE)


async def test_on_token_sees_each_token_before_its_first_use(
    sandbox: Sandbox, open_client: Open
) -> None:
    told: list[str] = []

    async def on_token(token: str) -> None:
        assert "list_client_invoices" not in sandbox.truth["requests"]
        told.append(token)

    client = await open_client(sandbox.settings(), on_token=on_token)
    await client.list_client_invoices(**DAYS)
    assert len(told) == 1
    assert told[0].count(".") == 2


async def test_concurrency_limits_the_requests_in_flight(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.control("PUT", "latency", {"seconds": 0.02})
    client = await open_client(sandbox.settings(concurrency=3))
    await asyncio.gather(
        *(client.list_client_invoices(**DAYS) for _ in range(9)),
        *(client.create_contact(CONTACT) for _ in range(9)),
    )
    assert sandbox.truth["in_flight_max"] == 3


async def test_the_timeout_excludes_the_wait_for_the_limiter(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.control("PUT", "latency", {"seconds": 0.1})
    client = await open_client(sandbox.settings(concurrency=1, timeout=0.5, attempts=1))
    await asyncio.gather(*(client.list_client_invoices(**DAYS) for _ in range(8)))


async def test_refusals_are_typed_and_sent_once(client: Client, sandbox: Sandbox) -> None:
    sandbox.speak(longest_range=3)
    with pytest.raises(RangeRefused) as caught:
        await client.list_client_invoices(**DAYS)
    assert caught.value.status == 422
    with pytest.raises(NotFound):
        await client.read_contact(999_999_999)
    with pytest.raises(Refused):
        await client.create_contact({})
    requested = sandbox.truth["requests"]
    assert [sum(requested[o].values()) for o in ("list_client_invoices", "read_contact")] == [1, 1]
    assert sum(requested["create_contact"].values()) == 1


async def test_read_employee_accepts_only_a_uuid(client: Client, sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="UUID"):
        await client.read_employee("../employees")
    assert sandbox.truth["requests"] == {}


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
    sandbox.fail({"kind": kind, "operation": "list_employees", "retry_after": 7})
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
    sandbox.speak(retry_after=form)
    sandbox.fail({"kind": "503", "operation": "list_employees", "count": 1, "retry_after": 9})
    await client.list_employees(id_entity=1)
    [wait] = sleeps
    assert wait < 1 if form == "absent" else 7.9 <= wait <= 10.5


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
    never = asyncio.Event()

    async def hang(_request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    fake.respond = hang
    client = await open_client(fake.settings(timeout=0.2, attempts=2))
    with pytest.raises(AmbiguousWrite, match="timeout"):
        await client.create_contact(CONTACT)
    assert len(fake.requests) == 1
    with pytest.raises(Timeout) as caught:
        await client.read_contact(1)
    assert caught.value.sent
    never.set()


async def test_requests_use_the_bearer_scheme_and_exact_amounts(
    open_client: Open, fake: FakeService
) -> None:
    bodies: list[bytes] = []

    async def created(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.read())
        return web.json_response(12)

    fake.respond = created
    fake.token["token_type"] = "JWT"
    client = await open_client(fake.settings())
    assert (await client.create_consultant({"rate": Decimal("612.50")})).id == 12
    assert bodies == [b'{"rate":612.50}']
    assert fake.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"


async def test_query_values_are_encoded_as_the_interface_defines(
    open_client: Open, fake: FakeService
) -> None:
    async def page(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"total_pages": 0, "data": []})

    fake.respond = page
    client = await open_client(fake.settings(page_size=7))
    found = await client.list_contacts(filter="ASSIGNED", is_lead=False, page_number=2)
    assert (found.number, found.size, found.total_pages, len(found)) == (2, 7, 0, 0)
    await client.list_consultants(type="Ingénieur &co", id_client=3)
    assert dict(fake.requests[0].query) == {
        "page_number": "2",
        "page_size": "7",
        "filter": "ASSIGNED",
        "is_lead": "false",
    }
    assert fake.requests[1].query["type"] == "Ingénieur &co"
    assert fake.requests[1].path == "/v1/CRM/Consultants"


async def test_a_closed_client_raises(fake: FakeService) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await Client(fake.settings()).access()
