"""How many requests may be in flight: fewer where the service is in distress, more again slowly.

A pure decision over what answers say and when they come; `bms.in_flight` carries it out. As in
TCP, a cut is a share and a rise is one (additive increase, multiplicative decrease).
"""

import math
from http import HTTPStatus
from typing import Final

DISTRESS: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})

DISTRESS_CUT: Final = 0.5
LATENCY_CUT: Final = 0.8
RISE_AFTER: Final = 1.0
"""Seconds without distress before one more request is let into flight."""

RISING: Final = 2.0
"""Answers that take so many times as long as usual mean that requests queue up in the service."""
NOTABLE: Final = 0.1
"""Seconds; by so much at least, for a few milliseconds are the line's or our own work."""
RECENT: Final = 1 / 16
"""Weight of an answer in what is recent, and in what is usual when it is faster."""
MEMORY: Final = 60.0
"""Seconds in which a service that stays slow becomes the usual one."""
WARMING_UP: Final = 16
"""Answers of an endpoint before its latency says anything."""


class Latency:
    """Seconds until an endpoint's answers begin: recently, and usually."""

    def __init__(self) -> None:
        self.recent = self.usual = 0.0
        self._seen, self._last = 0, 0.0

    def add(self, seconds: float, now: float) -> None:
        """Take in one answer that came at `now`."""
        self._seen += 1
        elapsed, self._last = now - self._last, now
        if self._seen <= WARMING_UP:
            self.recent += (seconds - self.recent) / self._seen
            self.usual = self.recent
            return
        self.recent += (seconds - self.recent) * RECENT
        faster = self.recent < self.usual
        self.usual += (self.recent - self.usual) * (RECENT if faster else min(1, elapsed / MEMORY))

    @property
    def rising(self) -> bool:
        """Whether answers take notably longer than usual."""
        return self.recent > max(RISING * self.usual, self.usual + NOTABLE)


class Pace:
    """The number of requests that may be in flight, `limit`: from 1 to `most`, where it begins.

    Answers of requests that were in flight when it was cut tell nothing new, so that one distress
    cuts once. For latency alone it isn't cut below a quarter: a service may have grown slow for
    other reasons, and then fewer requests would not make it faster.
    """

    def __init__(self, most: int) -> None:
        self.most = self.limit = most
        self._latencies: dict[str, Latency] = {}
        self._old_answers = 0
        self._quiet_since = -math.inf

    def answered(self, endpoint: str, status: int, seconds: float, now: float) -> None:
        """Take in an answer: its status, the seconds until it began, and when it came."""
        if status in DISTRESS:
            self.failed(now)
            return
        latency = self._latencies.setdefault(endpoint, Latency())
        latency.add(seconds, now)
        if self._old_answers:
            self._old_answers -= 1
        elif latency.rising:
            self._cut(max(self.limit * LATENCY_CUT, min(self.limit, self.most / 4)), now)
        elif self.limit < self.most:
            self._rise(now)

    def failed(self, now: float) -> None:
        """Take in a refusal for now (429, 503), or an answer that never came."""
        if self._old_answers:
            self._old_answers -= 1
        else:
            self._cut(self.limit * DISTRESS_CUT, now)

    def _cut(self, limit: float, now: float) -> None:
        self._old_answers = self.limit - 1
        self.limit = max(1, int(limit))
        self._quiet_since = now

    def _rise(self, now: float) -> None:
        if now - self._quiet_since >= RISE_AFTER:
            self.limit += 1
            self._quiet_since = now
