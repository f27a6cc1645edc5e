"""Raw questions to the service, only such as change nothing: reads, and the token they need."""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from bms import retry
from bms.auth import Token, read_token
from bms.counters import Counters
from bms.decoding import UNREADABLE
from bms.endpoints import BY_NAME, Endpoint
from bms.errors import BmsError, ServiceUnavailable, Throttled, TokenRefused, error_for
from bms.scopes import require_scope
from bms.sender import wire_text
from bms.settings import SECONDS_PER_UNIT, ClientSettings
from bms.transport import Transport

UNAUTHORIZED: Final = 401
JSON: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came, whatever its status; its body is not shown."""

    status: int
    served_at: float | None
    body: bytes = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether the service did as asked."""
        return 200 <= self.status < 300  # noqa: PLR2004 -- HTTP's own classes

    @property
    def refused(self) -> bool:
        """Whether the service said no."""
        return 400 <= self.status < 500  # noqa: PLR2004 -- HTTP's own classes

    def content(self) -> Any:
        """Return the body as JSON, or None where it is none."""
        try:
            return msgspec.json.decode(self.body.removeprefix(b"\xef\xbb\xbf"))
        except UNREADABLE:
            return None

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of a list, paged or not; none where it isn't one."""
        content = self.content()
        rows = content.get("data") if isinstance(content, dict) else content
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    @property
    def total_pages(self) -> int | None:
        """The number of pages that a paged list names."""
        content = self.content()
        total = content.get("total_pages") if isinstance(content, dict) else None
        return total if isinstance(total, int) and not isinstance(total, bool) else None


class Asker:
    """Asks the service; an async context manager for one event loop.

    Where a client reads answers into records, this hands them out as they came. Failures that may
    pass are repeated as the client repeats them; those that don't are raised as the client's.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        counters: Counters | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_token: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self.settings = settings
        self.counters = counters or Counters()
        self._sleep = sleep
        self._on_token = on_token
        self._transport = Transport(settings, self.counters)
        self._policy = retry.Policy(settings.attempts, settings.backoff_cap, False)
        self._token: Token | None = None

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

    async def token(self) -> Reply:
        """Ask for a token, keep it for the questions that follow, and return the whole answer."""
        _, reply = await self._renew()
        return reply

    async def get(
        self,
        name: str,
        query: Mapping[str, str | int | bool] | None = None,
        *,
        values: Mapping[str, str | int] | None = None,
        with_token: bool = True,
    ) -> Reply:
        """Ask one of the reading operations; raise `MissingScope` where the token won't do."""
        endpoint = BY_NAME[name]
        if endpoint.method != "GET":
            raise ValueError(f"{endpoint} may change something: only reads are asked")
        path = endpoint.fill(values or {})
        words = {key: wire_text(value) for key, value in (query or {}).items()}
        if not with_token:
            return await self._send(endpoint, path, query=words)
        token = self._token or (await self._renew())[0]
        require_scope(endpoint, token.scopes)
        reply = await self._send(endpoint, path, query=words, bearer=token.value)
        if reply.status == UNAUTHORIZED:  # it has run out on the way
            token, _ = await self._renew()
            reply = await self._send(endpoint, path, query=words, bearer=token.value)
        return reply

    async def _renew(self) -> tuple[Token, Reply]:
        endpoint = BY_NAME["request_token"]
        settings = self.settings
        body = JSON.encode(
            {
                "client_id": settings.client_id,
                "application_id": settings.application_id,
                "secret": settings.secret,
            }
        )
        asked_at = time.time()
        reply = await self._send(
            endpoint, endpoint.path, body=body, bearer=settings.token_bearer_secret
        )
        token = None
        if reply.ok:
            token = read_token(
                reply.body,
                asked_at=asked_at,
                served_at=reply.served_at,
                seconds_per_unit=SECONDS_PER_UNIT[settings.expires_in_unit],
            )
        if token is None:
            raise TokenRefused(endpoint, "answered without a usable token", status=reply.status)
        self.counters.token_fetches += 1
        if self._on_token is not None:
            await self._on_token(token.value)
        self._token = token
        return token, reply

    async def _send(self, endpoint: Endpoint, path: str, **what: Any) -> Reply:
        """Send until there is an answer that would stay the same however often it is asked for."""
        for attempt in itertools.count(1):
            try:
                return await self._once(endpoint, path, **what)
            except BmsError as error:
                decision = retry.decide(
                    error,
                    idempotent=endpoint.idempotent,
                    attempt=attempt,
                    policy=self._policy,
                    chance=random.random(),  # noqa: S311 -- spreads repeats, no secret
                )
                if not isinstance(decision, retry.Retry):
                    raise
            self.counters.retries += 1
            await self._sleep(decision.delay)
        raise AssertionError  # the count has no end

    async def _once(self, endpoint: Endpoint, path: str, **what: Any) -> Reply:
        answer = await self._transport.send(endpoint, path, **what)
        now = time.time() if answer.served_at is None else answer.served_at
        wait = retry.retry_after(answer.retry_after, now=now)
        error = error_for(endpoint, answer.status, wait)
        if isinstance(error, Throttled | ServiceUnavailable):
            raise error
        return Reply(answer.status, answer.served_at, answer.body)
