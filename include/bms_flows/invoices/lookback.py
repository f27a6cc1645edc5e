"""Selection of older days to read again; pure.

The service offers no change time, and payments, sending and cancellation change old invoices. So a
run always reads the latest days again. It reads older days with open invoices at growing intervals
since their last change, and a small share of all days in rotation. Days between the first and the
latest that no run has read come before these.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from bms_flows.runtime.windows import DAY, Window

LONGEST_INTERVAL = 32
"""Days; unchanged days with open invoices are read 1, 2, 4, 8, 16, 32, 32, … days apart."""
MOVED_REACH = 31 * DAY
"""Assumed limit of a date change: this far from the old day, or ahead of today."""


@dataclass(frozen=True)
class ReadDay:
    """A stored day: when it was last read, when a read last changed it, its open invoices."""

    day: date
    read_on: date
    changed_on: date
    open_invoices: int

    def due_on(self) -> date:
        """Return the date from which the day is due again."""
        unchanged_days = (self.read_on - self.changed_on).days
        return self.read_on + timedelta(days=max(1, min(unchanged_days, LONGEST_INTERVAL)))


@dataclass(frozen=True)
class LookbackPlan:
    """The windows to read, and the number of due days that the budget left out."""

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
    """Return the windows to read: requested days, latest days, and older days that are due.

    The last `lookback_days` before the end of `asked` are always read. Of older due days at most
    `budget` are read: days never read first, then the days with the oldest read. One in `rotation`
    of all older days is read in addition. Windows at most `gap` days apart become one request.
    """
    tail = Window(min(asked.start, asked.end - (lookback_days - 1) * DAY), asked.end)
    older = [each for each in stored if each.day < tail.start]
    oldest_first = sorted(older, key=lambda each: (each.read_on, each.day))
    due = _never_read(older, tail.start)
    due += [each.day for each in oldest_first if each.open_invoices and each.due_on() <= today]
    share = math.ceil(len(older) / rotation)
    unread_today = [each.day for each in oldest_first if each.read_on < today]
    days = {*due[:budget], *unread_today[:share]}
    return LookbackPlan(
        join_windows([tail, *(Window(day, day) for day in days)], gap), max(0, len(due) - budget)
    )


def _never_read(older: Sequence[ReadDay], end: date) -> list[date]:
    """Return the unread days from the first of `older` to `end`, exclusive."""
    read = {each.day for each in older}
    first = min(read, default=end)
    return [day for n in range((end - first).days) if (day := first + n * DAY) not in read]


def search_windows(
    missing: Collection[Window],
    read: Collection[date],
    *,
    today: date,
    lookback_days: int,
    most: int,
) -> list[Window]:
    """Return the days to search for the invoices that are missing from the windows `missing`.

    A missing invoice was deleted or got another date, and the service can only be queried by day.
    The search covers the look-back, the next month, and at most `most` days (the latest) within a
    month of each window. Days in `read` are left out.
    """
    if not missing:
        return []
    recent = Window(today - lookback_days * DAY, today + MOVED_REACH)
    around = {
        day
        for window in missing
        for day in Window(window.start - MOVED_REACH, window.end + MOVED_REACH)
        if day not in recent
    }
    days = {*recent, *sorted(around.difference(read))[-most:]} - {*read}
    return join_windows((Window(day, day) for day in days), gap=0)


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
