"""Work that goes on in a thread of its own, one piece after another, while others are prepared."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self

P = ParamSpec("P")


class Lane:
    """One thread, and at most one piece of work waiting for it: what comes faster has to wait."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[object] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what is under way, however the block ends."""
        self._thread.shutdown()

    async def put(self, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Have `work` done once what was put before is; raises what that raised."""
        await self.done()
        self._last = self._thread.submit(work, *args, **kwargs)

    async def done(self) -> None:
        """Wait for what was put; raises what it raised."""
        if self._last is not None:
            last, self._last = self._last, None
            await asyncio.wrap_future(last)
