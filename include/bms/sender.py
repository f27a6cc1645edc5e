"""Authentication, retries and decoding of requests."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from bms import retry
from bms.arguments import Query, wire_query
from bms.auth import Token, Tokens, read_token
from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.endpoints import BY_NAME, BY_OPERATION, Endpoint
from bms.errors import (
    AmbiguousWrite,
    BmsError,
    ConnectionFailed,
    MalformedResponse,
    ServiceUnavailable,
    Throttled,
    TokenRefused,
    Unauthorized,
    error_for,
    named_fields,
)
from bms.field_values import JSON
from bms.json_content import is_json
from bms.records import described
from bms.responses import Access
from bms.scopes import require_scopes
from bms.settings import SECONDS_PER_UNIT, ClientSettings
from bms.transport import BeforeSend, Request, Response, Transport

T = TypeVar("T")

AuthFlow = AsyncGenerator[Request, Response | None]
"""Yields the request of each attempt; receives the previous response, None if there is none."""

Decode = Callable[[bytes], T | Awaitable[T]]


class Sender:
    """The requests of one client, which holds its token and connections; `Client` describes the arguments."""

    ambiguous: ClassVar[type[AmbiguousWrite]] = AmbiguousWrite
    """The error to raise after a request that is not `idempotent` and may have been executed."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        counters: Counters | None = None,
        limiter: ConcurrencyLimiter | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
        on_token: Callable[[str], Awaitable[None]] | None = None,
        advise: Callable[[BmsError], str] | None = None,
    ) -> None:
        self.settings = settings
        self.counters = Counters() if counters is None else counters
        self._clock, self._sleep, self._random = clock, sleep, random
        self._on_token, self._advise = on_token, advise
        self._tokens = Tokens(self._fetch_token, clock=clock)
        self._transport = Transport(settings, self.counters, limiter)

    async def __aenter__(self) -> Self:
        await self._transport.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()

    async def access(self) -> Access:
        """Return the granted scopes and the token's remaining seconds (POST /v1/token).

        Requests a token if there is none. Never returns the token.
        """
        token = await self._tokens.take()
        return Access(scopes=token.scopes, expires_in_s=token.remaining(self._clock()))

    async def _call(
        self,
        endpoint: Endpoint,
        decode: Decode[T],
        *,
        values: Mapping[str, str | int] | None = None,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        before_send: BeforeSend | None = None,
    ) -> T:
        """Send a request with a token, retry it where allowed, and return its decoded response.

        `decode` returns the decoded body or, to decode in another thread, an awaitable of it.
        `before_send` is awaited on the open connection before each attempt; if it raises, the
        attempt is not sent and the exception propagates.
        """
        request = Request(
            endpoint,
            endpoint.fill(values or {}),
            wire_query(query),
            None if body is None else JSON.encode(body),
            before_send,
        )
        record = BY_OPERATION.get(f"read_{endpoint.noun}") if body else None
        names = (*(query or {}), *(body or {}), *(described(record) if record else ()))
        read = partial(self._decode, endpoint, decode, names)
        return await self._send(self._auth_flow(request), read)

    async def _raw(
        self,
        endpoint: Endpoint,
        *,
        values: Mapping[str, str | int] | None = None,
        query: Query | None = None,
        authenticate: bool = True,
        check: bool = False,
    ) -> Response:
        """Return the undecoded response of a request, retried only while the service is in distress.

        With `authenticate`, a refused token (401) is renewed as in `_call`, and a 2xx with a web page
        raises. With `check`, raise the error of every status but 2xx.
        """
        request = Request(endpoint, endpoint.fill(values or {}), wire_query(query))
        temporary = (Throttled, ServiceUnavailable, *((Unauthorized,) if authenticate else ()))

        async def final(response: Response) -> Response:
            error = self._error(endpoint, response, tuple(query or ()))
            if error is not None and (check or response.ok or isinstance(error, temporary)):
                raise error
            if authenticate and _is_unreadable(endpoint, response):
                text = (
                    "responded without JSON in UTF-8, perhaps with a login page or a part of a body"
                )
                raise MalformedResponse(endpoint, text, status=response.status)
            return response

        return await self._send(
            self._auth_flow(request) if authenticate else _unchanged(request), final
        )

    async def raw_token(self) -> Response:
        """Request a new token for the following requests, and return the undecoded response."""
        token, response = await self._request_token()
        self._tokens.hold(token)
        return response

    async def _fetch_token(self) -> Token:
        token, _ = await self._request_token()
        return token

    async def _request_token(self) -> tuple[Token, Response]:
        settings, endpoint = self.settings, BY_NAME["request_token"]
        credentials = {
            "client_id": settings.client_id,
            "application_id": settings.application_id,
            "secret": settings.secret,
        }
        request = Request(
            endpoint,
            endpoint.path,
            body=JSON.encode(credentials),
            bearer=settings.token_bearer_secret,
        )
        try:
            token, response = await self._send(_unchanged(request), self._read_token)
        except TokenRefused as error:
            error.retriable = self.counters.token_fetches > 0  # a new client has the new secret
            raise
        self.counters.token_fetches += 1
        if self._on_token is not None:
            await self._on_token(token.value)
        return token, response

    async def _read_token(self, response: Response) -> tuple[Token, Response]:
        endpoint = BY_NAME["request_token"]
        if error := self._error(endpoint, response):
            raise error
        token = read_token(
            response.body,
            requested_at=self._clock() - response.elapsed,
            served_at=response.served_at,
            seconds_per_unit=SECONDS_PER_UNIT[self.settings.expires_in_unit],
        )
        if token is None:
            text = "responded without a usable access_token"
            raise MalformedResponse(endpoint, text, status=response.status)
        return token, response

    async def _auth_flow(self, request: Request) -> AuthFlow:
        """Yield the request with a token; after a 401, with a new token."""
        refused: Token | None = None
        while True:
            token = await self._tokens.take(instead_of=refused)
            require_scopes([request.endpoint], token.scopes)
            request.bearer = token.value
            response = yield request
            if response is not None and response.status == HTTPStatus.UNAUTHORIZED:
                refused = token

    async def _send(self, flow: AuthFlow, read: Callable[[Response], Awaitable[T]]) -> T:
        """Send the requests of an auth flow until `read` accepts a response or no retry is allowed.

        The error then also says what to check.
        """
        started, attempt, renewed = time.monotonic(), 1, False
        response: Response | None = None
        try:
            while True:
                request = await flow.asend(response)  # raises if there is no token for it
                response = None
                try:
                    response = await self._transport.send(request)
                    return await read(response)
                except BmsError as error:
                    failure = error
                if isinstance(failure, Unauthorized) and not renewed:
                    renewed = True  # the first renewal of a token is immediate and no attempt
                    self.counters.retries += 1
                    continue
                delay = self._delay(request.endpoint, failure, attempt, started)
                attempt += 1
                self.counters.retries += 1
                await self._sleep(delay)
        except BmsError as error:
            error.advice = self._advise(error) if self._advise else ""
            raise
        finally:
            await flow.aclose()

    def _delay(self, endpoint: Endpoint, failure: BmsError, attempt: int, started: float) -> float:
        """Return the seconds until the next attempt, or raise the error that ends the call."""
        match retry.decide(
            failure,
            idempotent=endpoint.idempotent,
            attempt=attempt,
            settings=self.settings,
            jitter=self._random(),
        ):
            case retry.Retry(delay):
                return delay
            case retry.Ambiguous(reason):
                failure = self.ambiguous(
                    endpoint,
                    reason,
                    status=failure.status,
                    retry_after=retry.requested_wait(failure),
                )
        failure.tries, failure.elapsed = attempt, time.monotonic() - started
        raise failure

    async def _decode(
        self, endpoint: Endpoint, decode: Decode[T], names: Sequence[str], response: Response
    ) -> T:
        """Return the decoded body of a 2xx, or raise the error of the response."""
        if failure := self._error(endpoint, response, names):
            raise failure
        no_rows = endpoint.no_rows if response.status == HTTPStatus.NO_CONTENT else None
        try:
            decoded = decode(no_rows or response.body)
            return await decoded if isinstance(decoded, Awaitable) else decoded
        except BmsError as error:
            error.status = response.status
            raise

    def _error(
        self, endpoint: Endpoint, response: Response, names: Sequence[str] = ()
    ) -> BmsError | None:
        """Return the error that a response's status means, None for a whole 2xx; `names` are known fields."""
        if response.ok:
            return error_for(endpoint, response.status, None)
        if response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            text = "no connection (the proxy refuses, 407)"  # it forwarded nothing
            return ConnectionFailed(endpoint, text, sent=False)
        served_at = response.served_at
        wait = retry.retry_after(
            response.headers.get("Retry-After"),
            now=self._clock() if served_at is None else served_at,
        )
        return error_for(endpoint, response.status, wait, named_fields(response.body, names))


def _is_unreadable(endpoint: Endpoint, response: Response) -> bool:
    """Return whether the content of a 2xx should be JSON and is not: gateways send login pages as 200."""
    kind = response.headers.get("Content-Type", "json" if endpoint.scope else "")
    if not response.ok or response.status == HTTPStatus.NO_CONTENT:
        return False
    return ("json" in kind or "html" in kind) and not is_json(response.body)


async def _unchanged(request: Request) -> AuthFlow:
    """Yield the request unchanged for each attempt."""
    while True:
        yield request
