"""Services for the client's tests: the sandbox over HTTP, and a fake with custom responses."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date
from decimal import Decimal
from typing import Any

from aiohttp import web

from bms.client import Client
from bms.settings import ClientSettings
from bms_sandbox import serve

TOKEN = "canary-token-91c2"
SECRET = "canary-secret-7f3a"
INVOICE = {
    "id_invoice": 1,
    "total_excl_vat": 100.0,
    "total_vat": 20.0,
    "total_incl_vat": 120.0,
    "total_due": 0,
}
DAYS: dict[str, Any] = {
    "id_entity": 1,
    "start_date": date(2026, 3, 2),
    "end_date": date(2026, 3, 6),
}
EMPLOYEE = {"id_entity": 1, "first_name": "Zoé", "last_name": "Lefèvre", "salary_base": 41000.5}
CONTACT = {"first_name": "Anaïs", "last_name": "Noël", "email": "anais@example.com"}
CONSULTANT = {"first_name": "Loïc", "last_name": "Petit", "rate": Decimal("612.50")}

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Sandbox(serve.Sandbox):
    """The sandbox with settings for its client."""

    def invoice_ids(self) -> set[int]:
        """Return the ids of all invoices in `DAYS`."""
        return {row["id_invoice"] for row in self.invoices(*DAYS.values())}

    def settings(self, **given: Any) -> ClientSettings:
        return ClientSettings(**service_settings(self.url) | given)


def service_settings(url: str) -> dict[str, Any]:
    return {
        "base_url": url,
        "client_id": "demo-client",
        "application_id": "demo-application",
        "secret": SECRET,
        "trust_env": False,
    }


def saying(**given: Any) -> Answering:
    """Return a service that always gives this response."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(**given)

    return answer


EMPTY_ARRAY = saying(body=b"[]", content_type="application/json")


class FakeService:
    """A service with custom responses that records its requests."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.Request] = []
        self.connections: set[object] = set()
        self.respond: Answering = EMPTY_ARRAY
        self.token: dict[str, Any] = {
            "access_token": TOKEN,
            "token_type": "Bearer",
            "expires_in": 3600,
        }

        self.respond_token: Answering = self.issue_token
        self.stop: Callable[[], Awaitable[None]] = self.not_started

    @staticmethod
    async def not_started() -> None:
        raise RuntimeError("the service was not started")

    async def issue_token(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response(self.token)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        if request.path.endswith("/v1/token"):
            return await self.respond_token(request)
        self.requests.append(request)
        self.connections.add(request.transport)  # an id could be that of a closed one
        return await self.respond(request)

    def settings(self, **given: Any) -> ClientSettings:
        return ClientSettings(**service_settings(self.url) | given)


def advance(seconds: float) -> None:
    """Move the clock of the running loop on: waits end at once, on any machine."""
    loop = asyncio.get_running_loop()
    clock = loop.time
    vars(loop)["time"] = lambda: clock() + seconds


async def hang(_request: web.Request) -> web.StreamResponse:
    """Never respond: a request that arrived times out."""
    advance(3600)
    await asyncio.Event().wait()
    return web.Response()


class Sleeps(list[float]):
    """Replacement for asyncio.sleep that records the waits and takes no time."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


Open = Callable[..., Awaitable[Client]]


Serve = Callable[..., Awaitable[FakeService]]
