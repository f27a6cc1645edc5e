"""Background writer: one thread and a bounded queue of work, with backpressure."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self

P = ParamSpec("P")


class BackgroundWriter:
    """Runs work in one thread, in order; `put` waits while `waiting` items are queued."""

    def __init__(self, waiting: int = 0) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._waiting = waiting
        self._queue: deque[Future[object]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for all queued work and raise its error; if the block failed, only end the running item."""
        self._thread.shutdown(cancel_futures=error is not None)
        if error is None:
            for work in self._queue:
                work.result()

    async def put(self, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Queue `work`; raise the error of earlier work."""
        await self._drain(self._waiting)
        self._queue.append(self._thread.submit(work, *args, **kwargs))

    async def done(self) -> None:
        """Wait for all queued work; raise its error."""
        await self._drain(0)

    async def _drain(self, left: int) -> None:
        while len(self._queue) > left:
            await asyncio.wrap_future(self._queue.popleft())
