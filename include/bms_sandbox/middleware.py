"""ASGI middleware of the service: counts requests, injects faults, authorises, caches responses.

Faults act before a request is read or before its response is sent; the operations contain no fault.
"""

import asyncio
from fnmatch import fnmatchcase
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bms_sandbox import transport
from bms_sandbox.errors import Reply, ServiceError, error_reply
from bms_sandbox.faults import Fault, RateLimit
from bms_sandbox.gateway import refusal, through_gateway
from bms_sandbox.ground_truth import RequestRecord
from bms_sandbox.operations import Operation, operation_of
from bms_sandbox.response_cache import ResponseCache
from bms_sandbox.service import Service
from bms_sandbox.tokens import bearer
from bms_sandbox.wrong_responses import (
    WRONG_RESPONSES,
    is_empty_list,
    question_of,
    rewritten,
)

SLOW_CHUNKS = 20
CONTROL = "/_sandbox"
REFUSALS = {"429": 429, "503": 503, "read_only": 503, "rate_limit": 429}
"""Faults that refuse a request before its execution, with their default status."""


class ServiceMiddleware:
    """Route /_sandbox/... to the control application and all other requests to the service."""

    def __init__(self, service: Service, operations: ASGIApp, control: ASGIApp) -> None:
        self.service = service
        self.operations = operations
        self.control = control
        self.answers = ResponseCache()
        self.rate_limit = RateLimit()
        self._latest: dict[str, Reply] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request (ASGI)."""
        if scope["type"] != "http":
            raise RuntimeError(f"the sandbox serves HTTP only, not {scope['type']}")
        if scope["path"].startswith(CONTROL + "/"):
            await self.control(scope, receive, send)
            return
        dialect = self.service.dialect
        known = scope["path"].startswith(dialect.base_path + "/")
        path = scope["path"].removeprefix(dialect.base_path)
        operation = operation_of(scope["method"], path) if known else None
        scope = {**scope, "path": path, "raw_path": path.encode()}
        if operation and dialect.ignored_parameters:
            scope["query_string"] = self._without_ignored(operation, scope["query_string"])
        name = operation.name if operation else "unknown"
        with self.service.ground_truth.request(name) as request:
            if operation:
                await self._serve(operation, request, scope, receive, send)
            elif known:
                await self._finish(request, await self._run(scope, receive), send)
            else:
                error = ServiceError(404, "unknown_path", "no such path")
                await self._finish(request, error_reply(error, dialect), send)

    async def _serve(
        self,
        operation: Operation,
        request: RequestRecord,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Serve a request of `operation` with the faults that fire."""
        service, take = self.service, self.service.faults.take
        await self._delay(operation)
        if take("reset_before_read", operation.name):
            request.outcome = "reset_before_read"
            await transport.reset(scope, receive)
            return
        if take("reset_after_read", operation.name):
            request.outcome = "reset_after_read"
            while (await receive()).get("more_body"):
                pass
            await transport.reset(scope, receive)
            return
        reply = await self._reply(operation, scope, receive)
        if operation.creates and reply.status < 300:  # noqa: PLR2004 -> executed
            if take("commit_then_lose_reply", operation.name):
                request.outcome = "reply_lost"
                await transport.reset(scope, receive)
                return
            if take("commit_then_500", operation.name):
                failure = ServiceError(500, "internal_error", "something went wrong")
                reply = error_reply(failure, service.dialect)
            reply = self._stale(operation, reply)
        elif reply.status == 200:  # noqa: PLR2004 -> a response with a body
            self._remember(scope, reply)
            reply = self._wrong(operation, scope, self._stale(operation, reply))
        forms = service.shown_forms
        if reply.status < 300 and reply.body and forms.touches(operation.name):  # noqa: PLR2004 -> a success
            change = partial(forms.changed_content, operation.name)
            reply = rewritten(reply, change, service.encoder.encode)
        await self._send(operation, request, reply, scope, receive, send)

    async def _reply(self, operation: Operation, scope: Scope, receive: Receive) -> Reply:
        """Return the response of the service, or of a gateway in front of the service."""

        async def serve(receive: Receive) -> Reply:
            try:
                self._admit(operation, dict(scope["headers"]))
                return self._remembered(scope) or await self._run(scope, receive)
            except ServiceError as error:
                return error_reply(error, self.service.dialect)

        if fault := self.service.faults.take("gateway", operation.name):
            return await through_gateway(self.service, fault, serve, receive)
        return await serve(receive)

    async def _delay(self, operation: Operation) -> None:
        fault = self.service.faults.take("latency", operation.name)
        if wait := self.service.latency + (fault.seconds if fault else 0):
            await asyncio.sleep(wait)

    def _admit(self, operation: Operation, headers: dict[bytes, bytes]) -> None:
        """Raise `ServiceError` for a request that is refused by a fault, the rate limit or authorisation."""
        service, take = self.service, self.service.faults.take
        for kind, status in REFUSALS.items():
            if kind == "read_only" and not operation.creates:
                continue
            if fault := take(kind, operation.name):
                raise refusal(fault.status or status, fault.retry_after)
        if service.dialect.rate_limit:
            wait = self.rate_limit.wait_of(service.dialect.rate_limit)
            if wait:
                raise refusal(429, wait)
        if operation.scope is None:
            service.tokens.check_token_request(headers, service.dialect)
            return
        if take("token_revoked", operation.name):
            service.tokens.revoke(bearer(headers))
        service.tokens.authorise(headers, operation.scope)

    async def _run(self, scope: Scope, receive: Receive) -> Reply:
        """Execute the operation in the FastAPI application; return its response unsent."""
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self.operations(scope, receive, keep)
        start, *bodies = messages
        headers = tuple((n, v) for n, v in start["headers"] if n != b"content-length")
        return Reply(start["status"], headers, b"".join(b.get("body", b"") for b in bodies))

    def _stale(self, operation: Operation, reply: Reply) -> Reply:
        """Return the response to the operation's request before if the fault fires."""
        faults = self.service.faults
        if not faults.any_of("stale_response"):
            return reply
        before, self._latest[operation.name] = self._latest.get(operation.name), reply
        stale = before is not None and faults.take("stale_response", operation.name)
        return before if before is not None and stale else reply

    def _wrong(self, operation: Operation, scope: Scope, reply: Reply) -> Reply:
        """Return a response spoiled by the corruptions and bugs that fire."""
        faults, name = self.service.faults, operation.name
        if not faults.any_of(*WRONG_RESPONSES) or is_empty_list(reply):
            return reply
        question = question_of(scope["path"], scope["query_string"])
        for kind, wrong in WRONG_RESPONSES.items():
            if fnmatchcase(name, wrong.operation) and faults.take(kind, name):
                change = partial(wrong.change, question | {"turn": str(faults.fired[kind])})
                reply = rewritten(reply, change, self.service.encoder.encode)
        return reply

    def _without_ignored(self, operation: Operation, query: bytes) -> bytes:
        """Return a query string in which ignored parameters are missing or have a fixed value."""
        service = self.service
        today = service.clock.now().date()
        fixed = {
            "id_entity": min(service.entities),
            "filter": "ALL",
            "start_date": today.replace(day=1),
            "end_date": today,
        }
        given: dict[str, Any] = dict(parse_qsl(query.decode(), keep_blank_values=True))
        for name in list(given):
            for rule in service.dialect.ignored_parameters:
                wanted, _, parameter = rule.rpartition(".")
                if parameter == name and fnmatchcase(operation.name, wanted or "*"):
                    given[name] = fixed.get(name)
        return urlencode({name: value for name, value in given.items() if value}).encode()

    def _question(self, scope: Scope) -> tuple[str, bytes] | None:
        """Return the cache key of a read in fast mode; None if the response is not cached."""
        service = self.service
        fixed = service.settings.fast and service.clock.frozen
        if (
            not fixed
            or scope["method"] != "GET"
            or service.faults.any_of("page_insert", "page_delete")
        ):
            return None
        return scope["path"], scope["query_string"]

    def _version(self) -> tuple[object, ...]:
        return (*self.service.version, self.service.clock.now())

    def _remembered(self, scope: Scope) -> Reply | None:
        question = self._question(scope)
        return self.answers.get(question, self._version()) if question else None

    def _remember(self, scope: Scope, reply: Reply) -> None:
        question = self._question(scope)
        if question and self.answers.get(question, self._version()) is None:
            self.answers.put(question, reply)

    async def _send(
        self,
        operation: Operation,
        request: RequestRecord,
        reply: Reply,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Send `reply` complete, malformed, truncated or slowly."""
        take = self.service.faults.take
        half = reply.body[: len(reply.body) // 2]
        if half and take("malformed_json", operation.name):
            request.outcome = "malformed_json"
            await self._finish(request, Reply(reply.status, reply.headers, half), send)
        elif half and take("truncated_body", operation.name):
            request.outcome = "truncated_body"
            await _start(reply, send)
            await send(_chunk(half, more=True))
            await transport.close(scope, receive)
        elif fault := take("slow_body", operation.name):
            request.outcome = str(reply.status)
            await _send_slowly(reply, fault, send)
        else:
            await self._finish(request, reply, send)

    async def _finish(self, request: RequestRecord, reply: Reply, send: Send) -> None:
        if request.outcome == "unfinished":
            request.outcome = str(reply.status)
        await _start(reply, send)
        await send(_chunk(reply.body, more=False))


async def _start(reply: Reply, send: Send) -> None:
    length = (b"content-length", str(len(reply.body)).encode())
    headers = [*reply.headers, length]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})


def _chunk(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _send_slowly(reply: Reply, fault: Fault, send: Send) -> None:
    body = reply.body
    size = max(1, -(-len(body) // SLOW_CHUNKS))
    await _start(reply, send)
    for at in range(0, len(body), size):
        await asyncio.sleep(fault.seconds / SLOW_CHUNKS)
        await send(_chunk(body[at : at + size], more=True))
    await send(_chunk(b"", more=False))
