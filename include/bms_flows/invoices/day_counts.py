"""Plausibility of the number of invoices of each day; pure.

A day is compared with its weekday, its position in the month and the same week of the last year, as
far as invoices of a day are usually entered when they are as old. Several days are judged together,
because a small entity's single day proves nothing.
"""

import math
from calendar import monthrange
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache, cached_property
from statistics import mean, median
from typing import Final

from bms_flows.runtime.checks import Finding
from bms_flows.runtime.probability import at_least, at_most
from bms_flows.runtime.profile import StoredProfile
from bms_flows.runtime.windows import DAY

USUAL_WEEKS: Final = 8
"""Working days of the same weekday that define the usual count."""
HISTORY_WEEKS: Final = 2 * USUAL_WEEKS
"""Weeks searched for these days; held days and holidays don't count."""
YEAR: Final = 52 * 7 * DAY
HISTORY: Final = YEAR + (HISTORY_WEEKS + 1) * 7 * DAY
"""Days of history that the checks read."""
SATURDAY: Final = 5
SCATTER: Final = 0.2
"""Minimum standard deviation of a day's usual count, as a share of it."""
CHANCE: Final = 1e-4
"""A count less probable than this is implausible."""
HIGH: Final = 3
"""A count above the usual one by less than this factor always passes."""
HIGH_ROWS: Final = 15
"""Up to this many more invoices than usual always pass."""
SPANS: Final = (1, 2, 3, 5, 10)
"""Numbers of working days that are judged together."""
CONFIRMED: Final = timedelta(days=7)
"""A day held for its count passes if a read this much later returns at least the same count."""
EDGE: Final = 3
"""Working days at either end of a month that are compared with those of other months."""
MONTHS: Final = 3
"""Minimum months for this comparison."""
UNLIKE: Final = 2
"""Factor from which a position in the month, or a week of the last year, replaces the weekday's count."""
LATE_DAYS: Final = 10
"""Age in days from which a day's invoices count as entered."""
LATE_ROWS: Final = 50
"""Minimum invoices for learning how many are entered at each age."""
FEW: Final = "few"
MANY: Final = "many"


@dataclass(frozen=True)
class HeldDay:
    """The count of a day when it was held for its count."""

    invoices: int
    read_on: date


@dataclass(frozen=True)
class DayHistory:
    """What is known about an entity's days before a load."""

    days: Mapping[date, int] = field(default_factory=dict)
    """Invoices of each published day."""
    holidays: Container[date] = frozenset()
    held: Mapping[date, Sequence[HeldDay]] = field(default_factory=dict)
    """Earlier counts of days that were held for their count."""
    earlier: Sequence[StoredProfile] = ()
    """Profiles of earlier loads, the latest first."""
    currencies: frozenset[str] = frozenset()
    """Currencies of all published loads."""
    stored_currencies: Mapping[str, Mapping[date, int]] = field(default_factory=dict)
    """Stored invoices by currency and day."""

    def working(self, day: date) -> bool:
        """Return whether invoices are expected on a day."""
        return day.weekday() < SATURDAY and day not in self.holidays

    @cached_property
    def accepted_from(self) -> date | None:
        """The first day whose low count an operator accepted as lasting, None if there is none."""
        return next((start for e in self.earlier if (start := e.accepted.get(FEW))), None)

    def usual_count(self, day: date) -> float | None:
        """Return the usual count of a weekday: the median of the latest eight published working days.

        The search goes back up to sixteen weeks. Returns None for a weekend or holiday, and if fewer
        than eight days are found.
        """
        before = [day - 7 * week * DAY for week in range(1, HISTORY_WEEKS + 1)]
        known = [each for each in before if each in self.days]
        if day.weekday() >= SATURDAY or len(known) < USUAL_WEEKS or day in self.holidays:
            return None
        found = [self.days[each] for each in known if each not in self.holidays]
        return median(found[:USUAL_WEEKS]) if len(found) >= USUAL_WEEKS else None

    def expected(self, day: date, today: date) -> tuple[float, float] | None:
        """Return the smallest and the largest count that is usual for a day, None if unknown."""
        weekday = self.usual_count(day)
        if weekday is None:
            return None
        low = high = weekday
        position = self._position_in_month(day)
        if position is not None and _unlike(position, weekday):
            low = high = position
        if (last_year := self._last_year(day)) is not None:
            low, high = min(low, weekday * last_year), max(high, weekday * last_year)
        if self.accepted_from:
            since = filter(self.working, (d for d in self.days if self.accepted_from <= d < day))
            latest = [self.days[each] for each in sorted(since)[-USUAL_WEEKS:]]
            low = min(low, mean(latest)) if latest else low
        return low * self._completeness.get((today - day).days, 1.0), high

    def shape(self, days: int) -> float:
        """Return how little the count of several days varies, from the published days of the last weeks.

        The variation of single days averages out over several days.
        """
        if not self._ratios:
            return SCATTER**-2
        beyond_chance = mean((ratio - 1) ** 2 - 1 / usual for ratio, usual in self._ratios)
        return max(beyond_chance / days, SCATTER**2) ** -1

    @cached_property
    def _ratios(self) -> list[tuple[float, float]]:
        """Counts of the latest ordinary days relative to their weekday's median, and this median."""
        latest = sorted(filter(self._ordinary, self.days), reverse=True)[: 5 * USUAL_WEEKS]
        by_weekday = {
            w: [self.days[d] for d in latest if d.weekday() == w] for w in range(SATURDAY)
        }
        usual = {w: median(counts) for w, counts in by_weekday.items() if counts}
        return [
            (self.days[d] / usual[d.weekday()], usual[d.weekday()])
            for d in latest
            if usual[d.weekday()] and self.days[d]
        ]

    def _ordinary(self, day: date) -> bool:
        """Return whether a day is a working day whose position in the month says nothing."""
        return self.working(day) and self._edge(day) is None

    def _position_in_month(self, day: date) -> float | None:
        """Return the median count at a day's position at the end or start of other months."""
        if (place := self._edge(day)) is None:
            return None
        months = (self._working_days(day, before) for before in range(1, 13))
        at = (days[place] for days in months if len(days) >= 2 * EDGE)
        found = [self.days[each] for each in at if each in self.days]
        return median(found) if len(found) >= MONTHS else None

    def _edge(self, day: date) -> int | None:
        """Return 0, 1, … for a month's first working days, -1, -2, … for its last, else None."""
        month = self._working_days(day)
        place = month.index(day)
        if place >= len(month) - EDGE:
            return place - len(month)
        return place if place < EDGE else None

    def _working_days(self, day: date, before: int = 0) -> list[date]:
        """Return the working days of the month that is `before` months before a day's."""
        number = day.year * 12 + day.month - 1 - before
        return [each for each in _weekdays(number) if each not in self.holidays]

    def _last_year(self, day: date) -> float | None:
        """Return the share of the usual count that the same week of the last year had, if unlike it."""
        then = day - YEAR
        usual = self.usual_count(then) or self.usual_count(then - 7 * DAY)
        week = [then + n * DAY for n in range(-3, 4)]
        found = [self.days[each] for each in week if each in self.days and self.working(each)]
        if not usual or not found:
            return None
        return mean(found) / usual if _unlike(mean(found), usual) else None

    @cached_property
    def _completeness(self) -> dict[int, float]:
        """The share of a day's invoices that the service usually lists, by their age in days."""
        shares = {}
        for age in range(LATE_DAYS):
            seen = total = 0
            for each in self.earlier:
                day = each.read_on - age * DAY
                final = self.days.get(day, 0)
                if day in each.days and self.earlier[0].read_on - day >= LATE_DAYS * DAY:
                    seen, total = seen + min(each.days[day], final), total + final
            if total >= LATE_ROWS:
                shares[age] = seen / total
        return shares


def day_findings(found: Mapping[date, int], known: DayHistory, *, today: date) -> list[Finding]:
    """Return the days with implausible counts, unless the count was published or confirmed."""
    return [*_low(found, known, today), *_high(found, known, today)]


def _low(found: Mapping[date, int], known: DayHistory, today: date) -> Iterator[Finding]:
    judged = {day for day, n in found.items() if not _passes(day, n, known, today)}
    expected = dict[date, float]()
    for day in sorted(each for each in found if each <= max(judged, default=date.min)):
        usual = known.expected(day, today)
        if usual is None:
            continue
        expected[day] = usual[0]
        if day not in judged:
            continue
        start = known.accepted_from
        latest = [d for d in sorted(expected) if start is None or d > start or d == day]
        for span in SPANS:
            days = latest[-span:]
            if len(days) < span:
                break
            together, low = sum(found[d] for d in days), sum(expected[d] for d in days)
            if at_most(together, low, known.shape(span)) < CHANCE:
                where = f"{found[day]} on {day}, usually about {expected[day]:.3g}"
                if span > 1:
                    where = (
                        f"{together} on {span} working days until {day}, usually about {low:.3g}"
                    )
                yield Finding("fewer_than_usual", where, frozenset([day]), FEW)
                break


def _high(found: Mapping[date, int], known: DayHistory, today: date) -> Iterator[Finding]:
    for day, invoices in sorted(found.items()):
        before = known.days.get(day, 0)
        if invoices <= HIGH * before + HIGH_ROWS or _confirmed(day, invoices, known, today):
            continue
        usual = known.expected(day, today)
        if usual is None:
            continue
        high = max(usual[1], before)
        if invoices <= HIGH * high + HIGH_ROWS:
            continue
        if at_least(invoices, max(high, 0.5), known.shape(1)) < CHANCE:
            where = f"{invoices} on {day}, usually about {high:.3g}"
            yield Finding("more_than_usual", where, frozenset([day]), MANY)


def _passes(day: date, invoices: int, known: DayHistory, today: date) -> bool:
    return invoices >= known.days.get(day, math.inf) or _confirmed(day, invoices, known, today)


def _confirmed(day: date, invoices: int, known: DayHistory, today: date) -> bool:
    return any(
        invoices >= held.invoices and today - held.read_on >= CONFIRMED
        for held in known.held.get(day, ())
    )


def _unlike(count: float, usual: float) -> bool:
    return count > UNLIKE * usual or UNLIKE * count < usual


@cache
def _weekdays(month: int) -> Sequence[date]:
    """Return the days from Monday to Friday of a month, whose number counts from the year 0."""
    year, index = divmod(month, 12)
    days = range(1, monthrange(year, index + 1)[1] + 1)
    return [each for n in days if (each := date(year, index + 1, n)).weekday() < SATURDAY]
