"""Simulated windows: daily runs over a history of days, and the audits' turns; no day is due and unread."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from random import Random
from typing import Final

from bms_flows.audit.planning import InvoiceHistory, window_of
from bms_flows.invoices.lookback import LONGEST_INTERVAL, DayState, LookbackPlan, plan_lookback
from bms_flows.invoices.units import limit_units, split_into_units
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window
from proofs.simulation.recorder import Recorder, draws

TODAY: Final = date(2026, 6, 1)
MAPPED: Final = 8
"""Units that are mapped at most here, so that some must be joined."""


def broken(seed: int, recorder: Recorder) -> list[str]:
    """Play the runs of `seed`; return the laws they broke."""
    random = draws(seed)
    return [*_extraction(random, recorder), *_audits(random, recorder)]


def _extraction(random: Random, recorder: Recorder) -> Iterator[str]:
    settings = FlowSettings(
        lookback_days=random.choice((0, 3, 35)),
        lookback_budget=random.choice((0, 1, 5, 20)),
        lookback_rotation=random.choice((1, 7, 90)),
        lookback_gap=random.choice((0, 2)),
    )
    stored = {each.day: each for each in _history(random)}
    for turn in range(random.randint(1, 6)):
        today = TODAY + turn * DAY
        asked = Window(today - random.choice((1, 1, 3)) * DAY, today - DAY)
        found = plan_lookback(asked, stored.values(), settings, today=today)
        yield from _wrong(asked, [*stored.values()], found, settings, today)
        yield from _shared_out(random, found.windows)
        recorder.counts["runs"] += 1
        recorder.counts["due days left to the next run"] += found.over_budget
        recorder.note(f"{today}: {' '.join(map(str, found.windows))}; {found.over_budget} left")
        for day in (day for window in found.windows for day in window):
            before = stored.get(day)
            changed = before is None or random.random() < 0.1  # noqa: PLR2004 - a share
            stored[day] = DayState(
                day, today, today if changed or before is None else before.changed_on,
                random.choice((0, 0, 1)),
            )  # fmt: skip


def _history(random: Random) -> Iterator[DayState]:
    for ago in range(1, random.choice((10, 60, 120))):
        if random.random() < 0.8:  # noqa: PLR2004 - a share of the days
            read = random.randint(0, 80)
            changed = read + random.choice((0, 1, 3, 20, 60))
            yield DayState(
                TODAY - ago * DAY,
                TODAY - read * DAY,
                TODAY - changed * DAY,
                random.choice((0, 0, 1, 9)),
            )


def _wrong(
    asked: Window,
    stored: Sequence[DayState],
    found: LookbackPlan,
    settings: FlowSettings,
    today: date,
) -> Iterator[str]:
    read = {day for window in found.windows for day in window}
    latest = min(asked.start, asked.end - max(settings.lookback_days - 1, 0) * DAY)
    if not {*Window(latest, asked.end)} <= read:
        yield "a day asked for, or of the latest, is not read"
    if any(
        (after.start - before.end).days <= settings.lookback_gap + 1
        for before, after in pairwise(found.windows)
    ):
        yield "windows overlap, or are near enough to be one"
    older = sorted(
        (each for each in stored if each.day < latest),
        key=lambda each: (each.attempted_on, each.day),
    )
    history = [*Window(min(each.day for each in older), latest - DAY)] if older else []
    due = sorted({*history} - {each.day for each in older})
    due += [each.day for each in older if each.open_invoices and _overdue(each, today)]
    if not {*due[: settings.lookback_budget]} <= read:
        yield "of the due days, not those never read and the longest unseen are read"
    if found.over_budget != max(0, len(due) - settings.lookback_budget):
        yield "due days are left out uncounted"
    share = math.ceil(len(older) / settings.lookback_rotation)
    rotated = [each.day for each in older if each.attempted_on < today][:share]
    if not {*rotated} <= read:
        yield "a day whose turn it is in the rotation is not read"
    bridged = settings.lookback_gap * (len(due) + share + 1)
    if (
        len(read)
        > Window(latest, asked.end).days + min(settings.lookback_budget, len(due)) + share + bridged
    ):
        yield "more days are read than the budget allows"


def _overdue(each: DayState, today: date) -> bool:
    """Whether a day is due, computed independently: its last read is as many days ago as it was unchanged, 1 to 32."""
    quiet = (each.attempted_on - each.changed_on).days
    return (today - each.attempted_on).days >= min(max(quiet, 1), LONGEST_INTERVAL)


def _shared_out(random: Random, windows: Sequence[Window]) -> Iterator[str]:
    unit_days = random.choice((1, 7, 366))
    planned = split_into_units(1, windows, unit_days=unit_days)
    days = [day for unit in planned for window in unit.windows for day in window]
    if days != [day for window in windows for day in window]:
        yield "units don't hold the windows' days, once each, oldest first"
    if any(sum(window.days for window in unit.windows) > unit_days for unit in planned):
        yield "a unit is longer than its limit"
    fewer = limit_units(planned, MAPPED)
    if len(fewer) > MAPPED:
        yield "more units than are mapped"
    if [day for unit in fewer for window in unit.windows for day in window] != days:
        yield "joined units hold other days"


def _audits(random: Random, recorder: Recorder) -> Iterator[str]:
    """Yield the laws that the audits' turns break: all days have theirs."""
    days, age = random.randint(1, 31), random.randint(1, 200)
    due = random.choice((None, TODAY - random.randint(1, age) * DAY))
    turns = 3 * (age // days + 2)
    tried: dict[date, datetime] = {}
    audited = []
    for turn in range(turns):
        known = InvoiceHistory(TODAY - age * DAY, due, tried=dict(tried))
        window = window_of(known, days, today=TODAY, turn=turn)
        tried |= dict.fromkeys(window, datetime(2026, 6, 1, tzinfo=UTC) + turn * DAY)
        audited.append(window)
    recorder.counts["audits"] += turns
    if any(window.days > days for window in audited):
        yield "an audit compares more days than it may"
    seen = {day for window in audited for day in window}
    if not {TODAY - n * DAY for n in range(1, age + 1)} <= seen:
        yield "a day has no turn in the audits"
    if due is not None and due not in {day for window in audited[:3] for day in window}:
        yield "what an audit left open is not compared again at once"
