"""Simulation of the look-back over months of daily runs, compared with fixed windows.

The company has 1,000 invoices on each working day for five years, 2 % of them never paid; the others
are paid after 20 to 75 days, most around 45. Daily runs continue while 1,000 more changes hit old
invoices, at ages spread evenly from 0 to 400 days. A change is seen when a run reads its day.
Only the policy differs between rows. In a second company every invoice is paid in the end:
none of its old days has an open invoice, and only the rotation reads them.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from bms_flows.invoices import lookback
from bms_flows.invoices.lookback import DayState, join_windows, plan_lookback
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window

START = date(2026, 9, 1)
HISTORY = 5 * 365
RUNS = 60
PER_DAY = 1000
NEVER_PAID = 0.02
CHANGES = 1000
OLDEST = 400
SEEN_AFTER = (7, 32)

Plan = Callable[["Company", date], list[Window]]


@dataclass
class Company:
    """Days of invoices: how many stay open for ever, when the others are paid, what was read when."""

    seed: int
    never_paid: float = NEVER_PAID
    paid_on: dict[date, dict[date, int]] = field(default_factory=dict)
    open_for_ever: dict[date, int] = field(default_factory=dict)
    looked: dict[date, DayState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draws = random.Random(self.seed)  # noqa: S311 - a simulation
        for n in range(1, HISTORY + RUNS + 1):
            day = START + (RUNS - n) * DAY
            invoices = PER_DAY if day.weekday() < 5 else 0  # noqa: PLR2004 - Saturday
            never = sum(draws.random() < self.never_paid for _ in range(invoices))
            self.open_for_ever[day] = never
            paid: dict[date, int] = {}
            for _ in range(invoices - never):
                after = round(draws.triangular(20, 75, 45))
                paid[day + after * DAY] = paid.get(day + after * DAY, 0) + 1
            self.paid_on[day] = paid

    def open_on(self, day: date, today: date) -> int:
        """Return how many of a day's invoices are open at the end of `today`."""
        later = sum(number for at, number in self.paid_on[day].items() if at > today)
        return self.open_for_ever[day] + later

    def changed_between(self, day: date, before: date, today: date) -> bool:
        """Return whether a payment changed the day after `before`, up to `today`."""
        return any(before < at <= today for at in self.paid_on[day])


Change = tuple[date, date]
"""A change that nothing announces: the invoice's day, and when it happens."""


@dataclass
class Outcome:
    """What a policy came to."""

    name: str
    days_per_run: float
    requests_per_run: float
    seen: dict[int, float]


def changes(company: Company, seed: int) -> list[Change]:
    """Draw changes, at ages evenly from 0 to 400 days."""
    draws = random.Random(seed)  # noqa: S311 - a simulation
    drawn: list[Change] = []
    while len(drawn) < CHANGES:
        on = START + draws.randrange(RUNS - max(SEEN_AFTER)) * DAY
        day = on - draws.randrange(OLDEST + 1) * DAY
        if company.paid_on.get(day):
            drawn.append((day, on))
    return drawn


def settled(company: Company, plan: Plan, warm_up: int = 200) -> None:
    """Let daily runs have gone on before, so that every day's record is as the policy leaves it."""
    for day in sorted(company.paid_on):
        if day < START - warm_up * DAY:
            age_seen = min(day + 80 * DAY, START - warm_up * DAY)
            company.looked[day] = DayState(
                day,
                START - (warm_up + day.toordinal() % 90) * DAY,
                age_seen,
                company.open_on(day, age_seen),
            )
    for n in range(-warm_up, 0):
        _run(company, START + n * DAY, plan, {})


def _run(
    company: Company, today: date, plan: Plan, hits: dict[date, list[int]]
) -> tuple[set[date], int]:
    windows = plan(company, today)
    read = {day for window in windows for day in window if day in company.paid_on}
    requests = sum(len(window.cut(FlowSettings.window_days)) for window in windows)
    for day in read:
        before = company.looked.get(day)
        changed = (
            before is None
            or company.changed_between(day, before.attempted_on, today)
            or day in hits
        )
        still = company.open_on(day, today)
        on = today if changed or before is None else before.changed_on
        company.looked[day] = DayState(day, today, on, still)
    return read, requests


def simulate(name: str, plan: Plan, *, never_paid: float = NEVER_PAID, seed: int = 1) -> Outcome:
    """Run daily for two months and see which changes are seen how soon."""
    company = Company(seed, never_paid)
    settled(company, plan)
    happened = changes(company, seed + 1)
    delays: dict[int, int] = {}
    days = requests = 0
    for n in range(RUNS):
        today = START + n * DAY
        waiting: dict[date, list[int]] = {}
        for number, (day, on) in enumerate(happened):
            if on <= today and number not in delays:
                waiting.setdefault(day, []).append(number)
        read, asked = _run(company, today, plan, waiting)
        days, requests = days + len(read), requests + asked
        for day in read & waiting.keys():
            for number in waiting[day]:
                delays[number] = (today - happened[number][1]).days + 1

    def within(runs: int) -> float:
        return sum(delay <= runs for delay in delays.values()) / len(happened)

    seen = {runs: within(runs) for runs in SEEN_AFTER}
    return Outcome(name, days / RUNS, requests / RUNS, seen)


def fixed(days: int) -> Plan:
    """Return a fixed window: the last days of every run."""
    return lambda _, today: [Window(today - days * DAY, today - DAY)]


def ours(longest: int = lookback.LONGEST_INTERVAL, **given: int) -> Plan:
    """Return the flow's own look back, with settings other than the defaults where given."""
    settings = FlowSettings(**{f"lookback_{name}": each for name, each in given.items()})  # type: ignore[arg-type]

    def plan(company: Company, today: date) -> list[Window]:
        lookback.LONGEST_INTERVAL = longest
        asked = Window(today - DAY, today - DAY)
        stored = [looked for looked in company.looked.values() if looked.day < today]
        found = plan_lookback(asked, stored, settings, today=today)
        return join_windows(found.windows, 0)

    return plan
