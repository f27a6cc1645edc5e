"""Progress of a unit in the task's log: at intervals during a long read, and at its end."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bms.counters import Counters
from bms_flows.invoices.units import Unit
from bms_flows.runtime.step_log import RowCounts
from bms_flows.runtime.windows import Window

log = logging.getLogger(__name__)

INTERVAL_S = 10.0
"""Seconds between two progress lines."""


@dataclass
class Progress:
    """Counts and logs a unit's days; logs numbers only, no row data."""

    unit: Unit
    counters: Counters
    clock: Callable[[], float] = time.monotonic
    days: int = 0
    _started: float = field(init=False)
    _logged: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self._logged = self.clock()

    def add(self, window: Window, counts: RowCounts) -> None:
        """Count a transformed window; log the progress once per `INTERVAL_S`."""
        self.days += window.days
        if self.clock() - self._logged >= INTERVAL_S:
            self._logged = self.clock()
            log.info(
                "entity %d: %d of %d days, %d rows, %d requests in %.0f s so far",
                *(self.unit.id_entity, self.days, len(self.unit.days), counts.rows_read),
                *(self.counters.requests, self.clock() - self._started),
            )

    def finish(self, state: str, counts: RowCounts) -> None:
        """Log the unit's outcome."""
        log.info(
            "entity %d, %s: %s; %d days, %d requests, %d rows: %d inserted, %d changed, "
            "%d unchanged, %d quarantined; %d missing; %.1f s",
            *(self.unit.id_entity, self.unit.span, state, self.days, self.counters.requests),
            *vars(counts).values(),
            self.clock() - self._started,
        )
