"""The service's own clock: real by default, movable so that a later day can be read today."""

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """Tell the service's time, in UTC; it can be set, advanced, frozen and released."""

    def __init__(self, now: datetime | None = None, *, frozen: bool = False) -> None:
        self._origin = datetime.now(UTC)
        self._started = time.monotonic()
        self.frozen = False
        if now is not None or frozen:
            self.set(now or self._origin, frozen=frozen)

    def now(self) -> datetime:
        """Return the current instant of the service, aware, in UTC."""
        if self.frozen:
            return self._origin
        return self._origin + timedelta(seconds=time.monotonic() - self._started)

    def set(self, now: datetime, *, frozen: bool | None = None) -> None:
        """Continue from `now` (naive means UTC); keep running or standing unless told."""
        self._origin = now.astimezone(UTC) if now.tzinfo else now.replace(tzinfo=UTC)
        self._started = time.monotonic()
        if frozen is not None:
            self.frozen = frozen

    def advance(self, seconds: float) -> None:
        """Jump ahead (or back, with a negative number) by `seconds`."""
        self.set(self.now() + timedelta(seconds=seconds))
