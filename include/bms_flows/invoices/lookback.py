"""Which older days are worth another look; pure.

The service has no change time, and payments, sending and cancelling change old invoices without a
trace. So a run re-reads the latest days always; older days with an open invoice at growing
intervals since the look that last changed something; and of all days a small share in rotation.
A day that was never read, between the first that was and the latest, comes before these: no run
was there while it was among the latest.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from bms_flows.runtime.windows import DAY, Window

LONGEST_INTERVAL = 32
"""Days; looks at a quiet day with open invoices are 1, 2, 4, 8, 16, 32, 32, … days apart."""


@dataclass(frozen=True)
class ReadDay:
    """A day in our store: when it was last read, when a read last changed it, what is open."""

    day: date
    read_on: date
    changed_on: date
    open_invoices: int

    def due_on(self) -> date:
        """Return from when on the day is due for another look."""
        quiet = (self.read_on - self.changed_on).days
        return self.read_on + timedelta(days=max(1, min(quiet, LONGEST_INTERVAL)))


@dataclass(frozen=True)
class LookbackPlan:
    """What to read beside the days asked for: windows, and how many due days the budget left out."""

    windows: Sequence[Window]
    over_budget: int


def plan_lookback(
    asked: Window,
    stored: Iterable[ReadDay],
    *,
    today: date,
    lookback_days: int,
    budget: int,
    rotation: int,
    gap: int,
) -> LookbackPlan:
    """Return the windows to read: the days asked for, the latest days, and older ones that are due.

    `lookback_days` before the end of `asked` are read always; of older days at most `budget` that
    are due, those never read first, then the longest unseen, and one in `rotation` of all. Windows
    at most `gap` days apart become one request.
    """
    tail = Window(min(asked.start, asked.end - (lookback_days - 1) * DAY), asked.end)
    older = [looked for looked in stored if looked.day < tail.start]
    oldest_first = sorted(older, key=lambda looked: (looked.read_on, looked.day))
    due = _never_read(older, tail.start)
    due += [each.day for each in oldest_first if each.open_invoices and each.due_on() <= today]
    share = math.ceil(len(older) / rotation)
    unread_today = [each.day for each in oldest_first if each.read_on < today]
    days = {*due[:budget], *unread_today[:share]}
    return LookbackPlan(
        join_windows([tail, *(Window(day, day) for day in days)], gap), max(0, len(due) - budget)
    )


def _never_read(older: Sequence[ReadDay], end: date) -> list[date]:
    """Return the days before `end` that are missing since the first of `older`."""
    read = {looked.day for looked in older}
    first = min(read, default=end)
    return [day for n in range((end - first).days) if (day := first + n * DAY) not in read]


def join_windows(windows: Iterable[Window], gap: int) -> list[Window]:
    """Join windows that overlap or are at most `gap` days apart, oldest first."""
    joined: list[Window] = []
    for window in sorted(windows):
        if joined and (window.start - joined[-1].end).days <= gap + 1:
            last = joined[-1]
            joined[-1] = Window(last.start, max(last.end, window.end))
        else:
            joined.append(window)
    return joined
