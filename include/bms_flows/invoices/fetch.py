"""Fetching of invoice windows: several requests in advance, in order, within memory bounds."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bms.endpoints import InvoiceLanguage
from bms.errors import RangeRefused
from bms_flows.invoices.decode import Decoded, Response, ResponseReader, SplitResponse
from bms_flows.runtime.windows import DAY, Window

if TYPE_CHECKING:  # aiohttp, which commands do without
    from bms.client import Client

WindowResponse = tuple[Window, Response]
Batch = Sequence[WindowResponse]
"""One response, or split responses of consecutive days."""
ReadResponse = Callable[[Window, bytes], Response]

BATCH_BYTES = 5_000_000
"""Size of the responses and of their rows to decode that are transformed together.

Each transform costs milliseconds beyond its rows.
"""
MAX_RESPONSE_BYTES = 3_000_000
"""Limit for one response; its columns take twice as much memory."""
MAX_WAITING_BYTES = 12_000_000
"""Received bodies from which no more requests are sent. With half of it, an unchanged year took a third longer."""
FIRST_REQUESTS = 2
"""Requests in flight at first, until the loader waits for a response."""
READ_AHEAD = 2
"""Responses that are split or decoded before the loader takes them; the others wait as bodies."""


@dataclass(eq=False)
class OpenRequest:
    """A window whose response the loader has not taken yet."""

    window: Window
    may_decode: asyncio.Event = field(default_factory=asyncio.Event)
    bytes_waiting: int = 0
    task: "asyncio.Task[list[WindowResponse]] | None" = None


@dataclass
class Fetcher:
    """Requests windows in advance: more while the loader waits, fewer while bodies pile up.

    The number of open requests doubles whenever the loader has to wait for a response, and is
    halved while received bodies exceed `MAX_WAITING_BYTES`. The largest response so far gives the
    size of a day: windows are cut so that a response stays below `MAX_RESPONSE_BYTES`. A range that
    the service refuses is halved, down to one day; a refused day is left out if it is `optional`.
    """

    client: "Client"
    id_entity: int
    todo: deque[Window]
    language: InvoiceLanguage
    thread: Executor
    """One thread: a reader learns field names, and decoding must not delay the event loop."""
    read: ReadResponse
    optional: bool = False
    """Whether days that the service refuses are left out."""
    open_requests: deque[OpenRequest] = field(default_factory=deque)
    limit: int = FIRST_REQUESTS
    day_bytes: float = 0.0
    """Bytes of a day in the largest response so far."""

    async def responses(self) -> AsyncIterator[WindowResponse]:
        """Yield the windows' responses in the windows' order."""
        try:
            self.fill()
            while self.open_requests:
                responses = await self.take()
                self.fill()  # a single allowed request runs while the loader works
                while responses:
                    yield responses.pop(0)  # freed here before the loader works on it
        finally:
            await self.cancel()

    @property
    def ahead(self) -> int:
        """Maximum number of open requests."""
        return self.client.settings.concurrency

    def fill(self) -> None:
        """Send requests up to the limit, and let the next responses be decoded."""
        while self.todo and self._room:
            request = OpenRequest(self._next_window())
            request.task = asyncio.create_task(self._responses(request, request.window))
            self.open_requests.append(request)
        for request in [*self.open_requests][:READ_AHEAD]:
            request.may_decode.set()

    async def take(self) -> list[WindowResponse]:
        """Return the responses of the oldest open request; adapt the limit to who waits for whom."""
        request = self.open_requests[0]
        assert request.task is not None  # noqa: S101 - `fill` starts it
        if not request.bytes_waiting:
            self.limit = min(2 * self.limit, self.ahead)
        elif self._waiting_bytes >= MAX_WAITING_BYTES:
            self.limit = max(self.limit // 2, 1)
        responses = await request.task
        self.open_requests.popleft()
        sizes = [len(each.body) / window.days for window, each in responses]
        self.day_bytes = max([self.day_bytes, *sizes])
        return responses

    async def cancel(self) -> None:
        """Cancel what is open."""
        tasks = [each.task for each in self.open_requests if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def _waiting_bytes(self) -> int:
        return sum(each.bytes_waiting for each in self.open_requests)

    @property
    def _room(self) -> bool:
        most = min(self.limit, self.ahead)
        return len(self.open_requests) < most and self._waiting_bytes < MAX_WAITING_BYTES

    def _next_window(self) -> Window:
        """Return the next window, cut so that its response stays below `MAX_RESPONSE_BYTES`."""
        window = self.todo.popleft()
        if self.day_bytes:
            fitting = max(1, int(MAX_RESPONSE_BYTES / self.day_bytes))
            window, *rest = window.cut(min(fitting, window.days))
            self.todo.extendleft(reversed(rest))
        return window

    async def _responses(self, request: OpenRequest, window: Window) -> list[WindowResponse]:
        """Return the window's responses: several if the service refuses the range."""

        async def decode(body: bytes) -> Response:
            request.bytes_waiting += len(body)
            await request.may_decode.wait()
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.thread, self.read, window, body)

        try:
            response: Response = await self.client.client_invoices(
                decode,
                id_entity=self.id_entity,
                start_date=window.start,
                end_date=window.end,
                language=self.language,
            )
        except RangeRefused:
            if window.days == 1:
                if self.optional:
                    return []
                raise
            halves = [await self._responses(request, half) for half in window.halves()]
            return [each for half in halves for each in half]
        return [(window, response)]


async def batches(responses: AsyncIterator[WindowResponse]) -> AsyncIterator[Batch]:
    """Yield responses as they are transformed: split responses of consecutive days together, others alone."""
    batch: list[WindowResponse] = []
    size = 0
    async for window, response in responses:
        split = response if isinstance(response, SplitResponse) else None
        if batch and (split is None or batch[-1][0].end + DAY != window.start):
            yield batch
            batch, size = [], 0
        batch.append((window, response))
        size += BATCH_BYTES if split is None else split.size
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def decoded(
    batches: AsyncIterator[Batch], thread: Executor
) -> AsyncIterator[tuple[Batch, Decoded | None]]:
    """Yield batches with the decoded rows of split responses.

    The rows of a batch are decoded, in `thread`, while the batch before it is transformed.
    """
    reader, loop = ResponseReader(), asyncio.get_running_loop()

    def decode(batch: Batch) -> tuple[Batch, Decoded | None]:
        split = (each for _, each in batch if isinstance(each, SplitResponse))
        raws = [raw for each in split for raw in each.others]
        return batch, reader.rows(raws) if raws else None

    waiting: deque[asyncio.Future[tuple[Batch, Decoded | None]]] = deque()
    async for batch in batches:
        waiting.append(loop.run_in_executor(thread, decode, batch))
        if len(waiting) > 1:
            yield await waiting.popleft()
    for each in waiting:
        yield await each
