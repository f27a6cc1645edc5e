"""One call of the service to its end: token, scope, send, repeat or stop."""

import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from bms import retry
from bms.auth import Token, Tokens, read_token
from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.endpoints import BY_NAME, Endpoint
from bms.errors import AmbiguousWrite, BmsError, MalformedResponse, MissingScope, error_for
from bms.responses import Access
from bms.scopes import require_scope
from bms.settings import SECONDS_PER_UNIT, ClientSettings
from bms.transport import BeforeSend, Response, Transport

T = TypeVar("T")

JSON: Final = msgspec.json.Encoder(decimal_format="number")


class Sender:
    """Carries calls through; holds the token, the connections and the policy of one client."""

    def __init__(
        self,
        settings: ClientSettings,
        counters: Counters,
        *,
        limiter: ConcurrencyLimiter | None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
        on_token: Callable[[str], Awaitable[None]] | None,
    ) -> None:
        self._settings = settings
        self._counters = counters
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._on_token = on_token
        self._policy = retry.Policy(
            attempts=settings.attempts,
            backoff_cap=settings.backoff_cap,
            create_refused_by_429=settings.create_refused_by_429,
        )
        self._tokens = Tokens(self._fetch_token, clock=clock)
        self._transport = Transport(settings, counters, limiter)

    async def open(self) -> None:
        """Prepare to call; nothing is sent."""
        await self._transport.open()

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    async def access(self) -> Access:
        """Return what the current token allows; ask for a token if none is held."""
        token = await self._tokens.take()
        return Access(scopes=token.scopes, expires_in_s=token.remaining(self._clock()))

    async def request(
        self,
        endpoint: Endpoint,
        read: Callable[[bytes], T],
        *,
        values: Mapping[str, str | int] | None = None,
        query: Mapping[str, str | int | bool | None] | None = None,
        body: Mapping[str, Any] | None = None,
        before_send: BeforeSend | None = None,
    ) -> T:
        """Send one request of an endpoint with a token; one that is refused is renewed.

        The first time at once, then as any try is repeated.

        `before_send` is awaited before each time that it is sent, on the open connection; what it
        raises is raised.
        """
        path = endpoint.fill(values or {})
        words = {name: wire_text(v) for name, v in (query or {}).items() if v is not None}
        content = None if body is None else JSON.encode(body)
        refused: Token | None = None

        async def once() -> T:
            nonlocal refused
            token = await self._tokens.take(instead_of=refused)
            require_scope(endpoint, token.scopes)
            answer = await self._transport.send(
                endpoint,
                path,
                query=words,
                body=content,
                bearer=token.value,
                before_send=before_send,
            )
            if answer.status == HTTPStatus.UNAUTHORIZED:
                first, refused = refused is None, token
                if first:
                    self._counters.retries += 1
                    return await once()
            return self._read(endpoint, answer, read)

        return await self._until_answered(endpoint, once)

    async def _fetch_token(self) -> Token:
        endpoint = BY_NAME["request_token"]
        settings = self._settings
        content = JSON.encode(
            {
                "client_id": settings.client_id,
                "application_id": settings.application_id,
                "secret": settings.secret,
            }
        )

        async def once() -> Token:
            asked_at = self._clock()
            answer = await self._transport.send(
                endpoint, endpoint.path, body=content, bearer=settings.token_bearer_secret
            )

            def read(body: bytes) -> Token:
                token = read_token(
                    body,
                    asked_at=asked_at,
                    served_at=answer.served_at,
                    seconds_per_unit=SECONDS_PER_UNIT[settings.expires_in_unit],
                )
                if token is None:
                    raise MalformedResponse(endpoint, "answered without a usable access_token")
                return token

            return self._read(endpoint, answer, read)

        token = await self._until_answered(endpoint, once)
        self._counters.token_fetches += 1
        if self._on_token is not None:
            await self._on_token(token.value)
        return token

    async def _until_answered(self, endpoint: Endpoint, once: Callable[[], Awaitable[T]]) -> T:
        """Call `once` until it returns, or raise what `bms.retry` makes of its last failure."""
        started = time.monotonic()
        for attempt in itertools.count(1):
            try:
                return await once()
            except BmsError as error:
                if error.endpoint != endpoint.name or isinstance(error, MissingScope):
                    raise  # no token to be had after repeats of its own, or one that won't do
                failure = error
            match retry.decide(
                failure,
                idempotent=endpoint.idempotent,
                attempt=attempt,
                policy=self._policy,
                chance=self._random(),
            ):
                case retry.Retry(delay):
                    self._counters.retries += 1
                    await self._sleep(delay)
                    continue
                case retry.Ambiguous(reason):
                    failure = AmbiguousWrite(
                        endpoint,
                        reason,
                        status=failure.status,
                        retry_after=retry.asked_wait(failure),
                    )
                case retry.Fail():
                    pass
            failure.tries, failure.elapsed = attempt, time.monotonic() - started
            break
        raise failure

    def _read(self, endpoint: Endpoint, answer: Response, read: Callable[[bytes], T]) -> T:
        """Return what `read` makes of the body of a 2xx, or raise what the status means."""
        now = self._clock() if answer.served_at is None else answer.served_at
        wait = retry.retry_after(answer.retry_after, now=now)
        failure = error_for(endpoint, answer.status, wait)
        if failure is not None:
            raise failure
        try:
            return read(answer.body)
        except BmsError as error:
            error.status = answer.status
            raise


def wire_text(value: str | int | bool) -> str:
    """Return a query value as it is written in an address."""
    return str(value).lower() if isinstance(value, bool) else str(value)
