"""Synchronous client: the asynchronous one, driven by an event loop in a separate thread."""

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar

from bms.client import Client
from bms.endpoints import Endpoint
from bms.operations import with_operations
from bms.paging import all_pages
from bms.responses import Access, Page, Rows
from bms.transport import Response

if TYPE_CHECKING:
    from bms.signatures import SyncOperations
else:
    SyncOperations = object

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

CLOSE_SECONDS: Final = 10.0
"""Longest wait for connections to close."""


@with_operations
class SyncClient(SyncOperations):
    """Calls the service and waits for the response; a context manager.

    The end of the `with` block, `close()` or garbage collection closes the connections.

    Lists raise `InvalidRecords` for a row without a usable key or amount. `list_contacts` and
    `list_consultants` yield records while further pages are read; with the same
    arguments, `contact_pages` and `consultant_pages` yield the pages, with the fields that the
    interface does not name (`extra`).
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=_run, args=(self._loop,), name="bms-client", daemon=True
        )
        self._opened: asyncio.Task[Client] | None = None
        self._closing = weakref.finalize(self, _close, client, self._loop, self._thread)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sync{self._client!r}"

    def close(self) -> None:
        """Cancel requests in flight and close every connection."""
        self._closing()

    def access(self) -> Access:
        """Return the granted scopes and the remaining life of the token (POST /v1/token)."""
        return self._call(self._client.access)

    def get(
        self, path: str, query: Mapping[str, Any] | None = None, *, check: bool = True
    ) -> Response:
        """Return the undecoded response to a GET of any path below the base URL; see `Client.get`."""
        return self._call(partial(self._client.get, path, query, check=check))

    def _request_pages(self, endpoint: Endpoint, arguments: dict[str, Any]) -> Iterator[Rows[Any]]:
        """Yield the pages of a list; a list without pages is one."""
        read = partial(getattr(self._client, endpoint.name), **arguments)
        if endpoint.paged:
            yield from self._pages(all_pages(lambda number: read(page_number=number)))
            return
        rows: Rows[Any] = self._call(read)
        rows.require_all()
        yield rows

    def _request(self, endpoint: Endpoint, arguments: dict[str, Any]) -> Any:
        """Call an operation with the arguments of its method."""
        if endpoint.kind == "list":
            pages = self._request_pages(endpoint, arguments)
            return (record for page in pages for record in page) if endpoint.paged else next(pages)
        try:
            found = self._call(partial(getattr(self._client, endpoint.name), **arguments))
        except BaseException as error:
            raised = self._client.interrupted(endpoint, error)
            if endpoint.idempotent or raised is error:
                raise
            raise raised from error
        return found.record if endpoint.kind == "read" else found

    def _pages(self, pages: AsyncGenerator[Page[R], None]) -> Iterator[Page[R]]:
        """Yield pages; an iteration that stops early cancels the pages requested ahead."""
        try:
            while (page := self._call(anext, pages, None)) is not None:
                page.require_all()
                yield page
        finally:
            # Not awaited: the garbage collector may run this in the loop's own thread.
            if self._closing.alive:
                asyncio.run_coroutine_threadsafe(pages.aclose(), self._loop)

    def _call(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in the loop's thread and wait; an interrupted wait cancels the call."""
        if not (self._closing.alive and self._thread.is_alive()):
            raise RuntimeError(
                "the client is closed, or a fork copied it: open one in this process"
            )
        future = asyncio.run_coroutine_threadsafe(self._run(call, *args, **kwargs), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _run(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._opened is None:
            self._opened = asyncio.ensure_future(self._client.__aenter__())
        await asyncio.shield(self._opened)
        return await call(*args, **kwargs)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()


def _close(client: Client, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Close a client in its loop, then stop the loop."""

    async def close() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await client.__aexit__(None, None, None)
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()
        loop.stop()

    asyncio.run_coroutine_threadsafe(close(), loop)
    if thread is not threading.current_thread():  # the garbage collector runs in any thread
        thread.join(CLOSE_SECONDS)
