"""Work that goes on in a thread of its own, one piece after another, while others are prepared."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self

P = ParamSpec("P")


class BackgroundWriter:
    """One thread; at most so many pieces of work wait for it, and whoever brings more waits too."""

    def __init__(self, waiting: int = 0) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._waiting = waiting
        self._under_way: deque[Future[object]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what was put; where the block fails, only for what is being done."""
        self._thread.shutdown(cancel_futures=error is not None)

    async def put(self, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Have `work` done once what was put before is; raises what that raised."""
        await self._until(self._waiting)
        self._under_way.append(self._thread.submit(work, *args, **kwargs))

    async def done(self) -> None:
        """Wait for all that was put; raises what it raised."""
        await self._until(0)

    async def _until(self, left: int) -> None:
        while len(self._under_way) > left:
            await asyncio.wrap_future(self._under_way.popleft())
