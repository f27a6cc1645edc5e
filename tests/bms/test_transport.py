"""Odd behaviour of the wire, on real sockets."""

import asyncio
import datetime as dt
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization

from bms import transport as transport_module
from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.endpoints import BY_NAME
from bms.errors import ConnectionFailed, InvalidTlsFile, Redirected, Timeout
from bms.settings import ClientSettings
from bms.transport import MAX_REDIRECTS, Request, Transport
from tests.bms.fake_services import TOKEN, Odd, Serve
from tests.certificates import self_signed

READ = BY_NAME["list_employees"]
CREATE = BY_NAME["create_employee"]

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture
async def open_transport() -> Any:
    opened: list[Transport] = []

    async def opening(settings: ClientSettings) -> Transport:
        transport = Transport(settings, Counters())
        opened.append(transport)
        await transport.open()
        return transport

    yield opening
    for transport in opened:
        await transport.close()


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


async def broken_gzip(_request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"not gzip", headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize("answer", [reset, truncated, broken_gzip])
@pytest.mark.parametrize("endpoint", [READ, CREATE], ids=str)
async def test_a_broken_answer_says_that_the_request_was_sent(
    open_transport: Any, odd: Odd, endpoint: Any, answer: Answering
) -> None:
    odd.answer = answer
    transport = await open_transport(odd.settings())
    with pytest.raises(ConnectionFailed) as caught:
        await transport.send(Request(endpoint, "/x", body=None if endpoint.idempotent else b"{}"))
    assert caught.value.sent
    assert caught.value.__context__ is None
    if not endpoint.idempotent:
        assert len(odd.asked) == 1, "aiohttp must never send a create again by itself"


async def test_creates_in_a_row_share_a_connection(open_transport: Any, odd: Odd) -> None:
    transport = await open_transport(odd.settings())
    for _ in range(5):
        await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert len(odd.connections) == 1


async def test_a_create_takes_no_connection_that_idled(
    open_transport: Any, odd: Odd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "CREATE_REUSE_S", 0.01)
    transport = await open_transport(odd.settings())
    for _ in range(3):
        await transport.send(Request(CREATE, "/x", body=b"{}"))
        await asyncio.sleep(0.05)  # idles, which only time does
    assert len(odd.connections) == 3


async def test_one_create_at_most_is_in_doubt_for_a_kept_connection(
    open_transport: Any, odd: Odd
) -> None:
    """The service drops a connection that brings a second request."""
    known: list[object] = []

    async def answer_once(request: web.Request) -> web.StreamResponse:
        if request.transport in known:
            return await reset(request)
        known.append(request.transport)
        return web.json_response(1)

    odd.answer = answer_once
    transport = await open_transport(odd.settings())
    failed = 0
    for _ in range(10):
        try:
            await transport.send(Request(CREATE, "/x", body=b"{}"))
        except ConnectionFailed:
            failed += 1
    assert failed == 1
    assert len(odd.asked) == 10
    assert len(odd.connections) == 9


async def test_reads_keep_their_connection(open_transport: Any, odd: Odd) -> None:
    transport = await open_transport(odd.settings())
    for _ in range(5):
        await transport.send(Request(READ, "/x"))
    assert len(odd.connections) == 1


async def test_every_request_on_the_wire_is_counted(open_transport: Any, odd: Odd) -> None:
    """A GET that aiohttp sends again by itself, after a kept connection broke, is counted too."""
    transport = await open_transport(odd.settings())
    await transport.send(Request(READ, "/x"))
    odd.answer = reset
    with pytest.raises(ConnectionFailed):
        await transport.send(Request(READ, "/x"))
    assert transport._counters.requests == len(odd.asked)


async def test_a_service_that_is_not_there_was_sent_nothing(open_transport: Any, odd: Odd) -> None:
    settings = odd.settings()
    await odd.stop()
    transport = await open_transport(settings)
    for endpoint in (READ, CREATE):
        with pytest.raises(ConnectionFailed, match="no connection") as caught:
            await transport.send(Request(endpoint, "/x"))
        assert not caught.value.sent


async def test_a_name_that_does_not_resolve_was_sent_nothing(open_transport: Any, odd: Odd) -> None:
    transport = await open_transport(odd.settings(base_url="http://nowhere.invalid"))
    with pytest.raises(ConnectionFailed) as caught:
        await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert not caught.value.sent


async def test_a_slow_body_runs_into_the_time_of_the_whole_request(
    open_transport: Any, odd: Odd
) -> None:
    stop = asyncio.Event()

    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"[")
        await stop.wait()
        return response

    odd.answer = drip
    transport = await open_transport(odd.settings(timeout=0.2))
    with pytest.raises(Timeout, match=r"within 0\.2 s") as caught:
        await transport.send(Request(READ, "/x"))
    assert caught.value.sent
    stop.set()


async def test_an_answer_that_is_not_http_says_that_the_request_was_sent(
    open_transport: Any, odd: Odd
) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/9.9 canary maybe\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = await open_transport(odd.settings(base_url=f"http://127.0.0.1:{port}"))
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


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_read_follows_a_redirect_at_home(
    open_transport: Any, odd: Odd, status: int
) -> None:
    odd.answer = to("/there?a=1", status)
    transport = await open_transport(odd.settings())
    answer = await transport.send(Request(READ, "/x", bearer=TOKEN))
    assert answer.body == b'{"query": {"a": "1"}}'
    assert [r.headers["Authorization"] for r in odd.asked] == [f"Bearer {TOKEN}"] * 2


@pytest.mark.parametrize("scheme", ["http://", "//"])
async def test_nothing_follows_a_redirect_to_another_host(
    open_transport: Any, serve: Serve, scheme: str
) -> None:
    home, away = await serve(), await serve()
    home.answer = to(scheme + away.url.removeprefix("http://") + "/there")
    transport = await open_transport(home.settings())
    for endpoint in (READ, CREATE):
        with pytest.raises(Redirected) as caught:
            await transport.send(Request(endpoint, "/x", bearer=TOKEN))
        assert caught.value.status == 302
        assert away.url.removeprefix("http://") not in str(caught.value)
    assert away.asked == []


@pytest.mark.parametrize("location", ["ftp://h/", "http://", "http://[", "javascript:1", ""])
async def test_a_redirect_to_nowhere_is_not_followed(
    open_transport: Any, odd: Odd, location: str
) -> None:
    odd.answer = to(location)
    transport = await open_transport(odd.settings())
    with pytest.raises(Redirected):
        await transport.send(Request(READ, "/x"))


async def test_a_create_follows_no_redirect_at_all(open_transport: Any, odd: Odd) -> None:
    odd.answer = to("/there", 307)
    transport = await open_transport(odd.settings())
    with pytest.raises(Redirected):
        await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert len(odd.asked) == 1


async def test_redirects_in_a_circle_end(open_transport: Any, odd: Odd) -> None:
    odd.answer = to("/x")
    transport = await open_transport(odd.settings())
    with pytest.raises(Redirected, match="more than"):
        await transport.send(Request(READ, "/x"))
    assert len(odd.asked) == MAX_REDIRECTS + 1


async def test_a_proxy_is_used_and_shown_its_own_credentials_only(
    open_transport: Any, odd: Odd
) -> None:
    proxy = odd.url.replace("http://", "http://me:pr0xy@")
    settings = odd.settings(base_url="http://service.invalid", proxies={"http": proxy})
    transport = await open_transport(settings)
    assert (await transport.send(Request(READ, "/x"))).status == 200
    assert odd.asked[0].headers["Host"] == "service.invalid"
    assert odd.asked[0].headers["Proxy-Authorization"].startswith("Basic ")


async def test_cookies_are_not_kept(open_transport: Any, odd: Odd) -> None:
    async def biscuit(_request: web.Request) -> web.StreamResponse:
        return web.Response(headers={"Set-Cookie": "session=1"})

    odd.answer = biscuit
    transport = await open_transport(odd.settings())
    await transport.send(Request(READ, "/x"))
    await transport.send(Request(READ, "/x"))
    assert "Cookie" not in odd.asked[1].headers


async def test_date_and_retry_after_are_handed_on(open_transport: Any, odd: Odd) -> None:
    async def busy(_request: web.Request) -> web.StreamResponse:
        when = {"Date": "Tue, 31 Mar 2026 12:00:00 GMT", "Retry-After": "7"}
        return web.Response(status=503, headers=when, body=b"canary")

    odd.answer = busy
    transport = await open_transport(odd.settings())
    answer = await transport.send(Request(READ, "/x"))
    moment = dt.datetime(2026, 3, 31, 12, tzinfo=dt.UTC)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
    assert answer.served_at == moment.timestamp()
    assert "canary" not in repr(answer)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls") / "service.pem")


@pytest.fixture
async def secure(serve: Serve, certificate: Path) -> Odd:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return await serve(ssl_context=context)


async def test_an_unknown_certificate_is_refused_before_anything_is_sent(
    open_transport: Any, secure: Odd
) -> None:
    transport = await open_transport(secure.settings())
    with pytest.raises(ConnectionFailed, match="Certificate") as caught:
        await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert not caught.value.sent
    assert secure.asked == []


@pytest.mark.parametrize("verify", ["own", False])
async def test_a_certificate_is_trusted_by_its_file_or_not_looked_at(
    open_transport: Any, secure: Odd, certificate: Path, verify: Any
) -> None:
    chosen = str(certificate) if verify == "own" else verify
    transport = await open_transport(secure.settings(verify=chosen))
    assert (await transport.send(Request(READ, "/x"))).status == 200


async def test_a_client_certificate_is_shown(
    open_transport: Any, secure: Odd, certificate: Path
) -> None:
    shown: list[Any] = []

    async def look(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        shown.append(request.transport.get_extra_info("peercert"))
        return web.json_response([])

    secure.answer = look
    path = str(certificate)
    transport = await open_transport(secure.settings(verify=path, cert=(path, path)))
    await transport.send(Request(READ, "/x"))
    assert shown[0]["serialNumber"] == "01"


@pytest.fixture
def files(tmp_path: Path, certificate: Path) -> Path:
    """A folder of files that are no certificate to show or to trust."""
    key = serialization.load_pem_private_key(certificate.read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    trusted = certificate.read_bytes().partition(b"-----BEGIN PRIVATE")[0]
    (tmp_path / "locked.pem").write_bytes(trusted + locked)
    (tmp_path / "canary.pem").write_text("canary")
    return tmp_path


@pytest.mark.parametrize("setting", ["verify", "cert"])
@pytest.mark.parametrize("name", ["absent.pem", "canary.pem", "\0canary", "canary" * 60])
async def test_a_file_of_tls_that_can_t_be_used_is_named_by_its_setting_and_not_quoted(
    open_transport: Any, odd: Odd, files: Path, setting: str, name: str
) -> None:
    given = odd.settings(base_url="https://127.0.0.1:9", **{setting: str(files / name)})
    with pytest.raises(InvalidTlsFile, match=f"^{setting} names no usable PEM file") as caught:
        await open_transport(given)
    assert (caught.value.setting, caught.value.retriable) == (setting, False)
    assert caught.value.__context__ is None
    assert "canary" not in str(caught.value)
    assert ("No such file" in str(caught.value)) is (name == "absent.pem")


async def test_a_locked_key_can_t_be_used_and_nobody_is_asked_for_its_password(
    open_transport: Any, odd: Odd, files: Path
) -> None:
    given = odd.settings(base_url="https://127.0.0.1:9", cert=str(files / "locked.pem"))
    with pytest.raises(InvalidTlsFile, match=r"^cert names no usable PEM file"):
        await open_transport(given)


async def test_a_bundle_of_the_environment_that_can_t_be_used_is_told_as_such(
    open_transport: Any, odd: Odd, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(files / "absent.pem"))
    given = odd.settings(base_url="https://127.0.0.1:9", trust_env=True)
    with pytest.raises(InvalidTlsFile, match=r"^verify defers to REQUESTS_CA_BUNDLE or"):
        await open_transport(given)


async def test_clients_that_share_places_have_no_more_in_flight_than_one(odd: Odd) -> None:
    at_work = most = 0

    async def slow(_request: web.Request) -> web.StreamResponse:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.01)
        at_work -= 1
        return web.json_response([])

    odd.answer = slow
    settings = odd.settings(concurrency=4)
    shared = ConcurrencyLimiter(4)
    one, other = (Transport(settings, Counters(), shared) for _ in range(2))
    await asyncio.gather(one.open(), other.open())
    await asyncio.gather(*(each.send(Request(READ, "/x")) for each in (one, other) * 10))
    await asyncio.gather(one.close(), other.close())
    assert most == 4


@pytest.mark.parametrize("status", [429, 503])
async def test_distress_lowers_what_is_in_flight(odd: Odd, status: int) -> None:
    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status)

    odd.answer = refuse
    shared = ConcurrencyLimiter(8)
    transport = Transport(odd.settings(concurrency=8), Counters(), shared)
    await transport.open()
    await transport.send(Request(READ, "/x"))
    await transport.close()
    assert shared.limit == 4


async def test_an_answer_that_does_not_come_lowers_what_is_in_flight(odd: Odd) -> None:
    async def never(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    odd.answer = never
    shared = ConcurrencyLimiter(8)
    transport = Transport(odd.settings(concurrency=8, timeout=0.05), Counters(), shared)
    await transport.open()
    with pytest.raises(Timeout):
        await transport.send(Request(READ, "/x"))
    await transport.close()
    assert shared.limit == 4
