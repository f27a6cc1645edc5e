"""Tests of every operation against the sandbox over HTTP."""

import time
from datetime import date
from decimal import Decimal

import pytest
from aiohttp import web

from bms.client import Client
from bms.errors import AmbiguousWrite, MalformedResponse, NotFound
from bms.paging import all_pages
from tests.bms.fake_services import (
    CONSULTANT,
    CONTACT,
    DAYS,
    EMPLOYEE,
    TOKEN,
    FakeService,
    Open,
    Sandbox,
    saying,
)


@pytest.mark.parametrize("skew", [-7200, 0, 7200])
async def test_access_returns_scopes_and_remaining_life_whatever_the_local_clock(
    sandbox: Sandbox, open_client: Open, skew: float
) -> None:
    client = await open_client(sandbox.settings(), clock=lambda: time.time() + skew)
    access = await client.access()
    assert access.scopes is not None
    assert "read:invoice_client" in access.scopes
    assert access.expires_in_s == pytest.approx(3600, abs=5)
    assert (await client.access()).scopes == access.scopes
    assert client.counters.token_fetches == 1


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
    rows = sandbox.truth()["rows"]
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
    sandbox.set_dialect(created_id=shape, create_status=status)
    contact = await client.create_contact(CONTACT)
    consultant = await client.create_consultant(CONSULTANT)
    employee = await client.create_employee(EMPLOYEE)
    assert (await client.read_contact(contact.id)).record.email == "anais@example.com"
    assert (await client.read_consultant(consultant.id)).record.rate == Decimal("612.50")
    assert employee.is_standby is True
    assert (await client.read_employee(employee.guid_employee)).record.last_name == "Lefèvre"


@pytest.mark.parametrize("no_rows", ["array", "null", "no_content", "not_found"])
async def test_a_list_without_rows_may_have_no_content(
    open_client: Open, sandbox: Sandbox, no_rows: str
) -> None:
    sandbox.set_dialect(no_rows=no_rows)
    client = await open_client(sandbox.settings(empty_list_404=no_rows == "not_found"))
    day = date(2001, 1, 1)
    assert not [*await client.list_client_invoices(id_entity=1, start_date=day, end_date=day)]
    assert not [*await client.list_employees(id_entity=99, filter="ALL")]


async def test_no_content_is_an_empty_page_but_no_record(
    open_client: Open, fake: FakeService
) -> None:
    fake.respond = saying(status=204)
    client = await open_client(fake.settings())
    page = await client.list_contacts(filter="ALL")
    assert (page.total_pages, [*page]) == (0, [])
    with pytest.raises(MalformedResponse):
        await client.read_contact(7)
    with pytest.raises(AmbiguousWrite):
        await client.create_contact(CONTACT)


async def test_not_found_is_an_empty_list_by_the_settings_only(
    open_client: Open, fake: FakeService
) -> None:
    fake.respond = saying(status=404)
    client = await open_client(fake.settings())
    with pytest.raises(NotFound):
        await client.list_contacts(filter="ALL")
    client = await open_client(fake.settings(empty_list_404=True))
    assert not [*await client.list_contacts(filter="ALL")]
    assert not [*await client.list_client_invoices(**DAYS)]
    assert await client.client_invoices(bytes, **DAYS) == b"[]"
    with pytest.raises(NotFound):  # a page within the list, which would be lost
        await client.list_contacts(filter="ALL", page_number=2)
    with pytest.raises(NotFound):
        await client.read_contact(7)


@pytest.mark.parametrize("guid", ["", "../contacts/1", "x" * 36])
async def test_read_employee_accepts_only_a_uuid(
    client: Client, sandbox: Sandbox, guid: str
) -> None:
    with pytest.raises(NotFound, match="no UUID; nothing was sent") as caught:
        await client.read_employee(guid)
    assert "../" not in str(caught.value)
    assert sandbox.truth()["requests"] == {}


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
    fake.respond = saying(body=b'{"total_pages": 0, "data": []}')
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


PAGE = "<html><body>Connexion</body></html>"


@pytest.mark.parametrize("path", ["/v1/CRM/contacts", "/v1/elsewhere"])
@pytest.mark.parametrize("kind", ["text/html", "application/json"])
async def test_a_web_page_is_no_response(
    open_client: Open, fake: FakeService, path: str, kind: str
) -> None:
    """Gateways respond 200 with a login or maintenance page, or redirect to one."""

    async def respond(request: web.Request) -> web.StreamResponse:
        if request.path == "/login":
            return web.Response(text=PAGE, content_type=kind)
        raise web.HTTPFound("/login")

    fake.respond = respond
    client = await open_client(fake.settings(attempts=2))
    for call in (client.get(path), client.get(path, check=False), client.raw("list_contacts")):
        with pytest.raises(MalformedResponse, match="perhaps with a login page"):
            await call
    assert len(fake.requests) == 12, "two attempts of each call, with their redirects"


async def test_content_of_another_type_is_returned(open_client: Open, fake: FakeService) -> None:
    fake.respond = saying(text="id;name", content_type="text/csv")
    client = await open_client(fake.settings())
    assert (await client.get("/v1/export")).body == b"id;name"
