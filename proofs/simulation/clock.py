"""Virtual time: an event loop whose clock jumps to the next event, so that waiting costs nothing."""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class _Jump(selectors.DefaultSelector):
    """Advance the time by the wait instead of waiting."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout:
            self.passed += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is virtual."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._jump.passed


def now() -> datetime:
    """Return the virtual time of the running loop."""
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


def play(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()
