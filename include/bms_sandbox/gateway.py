"""Gateway in front of the service that times out while the service still executes the request."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive

from bms_sandbox.errors import Reply, ServiceError, error_reply
from bms_sandbox.faults import Fault
from bms_sandbox.service import Service

TEXTS = {
    429: ("too_many_requests", "too many requests"),
    502: ("bad_gateway", "bad gateway"),
    503: ("unavailable", "the service is unavailable"),
    504: ("gateway_timeout", "gateway timeout"),
}
Serve = Callable[[Receive], Awaitable[Reply]]


async def through_gateway(service: Service, fault: Fault, serve: Serve, receive: Receive) -> Reply:
    """Return the response of the service if it arrives within `fault.seconds`, else an error.

    The service executes the request in any case; the execution takes `fault.origin_seconds`.
    """
    body = await _body(receive)

    async def origin() -> Reply:
        await asyncio.sleep(fault.origin_seconds)
        return await serve(_replayed(body))

    work = asyncio.create_task(origin())
    service.behind_gateway.add(work)
    work.add_done_callback(service.behind_gateway.discard)
    done, _ = await asyncio.wait({work}, timeout=fault.seconds)
    if done:
        return work.result()
    return error_reply(refusal(fault.status or 504, fault.retry_after), service.dialect)


def refusal(status: int, retry_after: float | None) -> ServiceError:
    """Return an error of this status, with Retry-After for 429 and 503."""
    code, text = TEXTS.get(status, ("refused", "refused"))
    named = retry_after if status in (429, 503) else None
    return ServiceError(status, code, text, retry_after=named)


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


def _replayed(body: bytes) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive
