"""Tests of `before_send`, on real sockets."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from bms.endpoints import BY_NAME
from bms.transport import Request
from tests.bms.fake_services import FakeService, Serve
from tests.certificates import server_context

CREATE = BY_NAME["create_employee"]


class Front:
    """A relay that accepts at once, forwards after a delay and counts open connections."""

    def __init__(self, behind: str) -> None:
        self._behind = URL(behind)
        self.open = 0
        self.closed = asyncio.Event()
        self.delay = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            await asyncio.sleep(self.delay)
            assert self._behind.port is not None
            there, back = await asyncio.open_connection("127.0.0.1", self._behind.port)
            await asyncio.gather(_pipe(reader, back), _pipe(there, writer))
        finally:
            self.open -= 1
            writer.close()
            self.closed.set()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()


@pytest.fixture
async def secure(serve: Serve, certificate: Path) -> FakeService:
    return await serve(ssl_context=server_context(certificate))


@pytest.fixture
async def front(secure: FakeService) -> AsyncIterator[Front]:
    """A relay in front of `secure`, which gets the relay's address."""
    relay = Front(secure.url)
    async with await asyncio.start_server(relay.serve, "127.0.0.1", 0) as server:
        secure.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield relay


async def test_before_send_runs_after_tcp_and_tls_and_before_the_first_byte(
    open_transport: Any, secure: FakeService, front: Front
) -> None:
    transport = await open_transport(secure.settings(verify=False))
    front.delay = 0.3
    started, seen = time.monotonic(), []

    async def before_send() -> None:
        seen.append((time.monotonic() - started, len(secure.requests)))
        await asyncio.sleep(0.05)  # long enough for a service to receive a byte
        seen.append((time.monotonic() - started, len(secure.requests)))

    for _ in range(2):
        await transport.send(Request(CREATE, "/x", body=b"{}", before_send=before_send))
    assert [asked for _, asked in seen] == [0, 0, 1, 1]
    assert seen[0][0] >= front.delay
    assert front.open == 0 or len(secure.connections) == 1, (
        "the second create uses the same connection"
    )


async def test_before_send_runs_after_the_wait_for_the_limiter(
    open_transport: Any, fake: FakeService
) -> None:
    served = asyncio.Event()

    async def slowly(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.1)
        served.set()
        return web.json_response(1)

    fake.respond = slowly
    transport = await open_transport(fake.settings(concurrency=1))
    answered: list[bool] = []

    async def before_send() -> None:
        answered.append(served.is_set())

    sends = [
        transport.send(Request(CREATE, "/x", body=b"{}", before_send=before_send)) for _ in range(2)
    ]
    await asyncio.gather(*sends)
    assert answered == [False, True]


@pytest.mark.parametrize(
    "error",
    [RuntimeError, OSError, TimeoutError, ConnectionResetError, aiohttp.ClientOSError],
)
@pytest.mark.parametrize("reused", [False, True])
async def test_a_before_send_that_raises_sends_nothing_and_closes_the_connection(
    open_transport: Any, secure: FakeService, front: Front, error: type[Exception], reused: bool
) -> None:
    transport = await open_transport(secure.settings(verify=False, concurrency=1))
    stop = error("stopped")

    async def refuse() -> None:
        raise stop

    if reused:
        await transport.send(Request(CREATE, "/x", body=b"{}"))
    before = len(secure.requests)
    with pytest.raises(error) as caught:
        await transport.send(Request(CREATE, "/x", body=b"{}", before_send=refuse))
    assert caught.value is stop
    assert len(secure.requests) == before
    await front.closed.wait()
    answer = await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert answer.status == 200, "the limiter's permit and the connector's slot are free again"


async def test_a_cancelled_before_send_sends_nothing_and_closes_the_connection(
    open_transport: Any, secure: FakeService, front: Front
) -> None:
    transport = await open_transport(secure.settings(verify=False, concurrency=1))

    asked = asyncio.Event()

    async def hang() -> None:
        asked.set()
        await asyncio.Event().wait()

    send = asyncio.create_task(transport.send(Request(CREATE, "/x", body=b"{}", before_send=hang)))
    await asked.wait()
    send.cancel()
    with pytest.raises(asyncio.CancelledError):
        await send
    assert secure.requests == []
    await front.closed.wait()
    await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert len(secure.requests) == 1
