"""Every operation against the sandbox over real HTTP, and the laws of repeating."""

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
from tests.bms.fake_services import TOKEN, Odd, Open, Sandbox, Sleeps

DAYS = {"id_entity": 1, "start_date": date(2026, 3, 2), "end_date": date(2026, 3, 6)}
EMPLOYEE = {"id_entity": 1, "first_name": "Zoé", "last_name": "Lefèvre", "salary_base": 41000.5}
CONTACT = {"first_name": "Anaïs", "last_name": "Noël", "email": "anais@example.com"}
CONSULTANT = {"first_name": "Loïc", "last_name": "Petit", "rate": Decimal("612.50")}


def ids(box: Sandbox, **given: Any) -> set[int]:
    """What a right reader must have seen."""
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


async def test_a_base_path_and_its_trailing_slash_are_kept(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.speak(base_path="/tenant/api")
    client = await open_client(sandbox.settings(base_url=f"{sandbox.url}/tenant/api/"))
    assert len(await client.list_client_invoices(**DAYS)) > 0


async def test_access_tells_scopes_and_life_and_never_the_token(client: Client) -> None:
    access = await client.access()
    assert access.scopes is not None
    assert "read:invoice_client" in access.scopes
    assert access.expires_in_s == pytest.approx(3600, abs=5)
    assert (await client.access()).scopes == access.scopes
    assert client.counters.token_fetches == 1


@pytest.mark.parametrize("asked", ["ALL", "ACTIVE", "STANDBY", "FORMER", None])
async def test_lists_and_reads_employees(client: Client, asked: Any) -> None:
    rows = await client.list_employees(id_entity=1, filter=asked)
    rows.require_all()
    if asked == "ALL":
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
async def test_creates_and_understands_every_shape_of_id(
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


async def test_a_create_without_a_readable_id_is_in_doubt_and_not_repeated(
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
async def test_a_create_that_may_have_happened_is_never_sent_again(
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


async def test_a_throttled_create_is_repeated_where_the_settings_say_it_was_refused(
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
async def test_a_read_is_repeated_until_it_is_answered(
    client: Client, sandbox: Sandbox, kind: str, sleeps: Sleeps
) -> None:
    sandbox.fail({"kind": kind, "operation": "list_client_invoices", "count": 3})
    rows = await client.list_client_invoices(**DAYS)
    assert {r.id_invoice for r in rows} == ids(sandbox)
    assert sandbox.truth["faults"] == {kind: 3}
    assert len(sleeps) >= 1  # aiohttp itself sends a GET once more on a connection that was reset


async def test_a_faulty_page_is_repeated_alone(client: Client, sandbox: Sandbox) -> None:
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


async def test_many_waiting_requests_ask_for_one_token(client: Client, sandbox: Sandbox) -> None:
    await asyncio.gather(*(client.list_client_invoices(**DAYS) for _ in range(40)))
    assert sum(sandbox.truth["requests"]["token"].values()) == 1


async def test_a_revoked_token_is_renewed_once_for_all_and_each_request_sent_again(
    client: Client, sandbox: Sandbox
) -> None:
    await client.access()
    sandbox.control("POST", "tokens/revoke")
    rows = await asyncio.gather(*(client.list_client_invoices(**DAYS) for _ in range(20)))
    assert {len(r) for r in rows} == {len(ids(sandbox))}
    asked = sandbox.truth["requests"]
    assert sum(asked["token"].values()) == 2
    assert asked["list_client_invoices"]["200"] == 20


async def test_a_revoked_token_does_not_lose_a_create(client: Client, sandbox: Sandbox) -> None:
    await client.access()
    sandbox.control("POST", "tokens/revoke")
    await client.create_employee(EMPLOYEE)
    assert sandbox.truth["requests"]["create_employee"] == {"401": 1, "201": 1}
    assert len(sandbox.truth["created"]["employees"]) == 1


@pytest.mark.parametrize("operation", ["list_employees", "create_employee"])
async def test_tokens_that_another_task_ends_time_and_again_lose_nothing(
    client: Client, sandbox: Sandbox, operation: str, sleeps: Sleeps
) -> None:
    """Where a service keeps one live token per client, each task that renews ends the others'."""
    sandbox.fail({"kind": "token_revoked", "operation": operation, "count": 4})
    if operation == "list_employees":
        assert await client.list_employees(id_entity=1)
    else:
        await client.create_employee(EMPLOYEE)
        assert len(sandbox.truth["created"]["employees"]) == 1
    assert len(sleeps) == 3  # the first renewal is at once
    assert sum(sandbox.truth["requests"]["token"].values()) == 5


async def test_new_tokens_that_are_all_refused_are_an_error(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.fail({"kind": "token_revoked", "operation": "list_employees"})
    with pytest.raises(Unauthorized) as caught:
        await client.list_employees(id_entity=1)
    assert caught.value.status == 401
    assert sandbox.truth["requests"] == {"token": {"200": 7}, "list_employees": {"401": 7}}


async def test_a_token_is_renewed_ahead_of_its_end(sandbox: Sandbox, open_client: Open) -> None:
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
async def test_a_wrong_local_clock_does_not_matter(
    sandbox: Sandbox, open_client: Open, skew: float
) -> None:
    import time

    client = await open_client(sandbox.settings(), clock=lambda: time.time() + skew)
    assert (await client.access()).expires_in_s == pytest.approx(3600, abs=5)
    await client.list_client_invoices(**DAYS)
    await client.list_client_invoices(**DAYS)
    assert client.counters.token_fetches == 1


async def test_a_wrong_secret_is_refused_and_not_tried_again(
    sandbox: Sandbox, open_client: Open
) -> None:
    client = await open_client(sandbox.settings(secret="wrong"))
    with pytest.raises(TokenRefused):
        await client.access()
    assert sum(sandbox.truth["requests"]["token"].values()) == 1


async def test_a_token_request_is_repeated_like_a_read(
    client: Client, sandbox: Sandbox, sleeps: Sleeps
) -> None:
    sandbox.fail({"kind": "503", "operation": "token", "count": 2})
    assert (await client.access()).scopes
    assert len(sleeps) == 2


async def test_those_who_waited_for_a_token_that_could_not_be_had_share_the_failure(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.fail({"kind": "503", "operation": "token"})
    found = await asyncio.gather(
        *(client.list_client_invoices(**DAYS) for _ in range(10)), return_exceptions=True
    )
    assert {type(error) for error in found} == {ServiceUnavailable}
    assert sum(sandbox.truth["requests"]["token"].values()) == client.settings.attempts


async def test_a_missing_scope_is_told_before_anything_is_sent(
    client: Client, sandbox: Sandbox
) -> None:
    sandbox.speak(granted_scopes=["read:employee"])
    with pytest.raises(MissingScope) as caught:
        await client.create_employee(EMPLOYEE)
    assert caught.value.needed == "write:employee"
    assert caught.value.granted == {"read:employee"}
    assert "grant write:employee" in str(caught.value)
    assert list(sandbox.truth["requests"]) == ["token"]


async def test_unknown_scopes_let_the_service_decide(client: Client, sandbox: Sandbox) -> None:
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


async def test_no_more_requests_are_in_flight_than_the_settings_allow(
    sandbox: Sandbox, open_client: Open
) -> None:
    sandbox.control("PUT", "latency", {"seconds": 0.02})
    client = await open_client(sandbox.settings(concurrency=3))
    await asyncio.gather(
        *(client.list_client_invoices(**DAYS) for _ in range(9)),
        *(client.create_contact(CONTACT) for _ in range(9)),
    )
    assert sandbox.truth["in_flight_max"] == 3


async def test_waiting_for_its_turn_does_not_count_as_a_requests_time(
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
    asked = sandbox.truth["requests"]
    assert [sum(asked[o].values()) for o in ("list_client_invoices", "read_contact")] == [1, 1]
    assert sum(asked["create_contact"].values()) == 1


async def test_an_employee_is_asked_for_by_a_uuid_only(client: Client, sandbox: Sandbox) -> None:
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
async def test_past_the_retry_budget_a_read_says_what_it_was(
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
async def test_retry_after_is_kept_in_every_form(
    client: Client, sandbox: Sandbox, sleeps: Sleeps, form: str
) -> None:
    sandbox.speak(retry_after=form)
    sandbox.fail({"kind": "503", "operation": "list_employees", "count": 1, "retry_after": 9})
    await client.list_employees(id_entity=1)
    [wait] = sleeps
    assert wait < 1 if form == "absent" else 7.9 <= wait <= 10.5


async def test_a_service_that_is_not_there_lets_a_create_be_repeated(
    open_client: Open, odd: Odd, sleeps: Sleeps
) -> None:
    """Nothing listens: the connection never came about, so the create surely was not executed."""
    client = await open_client(odd.settings())
    await client.access()
    await odd.stop()
    with pytest.raises(ConnectionFailed) as caught:
        await client.create_contact(CONTACT)
    assert caught.value.sent is False
    assert caught.value.retriable
    assert len(sleeps) == client.settings.attempts - 1


async def test_a_create_without_an_answer_in_time_is_in_doubt(open_client: Open, odd: Odd) -> None:
    never = asyncio.Event()

    async def hang(_request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    odd.answer = hang
    client = await open_client(odd.settings(timeout=0.2, attempts=2))
    with pytest.raises(AmbiguousWrite, match="timeout"):
        await client.create_contact(CONTACT)
    assert len(odd.asked) == 1
    with pytest.raises(Timeout) as caught:
        await client.read_contact(1)
    assert caught.value.sent
    never.set()


async def test_the_scheme_sent_is_bearer_and_money_goes_out_exact(
    open_client: Open, odd: Odd
) -> None:
    bodies: list[bytes] = []

    async def created(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.read())
        return web.json_response(12)

    odd.answer = created
    odd.token["token_type"] = "JWT"
    client = await open_client(odd.settings())
    assert (await client.create_consultant({"rate": Decimal("612.50")})).id == 12
    assert bodies == [b'{"rate":612.50}']
    assert odd.asked[0].headers["Authorization"] == f"Bearer {TOKEN}"


async def test_query_values_are_written_as_the_interface_says(open_client: Open, odd: Odd) -> None:
    async def page(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"total_pages": 0, "data": []})

    odd.answer = page
    client = await open_client(odd.settings(page_size=7))
    found = await client.list_contacts(filter="ASSIGNED", is_lead=False, page_number=2)
    assert (found.number, found.size, found.total_pages, len(found)) == (2, 7, 0, 0)
    await client.list_consultants(type="Ingénieur &co", id_client=3)
    assert dict(odd.asked[0].query) == {
        "page_number": "2",
        "page_size": "7",
        "filter": "ASSIGNED",
        "is_lead": "false",
    }
    assert odd.asked[1].query["type"] == "Ingénieur &co"
    assert odd.asked[1].path == "/v1/CRM/Consultants"


async def test_a_client_that_is_not_open_says_so(odd: Odd) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await Client(odd.settings()).access()
