"""Clock of the service: real by default, adjustable for tests of later days."""

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """Clock in UTC that can be set, advanced, frozen and released."""

    def __init__(self, now: datetime | None = None, *, frozen: bool = False) -> None:
        self._origin = datetime.now(UTC)
        self._started = time.monotonic()
        self.frozen = False
        if now is not None or frozen:
            self.set(now or self._origin, frozen=frozen)

    def now(self) -> datetime:
        """Return the current time of the service, aware, in UTC."""
        if self.frozen:
            return self._origin
        return self._origin + timedelta(seconds=time.monotonic() - self._started)

    def set(self, now: datetime, *, frozen: bool | None = None) -> None:
        """Continue from `now` (naive: UTC); `frozen` None leaves the clock running or frozen as before."""
        self._origin = now.astimezone(UTC) if now.tzinfo else now.replace(tzinfo=UTC)
        self._started = time.monotonic()
        if frozen is not None:
            self.frozen = frozen

    def advance(self, seconds: float) -> None:
        """Move the clock by `seconds`, backwards if negative."""
        self.set(self.now() + timedelta(seconds=seconds))
