"""Tests with canaries: no text of the client has a secret, a token or personal data."""

import asyncio
import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import pytest
from aiohttp import web

from bms.client import Client
from bms.errors import BmsError
from tests.bms.fake_services import SECRET, TOKEN, FakeService, Open, Sandbox, hang
from tests.bms.test_transport import reset

PERSONAL = "Canary-Lefèvre-1850578006048"
BEARER = "canary-bearer-55d1"
CANARIES = (SECRET, TOKEN, PERSONAL, BEARER, json.dumps(PERSONAL)[1:-1])
BODY = {"last_name": PERSONAL, "postal_code": PERSONAL}
GOOD = {"total_excl_vat": 1, "total_vat": 0, "total_incl_vat": 1, "total_due": 0}

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


def saying(status: int, body: Any, **headers: str) -> Answering:
    async def answer(_request: web.Request) -> web.StreamResponse:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(status=status, body=content, headers=headers)

    return answer


async def cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(f'[{{"last_name": "{PERSONAL}"'.encode())
    assert request.transport is not None
    request.transport.close()
    return response


ECHO = {"error": PERSONAL, "token": TOKEN, "secret": SECRET}
WAYS: dict[str, Answering] = {
    **{str(s): saying(s, ECHO) for s in (400, 401, 403, 404, 408, 409, 422, 429, 500, 503)},
    "redirect": saying(302, ECHO, Location=f"http://elsewhere.invalid/?t={TOKEN}"),
    "not json": saying(200, PERSONAL.encode()),
    "not utf-8": saying(200, b'[{"id_invoice": 1, "client_name": "' + PERSONAL.encode("latin-1")),
    "wrong envelope": saying(200, ECHO),
    "a bare text": saying(200, PERSONAL),
    "bad rows": saying(200, [{"id_invoice": PERSONAL, "client_name": PERSONAL} | GOOD]),
    "bad money": saying(
        200, [{"id_invoice": 1, "client_name": PERSONAL} | GOOD | {"total_due": PERSONAL}]
    ),
    "bad page": saying(200, {"total_pages": PERSONAL, "data": [{"id": PERSONAL}]}),
    "bad detail": saying(200, {"id": PERSONAL, "guid_employee": 1, "last_name": PERSONAL}),
    "reset": reset,
    "cut": cut,
    "hang": hang,
}


@pytest.fixture
async def watched(fake: FakeService, open_client: Open, caplog: pytest.LogCaptureFixture) -> Client:
    caplog.set_level(logging.DEBUG)
    asyncio.get_running_loop().set_debug(True)  # the loop's own log lines too
    return await open_client(fake.settings(attempts=2, token_bearer_secret=BEARER, time_zone="UTC"))


def told(error: BaseException, *others: object) -> str:
    """Return all text of an error: message, repr, and its chain with tracebacks."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__  # also what `from None` would hide
    texts = [f"{e} {e!r} {e.args!r} {vars(e)!r}" for e in chain]
    texts += traceback.format_exception(error)
    return "\n".join([*texts, *(f"{other} {other!r}" for other in others)])


CALLS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "list_client_invoices": lambda c: c.list_client_invoices(
        id_entity=1, start_date=date(2026, 3, 1), end_date=date(2026, 3, 1)
    ),
    "list_employees": lambda c: c.list_employees(id_entity=1),
    "read_employee": lambda c: c.read_employee("0b2c4e1a-7f3a-4d2e-9a51-52f7e8a1c001"),
    "list_contacts": lambda c: c.list_contacts(filter="ALL"),
    "read_contact": lambda c: c.read_contact(1),
    "list_consultants": lambda c: c.list_consultants(type=PERSONAL),
    "read_consultant": lambda c: c.read_consultant(1),
    "create_employee": lambda c: c.create_employee({**BODY, "social_security_number": PERSONAL}),
    "create_contact": lambda c: c.create_contact({**BODY, "contact_domains": []}),
    "create_consultant": lambda c: c.create_consultant(BODY),
}


@pytest.mark.parametrize("way", WAYS)
async def test_no_failed_operation_reveals_a_canary(
    watched: Client, fake: FakeService, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    fake.respond = WAYS[way]
    failed: list[tuple[str, str]] = []
    for name, call in CALLS.items():
        shown = ""
        try:
            answer = await call(watched)
            shown = f"{answer} {answer!r} {getattr(answer, 'rejected', '')!r}"
            answer.require_all()
        except BmsError as error:
            failed.append((name, error.endpoint))
            shown += told(error, watched, watched.settings, watched.counters)
        for canary in CANARIES:
            assert canary not in shown
    assert len(failed) >= len(CALLS) - 2, "this way was meant to fail"
    assert all(name == endpoint for name, endpoint in failed)
    for canary in CANARIES:
        assert canary not in caplog.text


@pytest.mark.parametrize("way", WAYS)
async def test_no_failed_token_request_reveals_a_canary(
    watched: Client, fake: FakeService, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    fake.respond_token = WAYS[way]
    with pytest.raises(BmsError) as caught:
        await watched.access()
    shown = told(caught.value, watched, watched._tokens) + caplog.text
    for canary in CANARIES:
        assert canary not in shown


async def test_no_success_reveals_a_canary(
    sandbox: Sandbox, open_client: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens: list[str] = []

    async def on_token(token: str) -> None:
        tokens.append(token)

    client = await open_client(sandbox.settings(), on_token=on_token)
    made = await client.create_employee(
        {"id_entity": 1, "first_name": PERSONAL, "last_name": PERSONAL}
    )
    rows = await client.list_employees(id_entity=1, filter="ALL")
    detail = await client.read_employee(made.guid_employee)
    access = await client.access()
    assert detail.record.last_name == PERSONAL
    held = [client, client.settings, client.counters, access, client._tokens._current]
    shown = repr([made, rows, rows.records, detail, held]) + caplog.text + str(rows.records[-1])
    for canary in (*CANARIES, *tokens):
        assert canary not in shown


async def test_no_unreachable_proxy_reveals_its_credentials(
    fake: FakeService, open_client: Open
) -> None:
    settings = fake.settings(proxies=f"http://me:{SECRET}@127.0.0.1:1", attempts=1)
    client = await open_client(settings)
    with pytest.raises(BmsError) as caught:
        await client.access()
    assert SECRET not in told(caught.value, client, settings)
