"""Selection of older days to read again, from the state of each day; pure.

The service offers no change time, and payments, sending and cancellation change old invoices. So a
run always reads the latest days again. Of the older days it reads: days with findings and days with
open invoices at growing intervals, days that no run has read, and a small share of all days in
rotation.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window

LONGEST_INTERVAL = 32
"""Days; unchanged days with open invoices are read 1, 2, 4, 8, 16, 32, 32, … days apart."""
LONGEST_GAP = 366
"""Days; longer stretches of unread days are not due, because one mistyped day causes them."""
MOVED_REACH = 31 * DAY
"""Assumed limit of a date change: this far from the old day, or ahead of today."""

MOST_AGAIN = 366
"""Days that a run has read and that it searches again for missing invoices, the latest."""


@dataclass(frozen=True)
class DayState:
    """A day that a run has attempted to read, with dates in the company's zone."""

    day: date
    attempted_on: date
    """Latest attempt, whether it was published or held for review."""
    changed_on: date
    """Latest read that changed an invoice."""
    open_invoices: int
    found_on: date | None = None
    """When the latest new finding was made."""
    held: bool = False
    """Whether the latest attempt is held for review."""

    @property
    def has_finding(self) -> bool:
        """Whether a finding is open: held, or not confirmed for `LONGEST_INTERVAL` days."""
        return self.found_on is not None and (
            self.held or (self.attempted_on - self.found_on).days < LONGEST_INTERVAL
        )

    def due(self, since: date | None, today: date) -> bool:
        """Return whether attempts at 1, 2, 4, … days after `since` are due today; never without it."""
        due = self.due_on(since)
        return due is not None and due <= today

    def due_on(self, since: date | None) -> date | None:
        """Return the day from which a run reads the day again; None without `since`."""
        if since is None:
            return None
        interval = max(1, min((self.attempted_on - since).days, LONGEST_INTERVAL))
        return self.attempted_on + timedelta(days=interval)


@dataclass(frozen=True)
class LookbackPlan:
    """The windows to read, and the days that are left out."""

    windows: Sequence[Window]
    over_budget: int
    """Number of due days beyond the budget."""
    gaps: Sequence[Window]
    """Unread days that are not due, because the gap is longer than `LONGEST_GAP`."""


def plan_lookback(
    asked: Window, states: Iterable[DayState], settings: FlowSettings, *, today: date
) -> LookbackPlan:
    """Return the windows to read: requested days, latest days, and older days that are due.

    The last `lookback_days` before the end of `asked` are always read. Of older due days at most
    `lookback_budget` are read: days with findings up to half of it, then days never read, then days
    with open invoices; the oldest attempt first. One in `lookback_rotation` of all older days is read
    in addition. Windows at most `lookback_gap` days apart become one request.
    """
    budget = settings.lookback_budget
    tail = Window(min(asked.start, asked.end - (settings.lookback_days - 1) * DAY), asked.end)
    older = [each for each in states if each.day < tail.start]
    oldest_first = sorted(older, key=lambda each: (each.attempted_on, each.day))
    gaps = unread_windows([each.day for each in older], tail.start)
    found = [
        each.day for each in oldest_first if each.has_finding and each.due(each.found_on, today)
    ]
    due = [*found[: budget // 2]]
    due += [day for window in gaps if window.days <= LONGEST_GAP for day in window]
    due += [
        each.day
        for each in oldest_first
        if each.open_invoices and each.due(each.changed_on, today) and each.day not in {*found}
    ]
    due += found[budget // 2 :]
    share = math.ceil(len(older) / settings.lookback_rotation)
    unread_today = [each.day for each in oldest_first if each.attempted_on < today]
    days = {*due[:budget], *unread_today[:share]}
    return LookbackPlan(
        join_windows([tail, *(Window(day, day) for day in days)], settings.lookback_gap),
        max(0, len(due) - budget),
        [window for window in gaps if window.days > LONGEST_GAP],
    )


def unread_windows(days: Iterable[date], end: date) -> list[Window]:
    """Return the gaps between `days`, and between the last of them and `end` (exclusive), oldest first."""
    known = [*sorted({*days}), end]
    return [
        Window(before + DAY, after - DAY)
        for before, after in pairwise(known)
        if after - before > DAY
    ]


def connected_start(days: Iterable[date]) -> date | None:
    """Return the first of `days` that no gap longer than `LONGEST_GAP` separates from the last."""
    known = sorted({*days})
    if not known:
        return None
    breaks = [
        each.end + DAY for each in unread_windows(known, known[-1]) if each.days > LONGEST_GAP
    ]
    return max([known[0], *breaks])


def search_windows(
    missing: Collection[Window], read: Collection[date], settings: FlowSettings, *, today: date
) -> tuple[list[Window], list[Window]]:
    """Return the days to search for the invoices that are missing from the windows `missing`.

    A missing invoice was deleted or got another date, and the service can only be queried by day.
    The search covers the look-back, the next month, and at most `lookback_budget` days (the latest)
    within a month of each window. Of these, at most `MOST_AGAIN` days in `read` come second: an invoice may have
    got one of them after its response.
    """
    if not missing:
        return [], []
    recent = Window(today - settings.lookback_days * DAY, today + MOVED_REACH)
    around = {
        day
        for window in missing
        for day in Window(window.start - MOVED_REACH, window.end + MOVED_REACH)
        if day not in recent
    }
    days = {*recent, *sorted(around.difference(read))[-settings.lookback_budget :]} - {*read}
    again = sorted({*recent, *around}.intersection(read))[-MOST_AGAIN:]
    return windows_of(days), windows_of(again)


def windows_of(days: Iterable[date]) -> list[Window]:
    """Return the windows of consecutive days, oldest first."""
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
