"""What a task's log says of a unit: how far a long read has come, and one line at its end."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bms.counters import Counters
from bms_flows.invoices.units import Unit
from bms_flows.runtime.step_log import RowCounts
from bms_flows.runtime.windows import Window

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two lines about a long read."""


@dataclass
class Progress:
    """Counts a unit's days as they come; tells numbers only, nothing of any row."""

    unit: Unit
    counters: Counters
    clock: Callable[[], float] = time.monotonic
    days: int = 0
    _begun: float = field(init=False)
    _told: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun = self._told = self.clock()

    def taken(self, window: Window, counts: RowCounts) -> None:
        """Count a window that was taken in; say how far that is if nothing was said for a while."""
        self.days += window.days
        if self.clock() - self._told >= EVERY:
            self._told = self.clock()
            log.info(
                "entity %d: %d of %d days, %d rows, %d requests in %.0f s so far",
                self.unit.id_entity,
                self.days,
                sum(each.days for each in self.unit.windows),
                counts.rows_read,
                self.counters.requests,
                self.clock() - self._begun,
            )

    def ended(self, state: str, counts: RowCounts) -> None:
        """Say how the unit ended."""
        log.info(
            "entity %d, %s: %s; %d days, %d requests, %d rows: %d inserted, %d changed, "
            "%d unchanged, %d quarantined; %d missing; %.1f s",
            self.unit.id_entity,
            self.unit.span,
            state,
            self.days,
            self.counters.requests,
            counts.rows_read,
            counts.inserted,
            counts.changed,
            counts.unchanged,
            counts.quarantined,
            counts.missing,
            self.clock() - self._begun,
        )
