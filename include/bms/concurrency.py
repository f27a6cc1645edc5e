"""Adaptive limit of concurrent requests: lower while the service is in distress, slowly higher again.

As in TCP, the limit falls by a share and rises by one (AIMD: additive increase, multiplicative
decrease).
"""

import asyncio
import math
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final
from weakref import WeakKeyDictionary

DISTRESS: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})

DISTRESS_FACTOR: Final = 0.5
LATENCY_FACTOR: Final = 0.8
RISE_AFTER: Final = 1.0
"""Seconds without distress before the limit rises by one."""

QUEUEING_FACTOR: Final = 2.0
"""Requests queue in the service if latency exceeds the usual one by this factor."""
QUEUEING_S: Final = 0.1
"""Smallest rise in seconds that counts as queueing: smaller ones come from the network and the client."""
RECENT_WEIGHT: Final = 1 / 16
"""Weight of one response in the recent latency, and in the usual latency while that falls."""
MEMORY_S: Final = 60.0
"""Seconds until the usual latency follows a lasting rise."""
WARM_UP: Final = 16
"""Responses of an endpoint before its latency counts."""


class Latency:
    """Seconds until an endpoint's responses begin: the recent and the usual value."""

    def __init__(self) -> None:
        self.recent = self.usual = 0.0
        self._count, self._last = 0, 0.0

    def add(self, seconds: float, now: float) -> None:
        """Record one response that began at `now`."""
        self._count += 1
        elapsed, self._last = now - self._last, now
        if self._count <= WARM_UP:
            self.recent += (seconds - self.recent) / self._count
            self.usual = self.recent
            return
        self.recent += (seconds - self.recent) * RECENT_WEIGHT
        weight = RECENT_WEIGHT if self.recent < self.usual else min(1, elapsed / MEMORY_S)
        self.usual += (self.recent - self.usual) * weight

    @property
    def queueing(self) -> bool:
        """Whether responses take so much longer than usual that requests queue in the service."""
        return self.recent > max(QUEUEING_FACTOR * self.usual, self.usual + QUEUEING_S)


class _Permits:
    """The permits of one event loop."""

    def __init__(self, maximum: int) -> None:
        self.semaphore = asyncio.Semaphore(maximum)
        self.withheld = 0
        """Permits of the semaphore above the limit."""


class ConcurrencyLimiter:
    """Limits concurrent requests to `limit`, between 1 and `maximum`: `async with limiter: ...`.

    Waiting requests proceed in order of arrival. Clients of one event loop that share a limiter share
    its limit; each loop has permits of its own, since a semaphore belongs to one.

    A response to a request that was in flight at the last cut does not cut again: one distress,
    one cut. Latency alone never cuts below a quarter of the maximum, since a service that is slow
    for another reason does not become faster with fewer requests.
    """

    def __init__(self, maximum: int) -> None:
        self.maximum = self.limit = maximum
        self._latencies: dict[str, Latency] = {}
        self._in_flight_at_cut = 0
        self._last_change = -math.inf
        self._permits: WeakKeyDictionary[asyncio.AbstractEventLoop, _Permits] = WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return type(self), (self.maximum,)  # no event loop follows a copy

    async def __aenter__(self) -> None:
        await self._of_loop().semaphore.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        permits, excess = self._of_loop(), self.maximum - self.limit
        if permits.withheld < excess:
            permits.withheld += 1
            return
        permits.semaphore.release()
        while permits.withheld > excess:
            permits.withheld -= 1
            permits.semaphore.release()

    def _of_loop(self) -> _Permits:
        loop = asyncio.get_running_loop()
        if loop not in self._permits:
            self._permits[loop] = _Permits(self.maximum)
        return self._permits[loop]

    def record_response(self, endpoint: str, status: int, seconds: float, now: float) -> None:
        """Adapt the limit to a response's status and to the seconds until it began."""
        if status in DISTRESS:
            self.record_failure(now)
            return
        latency = self._latencies.setdefault(endpoint, Latency())
        latency.add(seconds, now)
        if self._in_flight_at_cut:
            self._in_flight_at_cut -= 1
        elif latency.queueing:
            self._cut(max(self.limit * LATENCY_FACTOR, min(self.limit, self.maximum / 4)), now)
        elif self.limit < self.maximum and now - self._last_change >= RISE_AFTER:
            self.limit += 1
            self._last_change = now

    def record_failure(self, now: float) -> None:
        """Lower the limit after distress (429, 503) or a timeout."""
        if self._in_flight_at_cut:
            self._in_flight_at_cut -= 1
        else:
            self._cut(self.limit * DISTRESS_FACTOR, now)

    def _cut(self, limit: float, now: float) -> None:
        self._in_flight_at_cut = self.limit - 1
        self.limit = max(1, int(limit))
        self._last_change = now
