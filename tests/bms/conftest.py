"""Fixtures of services and clients: the sandbox process, and fake services with custom responses."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from aiohttp import web

from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms.transport import Transport
from bms_sandbox.serve import DEMO, running
from tests.bms.fake_services import INVOICE, SECRET, FakeService, Open, Sandbox, Serve, Sleeps


@pytest.fixture(scope="session")
def service() -> Iterator[Sandbox]:
    given = replace(DEMO, secret=SECRET)
    with running(options=("--today", "2026-03-31"), credentials=given) as box:
        yield Sandbox(box.url, given)


@pytest.fixture(scope="session")
def published(service: Sandbox) -> Any:
    """The sandbox's OpenAPI document."""
    return httpx.get(f"{service.url}/openapi.json", trust_env=False).json()


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


@pytest.fixture
async def open_client(sleeps: Sleeps) -> AsyncIterator[Open]:
    """Open clients whose waits take no time; close them after the test."""
    opened: list[Client] = []

    async def opening(settings: ClientSettings, **given: Any) -> Client:
        client = Client(settings, **{"sleep": sleeps} | given)
        opened.append(client)
        return await client.__aenter__()

    yield opening
    for client in opened:
        await client.__aexit__(None, None, None)


@pytest.fixture
async def client(sandbox: Sandbox, open_client: Open) -> Client:
    return await open_client(sandbox.settings())


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    runners: list[web.AppRunner] = []

    async def serving(**site: Any) -> FakeService:
        fake = FakeService()
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", fake.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0, **site).start()
        fake.stop = runner.cleanup
        host, port = runner.addresses[0][:2]
        fake.url = f"{'https' if site else 'http'}://{host}:{port}"
        return fake

    yield serving
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def fake(serve: Serve) -> FakeService:
    return await serve()


@pytest.fixture
def invoice() -> dict[str, Any]:
    return dict(INVOICE)


@pytest.fixture
async def open_transport() -> Any:
    opened: list[Transport] = []

    async def opening(settings: ClientSettings, **given: Any) -> Transport:
        transport = Transport(settings, Counters(), **given)
        opened.append(transport)
        await transport.open()
        return transport

    yield opening
    for transport in opened:
        await transport.close()


@pytest.fixture
async def transport(open_transport: Any, fake: FakeService) -> Transport:
    """A transport to the fake service."""
    opened: Transport = await open_transport(fake.settings())
    return opened
