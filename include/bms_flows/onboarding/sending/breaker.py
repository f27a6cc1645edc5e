"""Circuit breaker for creates: while the service takes none, no row is sent but one that probes.

Opened by 429, 502, 503, 504 and by a connection or token that can't be had. While it is open nothing
is sent; after the wait that the service asked for, or a growing one, a single create probes. Once the
service takes a create, the others go on: below the rate at which the service took them before, since
what looked like an outage may be a rate limit.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final

FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 120.0
"""Seconds between probes where the service names none: doubled from the first up to the longest."""
TICK_S: Final = 0.001
"""Seconds that are not worth a wait."""
RETRY_S: Final = 1200.0
"""Seconds until a task that has given its place up tries again, at least."""

CAUTION: Final = 0.8
"""Share of the rate that the service took, at which creates go on."""
WINDOW_S: Final = 1.0
"""Seconds over which a rate is measured at least: a limit may allow a burst."""
SLOWEST: Final = 0.2
"""Creates per second at least."""
RECOVERY: Final = 1.02
"""Factor by which the rate rises each second."""


class CreatesPaused(Exception):
    """The service takes no creates for now; a retry after `retry_after` seconds goes on."""

    retriable = True
    retry_for_hours: ClassVar[bool] = True

    def __init__(self, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(
            "the service takes no creates for now (429, 502, 503, 504 or no connection). Rows that"
            f" were not sent are unchanged; this task's retry in {retry_after:.0f} s goes on with them"
        )


@dataclass(frozen=True, eq=False)
class Permit:
    """Permission to send one create, given after so many openings of the circuit."""

    openings: int


class CircuitBreaker:
    """The breaker of one task; `ticks` are its seconds.

    `suspected`: an earlier task met an outage, so that the first create is a probe.
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
        self._openings = 0
        self._probe: Permit | None = None
        self._probed = asyncio.Event()
        self._rate = Rate(ticks())

    async def permit(self) -> Permit:
        """Return permission to send, as soon as there is one; raise `CreatesPaused` if that takes too long."""
        while True:
            now = self._ticks()
            if self._open_until is None:
                openings = self._openings
                if (wait := self._rate.reserve(now)) > 0:
                    await self._sleep(wait)
                if openings == self._openings:
                    return Permit(openings)
            elif self._probe is not None:
                await self._probed.wait()
            elif (wait := self._open_until - now) <= TICK_S:
                self._probe = Permit(self._openings)
                return self._probe
            elif now + wait - self._since > self._longest_wait:
                raise CreatesPaused(max(wait, RETRY_S))
            else:
                await self._sleep(wait)

    def allows(self, permit: Permit) -> bool:
        """Return whether what has a permit may still be sent: the circuit may have opened since."""
        return self._open_until is None or permit is self._probe

    def taken(self, permit: Permit) -> None:
        """Record that the service took a create: it was executed, or refused for what it says."""
        self._rate.taken()
        if permit is self._probe:
            self._open_until, self._failures = None, 0
            self._rate.resume(self._ticks())

    def refused(self, permit: Permit, retry_after: float | None) -> None:
        """Record that the service takes no creates for now."""
        self.refusals += 1
        now = self._ticks()
        if self._open_until is not None and permit is not self._probe:
            # Sent before the circuit opened.
            self._open_until = max(self._open_until, now + (retry_after or 0))
            return
        if self._open_until is None:
            self._since = now
            self._openings += 1
        self._failures += 1
        growing = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 60))
        self._open_until = now + max(growing, retry_after or 0)
        self._rate.refused(now)

    def done(self, permit: Permit) -> None:
        """Give a permit back; a probe without an answer leaves its turn to another."""
        if permit is self._probe:
            self._probe = None
            self._probed.set()
            self._probed = asyncio.Event()


class Rate:
    """Creates per second, unlimited until the service refuses one."""

    def __init__(self, now: float) -> None:
        self._limit: float | None = None
        self._taken, self._counted_since = 0, now
        self._resumed = self._next = now

    def taken(self) -> None:
        """Count a create that the service took."""
        self._taken += 1

    def refused(self, now: float) -> None:
        """Measure what the service took until it refused one."""
        if self._taken:
            took = self._taken / max(WINDOW_S, now - self._counted_since)
            self._limit = max(SLOWEST, CAUTION * took)
        self._taken, self._counted_since = 0, now

    def resume(self, now: float) -> None:
        """Go on after a probe, which took the first place."""
        self._resumed = self._next = now
        self.reserve(now)

    def reserve(self, now: float) -> float:
        """Take the next place; return the seconds until then."""
        if self._limit is None:
            return 0.0
        at = max(now, self._next)
        limit = self._limit * RECOVERY ** min(at - self._resumed, 3600.0)
        self._next = at + 1 / limit
        return at - now
