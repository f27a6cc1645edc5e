"""One request on the wire and its whole answer; knows nothing of repeating or of tokens' lives."""

import io
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp
from yarl import URL

from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.endpoints import Endpoint
from bms.errors import BmsError, ConnectionFailed, InvalidTlsFile, Redirected, Timeout, too_large
from bms.retry import http_date
from bms.settings import ClientSettings

T = TypeVar("T")

MOST_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
IDLE_S: Final = 1.0
"""Seconds after an answer in which a connection takes another create; services wait longer to close one."""
CA_VARIABLES: Final = "REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE"
READ_BUFFER: Final = 1 << 20  # bytes; answers run to hundreds of megabytes
LARGEST: Final = 1 << 29
"""Bytes of an answer at most, unpacked; a longer one is not waited for and would fill the memory."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer; its body is not shown."""

    status: int
    retry_after: str | None
    served_at: float | None
    """The service's own clock, Unix time, from the Date header."""
    body: bytes = field(repr=False)


BeforeSend = Callable[[], Awaitable[None]]
"""Awaited on the open connection, before the first byte of a request; if it raises, nothing is sent."""


@dataclass(slots=True)
class Passage:
    """How far one request came."""

    before_send: BeforeSend | None = None
    stopped: BaseException | None = None
    """What `before_send` raised."""
    sent: bool = False
    """Whether its first byte may have left, so that the service may have seen it."""
    kept: bool = False
    """Whether its connection had carried another request before."""

    async def leave(self) -> None:
        """Ask whether the request may leave."""
        if self.before_send is not None:
            try:
                await self.before_send()
            except BaseException as error:
                self.stopped = error
                raise
        self.sent = True


class LeavingRequest(aiohttp.ClientRequest):
    """A request that asks its passage once it has a connection.

    aiohttp calls `send` on the open connection and closes the connection if `send` raises. Raising
    from its tracing callbacks would leave the connection open for ever.
    """

    passage: Passage | None = None

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        """Send the request unless its passage says no."""
        if self.passage is not None:
            await self.passage.leave()
        return await super().send(conn)


class Transport:
    """Sends requests, a bounded number at a time.

    Reads keep their connections. A create goes out on one that answered a create within the last
    `IDLE_S` seconds, else on a new one: where the service closes a connection in the same moment,
    a create is in doubt for nothing, and settling a doubt costs a search or a person. Once a kept
    connection has failed a create, each gets a connection of its own.
    aiohttp itself sends again only idempotent methods (its `IDEMPOTENT_METHODS`), never a POST.
    """

    def __init__(
        self,
        settings: ClientSettings,
        counters: Counters,
        limiter: ConcurrencyLimiter | None = None,
        largest: int = LARGEST,
    ) -> None:
        self._settings = settings
        self._counters = counters
        self._limiter = limiter or ConcurrencyLimiter(settings.concurrency)
        self._largest = largest
        self._origin = URL(settings.base_url).origin()
        self._reads: aiohttp.ClientSession | None = None
        self._creates: aiohttp.ClientSession | None = None
        self._alone: aiohttp.ClientSession | None = None
        self._keeps_creates = True

    async def open(self) -> None:
        """Prepare the sessions; nothing is sent. Raises `InvalidTlsFile`."""
        tls = self._tls()
        self._reads = self._session(tls)
        self._creates = self._session(tls, keepalive_timeout=IDLE_S)
        self._alone = self._session(tls, force_close=True)

    async def close(self) -> None:
        """Close every connection."""
        for session in (self._reads, self._creates, self._alone):
            if session is not None:
                await session.close()
        self._reads = self._creates = self._alone = None

    async def send(
        self,
        endpoint: Endpoint,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        bearer: str | None = None,
        before_send: BeforeSend | None = None,
    ) -> Response:
        """Send one request and read its whole answer, whatever its status.

        `before_send` is awaited once the request has its turn and its connection; what it raises is
        raised, and then nothing was sent. Raises `ConnectionFailed` or `Timeout`, which say whether the request may have been sent,
        `Redirected`, and what `too_large` returns for an answer past all bounds. A redirect is
        followed for a GET to the same scheme, host and port only.
        """
        creates = self._creates if self._keeps_creates else self._alone
        session = self._reads if endpoint.idempotent else creates
        if session is None:
            raise RuntimeError("the client is not open: use it as `async with Client(...)`")
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if bearer is not None:
            headers["Authorization"] = f"Bearer {bearer}"
        url = URL(self._settings.url(path)).with_query(query)
        async with self._limiter:
            for _ in range(MOST_REDIRECTS + 1):
                answer, location = await self._exchange(
                    session, endpoint, url, body, headers, Passage(before_send)
                )
                if answer.status not in REDIRECTS:
                    return answer
                target = self._same_origin(url, location)
                if endpoint.method != "GET" or target is None:
                    raise Redirected(
                        endpoint,
                        f"redirected ({answer.status}) and not followed; base_url should be the "
                        "address the service answers at",
                        status=answer.status,
                    )
                url = target
        raise Redirected(
            endpoint, f"redirected more than {MOST_REDIRECTS} times", status=answer.status
        )

    async def _exchange(
        self,
        session: aiohttp.ClientSession,
        endpoint: Endpoint,
        url: URL,
        body: bytes | None,
        headers: Mapping[str, str],
        passage: Passage,
    ) -> tuple[Response, str | None]:
        started = time.monotonic()
        failure: BmsError
        try:
            async with session.request(
                endpoint.method,
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                trace_request_ctx=passage,
                middlewares=[partial(self._pass, passage)],
            ) as response:
                waited = time.monotonic() - started
                content = await self._whole(endpoint, response)
                answer = Response(
                    status=response.status,
                    retry_after=response.headers.get("Retry-After"),
                    served_at=_unix_time(response.headers.get("Date")),
                    body=content,
                )
                location = response.headers.get("Location")
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if passage.stopped is None:
                failure = self._failure(endpoint, error, passage)
        else:
            now = time.monotonic()
            self._limiter.record_response(endpoint.name, answer.status, waited, now)
            self._counters.answered(
                endpoint, status=answer.status, size=len(content), seconds=now - started
            )
            return answer, location
        raise passage.stopped or failure

    def _failure(self, endpoint: Endpoint, error: Exception, passage: Passage) -> BmsError:
        """Return what a failed exchange means."""
        if isinstance(error, TimeoutError):
            self._limiter.record_failure(time.monotonic())
            text = f"no answer within {self._settings.timeout:g} s"
            return Timeout(endpoint, text, sent=passage.sent)
        # The kind only: an error of aiohttp may carry addresses, headers and proxy credentials.
        if passage.kept and not endpoint.idempotent:
            self._keeps_creates = False
        what = "connection lost" if passage.sent else "no connection"
        return ConnectionFailed(endpoint, f"{what} ({type(error).__name__})", sent=passage.sent)

    async def _whole(self, endpoint: Endpoint, response: aiohttp.ClientResponse) -> bytes:
        """Return the body; raise what one past all bounds means, before it is read where it says so."""
        if (response.content_length or 0) > self._largest:
            raise too_large(endpoint, self._largest)
        # Joined as it comes, so never held twice; and let go with the buffer, not held by an error.
        with io.BytesIO() as whole:
            async for piece in response.content.iter_any():
                if whole.tell() + len(piece) > self._largest:
                    raise too_large(endpoint, self._largest)
                whole.write(piece)
            return whole.getvalue()

    def _same_origin(self, url: URL, location: str | None) -> URL | None:
        """Return where a redirect points, or None if it leads away from the service's own origin."""
        if location is None:
            return None
        try:
            target = url.join(URL(location))
            return target if target.origin() == self._origin else None
        except ValueError:
            return None

    def _session(self, tls: ssl.SSLContext | bool, **kept: Any) -> aiohttp.ClientSession:
        settings = self._settings
        passages = aiohttp.TraceConfig()
        passages.on_connection_reuseconn.append(_kept)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=settings.concurrency, ssl=tls, **kept),
            timeout=aiohttp.ClientTimeout(total=settings.timeout),
            # The proxy is chosen by the settings; aiohttp's own trust_env would also read .netrc.
            proxy=settings.proxy(),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "bms-airflow"},
            read_bufsize=READ_BUFFER,
            trace_configs=[passages],
            request_class=LeavingRequest,
        )

    def _tls(self) -> ssl.SSLContext | bool:
        settings = self._settings
        if not settings.secure:
            return True
        ca = settings.ca_path()
        names = "names" if ca == settings.verify else f"is left to {CA_VARIABLES}, which names"
        context = _usable("verify", names, partial(_trusting, ca))
        if settings.verify is False:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if settings.cert is not None:
            given = settings.cert
            cert, key = (given, None) if isinstance(given, str) else given
            # Without a password given, a locked key would have one asked for at the terminal.
            _usable("cert", "names", partial(context.load_cert_chain, cert, key, password=""))
        return context

    async def _pass(
        self,
        passage: Passage,
        request: aiohttp.ClientRequest,
        handler: aiohttp.ClientHandlerType,
    ) -> aiohttp.ClientResponse:
        # A middleware, since aiohttp may send an idempotent request a second time by itself.
        self._counters.requests += 1
        if isinstance(request, LeavingRequest):
            request.passage = passage
        return await handler(request)


def _trusting(ca: str | None) -> ssl.SSLContext:
    """Return a context that trusts a CA file, or the files of a folder, or what the system does."""
    folder = ca is not None and Path(ca).is_dir()
    return ssl.create_default_context(cafile=None if folder else ca, capath=ca if folder else None)


def _usable(setting: str, names: str, load: Callable[[], T]) -> T:
    """Return what `load` makes of the files that a setting names; raise `InvalidTlsFile`."""
    try:
        return load()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
    # Outside `except`: a foreign error may hold what stands in the setting, perhaps a pasted key.
    raise InvalidTlsFile(setting, f"{names} no PEM file that can be used ({why})")


async def _kept(_session: aiohttp.ClientSession, context: Any, _params: Any) -> None:
    context.trace_request_ctx.kept = True


def _unix_time(date: str | None) -> float | None:
    try:
        return None if date is None else http_date(date)
    except ValueError:
        return None
