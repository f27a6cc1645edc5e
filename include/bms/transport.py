"""HTTP transport: one request and its complete response, without authentication or retries."""

import io
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from yarl import URL

from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.endpoints import Endpoint
from bms.errors import (
    BmsError,
    ConnectionFailed,
    MalformedResponse,
    Redirected,
    Timeout,
    too_large,
)
from bms.retry import http_date
from bms.settings import ClientSettings

MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
CREATE_REUSE_S: Final = 1.0
"""Seconds that a connection may idle before a create; services wait longer before they close one."""
READ_BUFFER: Final = 1 << 20
"""Bytes; responses can have hundreds of megabytes."""
MAX_RESPONSE: Final = 1 << 29
"""Bytes of a response after decompression; a longer one could exhaust the memory."""

BeforeSend = Callable[[], Awaitable[None]]
"""Awaited on the open connection before a request's first byte; nothing is sent if it raises."""


@dataclass(slots=True)
class Request:
    """One request of an endpoint; its repr shows neither token nor content."""

    endpoint: Endpoint
    path: str
    query: Mapping[str, str | list[str]] | None = field(default=None, repr=False)
    body: bytes | None = field(default=None, repr=False)
    before_send: BeforeSend | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response of any status; its repr shows neither headers nor body."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    elapsed: float
    """Seconds from the start of the exchange to the end of the body."""

    @property
    def ok(self) -> bool:
        """Whether the status is a 2xx."""
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP's status classes

    @property
    def served_at(self) -> float | None:
        """Unix time by the service's clock, from the Date header."""
        try:
            return http_date(self.headers["Date"])
        except (KeyError, ValueError):
            return None


@dataclass(slots=True)
class Progress:
    """How far a request got."""

    before_send: BeforeSend | None = None
    stopped: BaseException | None = None
    """The exception of `before_send`."""
    sent: bool = False
    """Whether the first byte may have been sent, so that the service may have seen the request."""
    reused: bool = False
    """Whether the connection had carried another request before."""

    async def start(self) -> None:
        """Await `before_send`, then count the request as sent."""
        if self.before_send is not None:
            try:
                await self.before_send()
            except BaseException as error:
                self.stopped = error
                raise
        self.sent = True


class GuardedRequest(aiohttp.ClientRequest):
    """A request of aiohttp that awaits `before_send` once it has a connection.

    aiohttp calls `send` on the open connection and closes the connection if `send` raises. An
    exception in a tracing callback would leave the connection open forever.
    """

    progress: Progress | None = None

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        """Send the request unless `before_send` raises."""
        if self.progress is not None:
            await self.progress.start()
        return await super().send(conn)


class Transport:
    """Sends requests within a concurrency limit.

    Reads reuse connections. A create reuses a connection only within `CREATE_REUSE_S` seconds of
    another create: a connection that the service closes at the same moment makes the outcome of a
    create ambiguous, and an ambiguous outcome costs a search or an operator's decision. After one
    such failure, each create opens a new connection.
    aiohttp repeats idempotent methods only (its `IDEMPOTENT_METHODS`), never a POST.
    """

    def __init__(
        self,
        settings: ClientSettings,
        counters: Counters,
        limiter: ConcurrencyLimiter | None = None,
        max_response: int = MAX_RESPONSE,
    ) -> None:
        self._settings = settings
        self._counters = counters
        self._limiter = limiter or ConcurrencyLimiter(settings.concurrency)
        self._max_response = max_response
        self._origin = URL(settings.base_url).origin()
        self._sessions: tuple[aiohttp.ClientSession, ...] = ()
        """For reads, for creates, and for creates on a connection each."""
        self._reuse_for_creates = True

    async def open(self) -> None:
        """Create the sessions without sending anything; raise `InvalidTlsFile`."""
        tls = self._settings.tls_context()
        reused = aiohttp.TraceConfig()
        reused.on_connection_reuseconn.append(_mark_reused)

        def session(**connector: Any) -> aiohttp.ClientSession:
            return aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._settings.concurrency, ssl=tls, **connector
                ),
                timeout=aiohttp.ClientTimeout(total=self._settings.timeout),
                # The settings choose the proxy; aiohttp's own trust_env would also read .netrc.
                proxy=self._settings.proxy(),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "bms-airflow"},
                read_bufsize=READ_BUFFER,
                trace_configs=[reused],
                request_class=GuardedRequest,
            )

        creates, single = session(keepalive_timeout=CREATE_REUSE_S), session(force_close=True)
        self._sessions = (session(), creates, single)

    async def close(self) -> None:
        """Close every connection."""
        for session in self._sessions:
            await session.close()
        self._sessions = ()

    async def send(self, request: Request) -> Response:
        """Send a request and return its complete response, whatever its status.

        Follows a redirect of a GET to the same scheme, host and port. Raises `Redirected` for any
        other redirect, `ConnectionFailed` or `Timeout`, which state whether the request may have
        been sent, the error of `too_large`, and the exception of `before_send`.
        """
        endpoint = request.endpoint
        if not self._sessions:
            raise RuntimeError("the client is not open: use `async with Client(...)`")
        reads, creates, single = self._sessions
        creates = creates if self._reuse_for_creates else single
        session = reads if endpoint.idempotent else creates
        # Each list is requested at the same URL in every run: a cache would return an old one.
        headers = {"Accept": "application/json", "Cache-Control": "no-cache"}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.bearer is not None:
            headers["Authorization"] = f"Bearer {request.bearer}"
        url = URL(self._settings.url(request.path)).with_query(request.query)
        async with self._limiter:
            for _ in range(MAX_REDIRECTS + 1):
                response = await self._exchange(session, request, url, headers)
                if response.status not in REDIRECTS:
                    return response
                url = self._redirected(endpoint, url, response)
        raise Redirected(
            endpoint, f"redirected more than {MAX_REDIRECTS} times", status=response.status
        )

    async def _exchange(
        self,
        session: aiohttp.ClientSession,
        request: Request,
        url: URL,
        headers: Mapping[str, str],
    ) -> Response:
        endpoint, progress = request.endpoint, Progress(request.before_send)
        started = time.monotonic()
        failure: BmsError
        try:
            async with session.request(
                endpoint.method,
                url,
                data=request.body,
                headers=headers,
                allow_redirects=False,
                trace_request_ctx=progress,
                middlewares=[partial(self._count, progress)],
            ) as response:
                latency = time.monotonic() - started
                body = await self._body(endpoint, response)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if progress.stopped is None:
                failure = self._failure(endpoint, error, progress)
        else:
            now = time.monotonic()
            self._limiter.record_response(endpoint.name, response.status, latency, now)
            self._counters.record_response(
                endpoint, status=response.status, size=len(body), seconds=now - started
            )
            return Response(response.status, response.headers, body, now - started)
        raise progress.stopped or failure

    def _failure(self, endpoint: Endpoint, error: Exception, progress: Progress) -> BmsError:
        """Return the error of a failed exchange."""
        if isinstance(error, TimeoutError):
            self._limiter.record_failure(time.monotonic())
            text = f"no response within {self._settings.timeout:g} s"
            return Timeout(endpoint, text, sent=progress.sent)
        if progress.reused and not endpoint.idempotent:
            self._reuse_for_creates = False
        # Only the type: the text of aiohttp's error may hold addresses, headers and credentials.
        what = "connection lost" if progress.sent else "no connection"
        return ConnectionFailed(endpoint, f"{what} ({type(error).__name__})", sent=progress.sent)

    async def _body(self, endpoint: Endpoint, response: aiohttp.ClientResponse) -> bytes:
        """Return the body; raise the error of `too_large`, before reading if the header shows it."""
        if (response.content_length or 0) > self._max_response:
            raise too_large(endpoint, self._max_response)
        # One buffer: the body is never in memory twice, and no error keeps it alive.
        with io.BytesIO() as buffer:
            async for chunk in response.content.iter_any():
                if buffer.tell() + len(chunk) > self._max_response:
                    raise too_large(endpoint, self._max_response)
                buffer.write(chunk)
            return buffer.getvalue()

    def _redirected(self, endpoint: Endpoint, url: URL, response: Response) -> URL:
        """Return the target of a redirect that may be followed, or raise `Redirected`.

        A create answered 303 with the address of its record was executed.
        """
        try:
            target = url.join(URL(response.headers["Location"])).with_user(None)
            if target.origin() == self._origin:
                if endpoint.method == "GET":
                    return target
                if response.status == HTTPStatus.SEE_OTHER and target.parent.path == url.path:
                    text = "responded 303 with the address of the record, but without the record"
                    raise MalformedResponse(endpoint, text, status=response.status)
        except (KeyError, ValueError):
            pass
        raise Redirected(
            endpoint,
            f"redirected ({response.status}) and not followed; set base_url to the address at "
            "which the service responds",
            status=response.status,
        )

    async def _count(
        self,
        progress: Progress,
        request: aiohttp.ClientRequest,
        handler: aiohttp.ClientHandlerType,
    ) -> aiohttp.ClientResponse:
        """Count a request on the wire; as a middleware, it also sees the requests aiohttp repeats."""
        self._counters.requests += 1
        if isinstance(request, GuardedRequest):
            request.progress = progress
        return await handler(request)


async def _mark_reused(_session: aiohttp.ClientSession, context: Any, _params: Any) -> None:
    context.trace_request_ctx.reused = True
