"""Tests of the transport with faulty services, on real sockets."""

import asyncio
import datetime as dt
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from bms import transport as transport_module
from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.endpoints import BY_NAME
from bms.errors import ConnectionFailed, MalformedResponse, Redirected, Timeout
from bms.transport import MAX_REDIRECTS, Request, Transport
from tests.bms.fake_services import TOKEN, Answering, FakeService, Serve, hang, saying

READ = BY_NAME["list_employees"]
CREATE = BY_NAME["create_employee"]


async def reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def truncated(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b'[{"id": 1')
    assert request.transport is not None
    request.transport.close()
    return response


broken_gzip = saying(body=b"not gzip", headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize("answer", [reset, truncated, broken_gzip])
@pytest.mark.parametrize("endpoint", [READ, CREATE], ids=str)
async def test_a_broken_response_fails_as_sent(
    transport: Transport, fake: FakeService, endpoint: Any, answer: Answering
) -> None:
    fake.respond = answer
    with pytest.raises(ConnectionFailed) as caught:
        await transport.send(Request(endpoint, "/x", body=None if endpoint.idempotent else b"{}"))
    assert caught.value.sent
    assert caught.value.__context__ is None
    if not endpoint.idempotent:
        assert len(fake.requests) == 1, "aiohttp must never repeat a create"


@pytest.mark.parametrize("endpoint", [READ, CREATE], ids=str)
async def test_consecutive_requests_share_a_connection(
    transport: Transport, fake: FakeService, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "CREATE_REUSE_S", 600)
    for _ in range(5):
        await transport.send(Request(endpoint, "/x", body=None if endpoint.idempotent else b"{}"))
    assert len(fake.connections) == 1


async def test_a_create_uses_no_idle_connection(
    open_transport: Any, fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "CREATE_REUSE_S", 0.01)
    transport = await open_transport(fake.settings())
    for _ in range(3):
        await transport.send(Request(CREATE, "/x", body=b"{}"))
        await asyncio.sleep(0.05)  # only time makes a connection idle
    assert len(fake.connections) == 3


async def test_reused_connections_fail_at_most_one_create(
    open_transport: Any, fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service drops a connection at its second request."""
    monkeypatch.setattr(transport_module, "CREATE_REUSE_S", 600)
    transport = await open_transport(fake.settings())
    known: list[object] = []

    async def answer_once(request: web.Request) -> web.StreamResponse:
        if request.transport in known:
            return await reset(request)
        known.append(request.transport)
        return web.json_response(1)

    fake.respond = answer_once
    failed = 0
    for _ in range(10):
        try:
            await transport.send(Request(CREATE, "/x", body=b"{}"))
        except ConnectionFailed:
            failed += 1
    assert failed == 1
    assert len(fake.requests) == 10
    assert len(fake.connections) == 9


async def test_every_request_on_the_wire_is_counted(
    transport: Transport, fake: FakeService
) -> None:
    """The counter includes a GET that aiohttp repeats after a reused connection broke."""
    await transport.send(Request(READ, "/x"))
    fake.respond = reset
    with pytest.raises(ConnectionFailed):
        await transport.send(Request(READ, "/x"))
    assert transport._counters.requests == len(fake.requests)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://nowhere.invalid"])
async def test_an_unreachable_service_fails_as_not_sent(
    open_transport: Any, fake: FakeService, url: str
) -> None:
    transport = await open_transport(fake.settings(base_url=url))
    for endpoint in (READ, CREATE):
        with pytest.raises(ConnectionFailed, match="no connection") as caught:
            await transport.send(Request(endpoint, "/x"))
        assert not caught.value.sent


async def test_the_timeout_includes_the_body(open_transport: Any, fake: FakeService) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"[")
        return await hang(request)

    fake.respond = drip
    transport = await open_transport(fake.settings(timeout=20.5))
    with pytest.raises(Timeout, match=r"within 20\.5 s") as caught:
        await transport.send(Request(READ, "/x"))
    assert caught.value.sent


async def test_a_response_that_is_not_http_fails_as_sent(
    open_transport: Any, fake: FakeService
) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/9.9 canary maybe\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = await open_transport(fake.settings(base_url=f"http://127.0.0.1:{port}"))
    with pytest.raises(ConnectionFailed) as caught:
        await transport.send(Request(CREATE, "/x"))
    assert caught.value.sent
    assert "canary" not in str(caught.value)
    server.close()
    await server.wait_closed()


def to(location: str, status: int = 302) -> Answering:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/there":
            return web.json_response({"query": dict(request.query)})
        return web.Response(status=status, headers={"Location": location})

    return answer


@pytest.mark.parametrize("host", ["", "//user:key@{}"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_read_follows_a_redirect_to_the_same_origin(
    transport: Transport, fake: FakeService, status: int, host: str
) -> None:
    fake.respond = to(host.format(fake.url.removeprefix("http://")) + "/there?a=1", status)
    assert b'{"a": "1"}' in (await transport.send(Request(READ, "/x", bearer=TOKEN))).body
    assert [r.headers["Authorization"] for r in fake.requests] == [f"Bearer {TOKEN}"] * 2


@pytest.mark.parametrize("scheme", ["http://", "//"])
async def test_no_request_follows_a_redirect_to_another_host(
    open_transport: Any, serve: Serve, scheme: str
) -> None:
    home, away = await serve(), await serve()
    home.respond = to(scheme + away.url.removeprefix("http://") + "/there")
    transport = await open_transport(home.settings())
    for endpoint in (READ, CREATE):
        with pytest.raises(Redirected) as caught:
            await transport.send(Request(endpoint, "/x", bearer=TOKEN))
        assert caught.value.status == 302
        assert away.url.removeprefix("http://") not in str(caught.value)
    assert away.requests == []


@pytest.mark.parametrize("location", ["ftp://h/", "http://", "http://[", "javascript:1", ""])
async def test_an_invalid_redirect_is_not_followed(
    transport: Transport, fake: FakeService, location: str
) -> None:
    fake.respond = to(location)
    with pytest.raises(Redirected):
        await transport.send(Request(READ, "/x"))


async def test_a_create_redirected_to_its_record_was_executed(
    transport: Transport, fake: FakeService
) -> None:
    """An ambiguous create is compared with the lists; other redirects concern all creates."""
    for there, status, error in (
        ("/x/7", 303, MalformedResponse),
        ("/x/7", 302, Redirected),
        ("/login", 303, Redirected),
        ("/there", 307, Redirected),
    ):
        fake.respond = to(there, status)
        with pytest.raises(error, match=str(status)):
            await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert len(fake.requests) == 4


async def test_a_redirect_loop_ends(transport: Transport, fake: FakeService) -> None:
    fake.respond = to("/x")
    with pytest.raises(Redirected, match="more than"):
        await transport.send(Request(READ, "/x"))
    assert len(fake.requests) == MAX_REDIRECTS + 1


async def test_a_proxy_receives_only_its_credentials(
    open_transport: Any, fake: FakeService
) -> None:
    proxy = fake.url.replace("http://", "http://me:pr0xy@")
    settings = fake.settings(base_url="http://service.invalid", proxies={"http": proxy})
    transport = await open_transport(settings)
    assert (await transport.send(Request(READ, "/x"))).status == 200
    assert fake.requests[0].headers["Host"] == "service.invalid"
    assert fake.requests[0].headers["Proxy-Authorization"].startswith("Basic ")


async def test_a_cache_on_the_way_is_asked_for_the_current_response(
    transport: Transport, fake: FakeService
) -> None:
    await transport.send(Request(READ, "/x"))
    assert fake.requests[0].headers["Cache-Control"] == "no-cache"


async def test_cookies_are_not_stored(transport: Transport, fake: FakeService) -> None:
    fake.respond = saying(headers={"Set-Cookie": "session=1"})
    await transport.send(Request(READ, "/x"))
    await transport.send(Request(READ, "/x"))
    assert "Cookie" not in fake.requests[1].headers


async def test_the_response_has_date_and_retry_after(
    transport: Transport, fake: FakeService
) -> None:
    when = {"Date": "Tue, 31 Mar 2026 12:00:00 GMT", "Retry-After": "7"}
    fake.respond = saying(status=503, headers=when, body=b"canary")
    answer = await transport.send(Request(READ, "/x"))
    moment = dt.datetime(2026, 3, 31, 12, tzinfo=dt.UTC)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
    assert answer.served_at == moment.timestamp()
    assert "canary" not in repr(answer)


async def test_clients_share_the_limit_of_their_limiter(fake: FakeService) -> None:
    at_work = most = 0
    four = asyncio.Barrier(4)

    async def slow(_request: web.Request) -> web.StreamResponse:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await four.wait()
        await asyncio.sleep(0.01)  # time for a fifth request, which would be wrong
        at_work -= 1
        return web.json_response([])

    fake.respond = slow
    settings = fake.settings(concurrency=4)
    shared = ConcurrencyLimiter(4)
    one, other = (Transport(settings, Counters(), shared) for _ in range(2))
    await asyncio.gather(one.open(), other.open())
    await asyncio.gather(*(each.send(Request(READ, "/x")) for each in (one, other) * 10))
    await asyncio.gather(one.close(), other.close())
    assert most == 4


@pytest.mark.parametrize(
    "answer", [saying(status=429), saying(status=503), hang], ids=["429", "503", "timeout"]
)
async def test_distress_lowers_the_limit(
    open_transport: Any, fake: FakeService, answer: Answering
) -> None:
    fake.respond = answer
    transport = await open_transport(fake.settings(concurrency=8))
    with suppress(Timeout):
        await transport.send(Request(READ, "/x"))
    assert transport._limiter.limit == 4
