"""Circuit breaker for creates, with a rate limit after an outage.

The circuit opens on 429, 502, 503, 504 and on failed connections or tokens. While it is open, one
create at a time probes the service, after the requested or a growing wait. When the service executes a
create, the circuit closes. After 429, or frequent refusals, creates continue below the rate that the
service accepted before.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 120.0
"""Seconds between probes without a Retry-After: doubled from the first to the longest."""
TICK_S: Final = 0.001
"""Seconds below which a wait is skipped."""

CAUTION: Final = 0.8
"""Share of the accepted rate at which creates continue."""
OUTCOMES: Final = 40
FEW: Final = 3
OFTEN: Final = 0.25
"""Refusals other than 429 are a rate limit from this number and share of the last outcomes on."""
WINDOW_S: Final = 1.0
"""Minimum seconds over which the rate is measured: a rate limit may allow bursts."""
SLOWEST: Final = 0.2
"""Minimum creates per second."""
RECOVERY: Final = 1.02
"""Factor by which the rate rises each second."""


class CreatesPaused(Exception):
    """The service accepts no creates; the task's retry continues.

    `retry_after`: seconds until then if they are known; otherwise the task's growing delay, so that an
    outage that has just ended costs a minute.
    """

    retriable = True
    retry_for_hours: ClassVar[bool] = True

    def __init__(self, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(
            "the service accepts no creates (429, 502, 503, 504 or no connection). Rows that were not"
            " sent are unchanged; the retry continues with them"
        )


class Permit:
    """Permission to send one create."""


class CircuitBreaker:
    """The circuit breaker of one task; `ticks` returns its time in seconds.

    `suspected`: an earlier task met an outage, so the first create is a probe.
    """

    def __init__(
        self,
        *,
        longest_wait: float,
        ticks: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        suspected: bool = False,
    ) -> None:
        self.refusals = 0
        """Refusals so far."""
        self._longest_wait = longest_wait
        self._ticks = ticks
        self._sleep = sleep
        self._open_until = ticks() if suspected else None
        self._since = ticks()
        self._failures = 0
        self._probe: Permit | None = None
        self._probed = asyncio.Event()
        self._rate = Rate(ticks())

    async def permit(self) -> Permit:
        """Wait for permission to send; raise `CreatesPaused` if the wait would be too long."""
        while True:
            now = self._ticks()
            if self._open_until is None:
                refusals = self.refusals
                if (wait := self._rate.reserve(now)) > 0:
                    await self._sleep(wait)
                if refusals == self.refusals:
                    return Permit()
            elif self._probe is not None:
                await self._probed.wait()
            elif (wait := self._open_until - now) <= TICK_S:
                self._probe = Permit()
                return self._probe
            elif now + wait - self._since > self._longest_wait:
                raise CreatesPaused(wait if wait > LONGEST_WAIT_S else None)
            else:
                await self._sleep(wait)

    def allows(self, permit: Permit) -> bool:
        """Return whether the create may still be sent: the circuit may have opened since."""
        return self._open_until is None or permit is self._probe

    def accepted(self, permit: Permit) -> None:
        """Record that the service executed a create, or refused it because of its data."""
        self._rate.accepted()
        if permit is self._probe:
            self._open_until, self._failures = None, 0
            self._rate.resume(self._ticks())

    def refused(self, permit: Permit, retry_after: float | None, *, throttled: bool) -> None:
        """Record that the service accepts no creates; `throttled`: it answered 429."""
        self.refusals += 1
        now = self._ticks()
        requested = now + (retry_after or 0)
        self._rate.refused(now, throttled=throttled)
        if self._open_until is not None and permit is not self._probe:
            # Sent before the circuit opened.
            self._open_until = max(self._open_until, requested)
            return
        if self._open_until is None:
            self._since = now
        self._failures += 1
        growing = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 60))
        self._open_until = max(now + growing, requested)

    def done(self, permit: Permit) -> None:
        """Return a permit; after a probe without a response another create may probe."""
        if permit is self._probe:
            self._probe = None
            self._probed.set()
            self._probed = asyncio.Event()


class Rate:
    """Creates per second, unlimited until the service limits them.

    429 is a rate limit. Other refusals are one if they are frequent: single ones are faults, after
    which creates continue as before.
    """

    def __init__(self, now: float) -> None:
        self._limit: float | None = None
        self._accepted, self._counted_since = 0, now
        self._measured: float | None = None
        self._throttled = False
        self._refused = deque[bool](maxlen=OUTCOMES)
        self._limited = self._next = now

    def accepted(self) -> None:
        """Count an accepted create."""
        self._accepted += 1
        self._refused.append(False)

    def refused(self, now: float, *, throttled: bool) -> None:
        """Measure the rate accepted until the first refusal since the circuit was closed."""
        self._refused.append(True)
        self._throttled |= throttled
        if self._measured is None and self._accepted:
            self._measured = self._accepted / max(WINDOW_S, now - self._counted_since)

    def resume(self, now: float) -> None:
        """Continue after a successful probe, which used the first slot; below the measured rate if it is limited."""
        refused = sum(self._refused)
        if self._throttled or refused >= max(FEW, OFTEN * len(self._refused)):
            self._limited = now
            if self._measured is not None:
                self._limit = max(SLOWEST, CAUTION * self._measured)
        self._accepted, self._counted_since = 0, now
        self._measured, self._throttled = None, False
        self._next = now
        self.reserve(now)

    def reserve(self, now: float) -> float:
        """Reserve the next slot; return the seconds until it starts."""
        if self._limit is None:
            return 0.0
        at = max(now, self._next)
        limit = self._limit * RECOVERY ** min(at - self._limited, 3600.0)
        self._next = at + 1 / limit
        return at - now
