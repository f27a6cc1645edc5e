"""Check a load of invoices before it is published, day by day; pure.

The service gives no totals, so a load is compared with itself, with what the warehouse holds, and
with what the same weekday usually brings. A violation names the days that it concerns: these are
held for review, the others are published. Rows that were published as they are, because an operator
accepted them or because they were few, are no violation again.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from statistics import median

from bms.dates import parse_date
from bms_flows.runtime.reasons import VIOLATIONS
from bms_flows.runtime.windows import DAY, Window

USUAL_WEEKS = 8
"""Working days of the same weekday that say what is usual."""
HISTORY_WEEKS = 2 * USUAL_WEEKS
"""Weeks in which they are looked up: days that were held for review, and holidays, are missing."""
SATURDAY = 5
SCATTER = 0.2
"""Standard deviation of a weekday's usual count, as a share of it."""
CONFIRMED = timedelta(days=7)
"""A day that was held for few invoices, and came with no fewer so much later, is as it is."""


@dataclass(frozen=True)
class Tolerance:
    """Limits beyond which a difference is a violation."""

    drop_share: float = 0.05
    """Share of a window's stored invoices that may be missing at once."""
    drop_rows: int = 3
    """Fewer may always be missing; a whole day of so many never."""
    quarantined_share: float = 0.05
    """Share of rows read that may be quarantined."""
    quarantined_rows: int = 2
    """So many may always be: one invalid row of a small day holds nothing."""
    chance: float = 5e-4
    """A day with fewer invoices than usual is a violation when chance makes that rarer than this."""


@dataclass(frozen=True)
class WindowSummary:
    """One window's answer, compared with the invoices stored for its days."""

    window: Window
    stored: int
    missing: int
    outside: int = 0
    """Rows of other days, new or changed."""


@dataclass(frozen=True, kw_only=True)
class LoadSummary:
    """What a load holds, as far as a check needs it; of single rows the days that each may belong to."""

    rows_read: int
    quarantined: int
    not_accepted: Sequence[frozenset[date]] = ()
    """Quarantined rows that are new, or other than in every published load."""
    duplicates: Sequence[frozenset[date]] = ()
    """Of these, rows that repeat an identifier."""
    amounts_differ: Sequence[frozenset[date]] = ()
    """New or changed rows whose amounts don't add up."""
    days: Mapping[date, int] = field(default_factory=dict)
    """Invoices of each day that was over when it was read."""
    windows: Sequence[WindowSummary] = ()
    currencies: Mapping[str, Collection[date]] = field(default_factory=dict)
    """Days of each currency."""
    invalid: Collection[date] = ()
    """Days that quarantined rows may belong to."""


@dataclass(frozen=True)
class HeldDay:
    """How a day came when it was held for few invoices."""

    invoices: int
    read_on: date


@dataclass(frozen=True)
class History:
    """What is known from before: published days, currencies ever seen and stored for these days."""

    days: Mapping[date, int] = field(default_factory=dict)
    """Invoices of each published day. A day that is held for review is not among them."""
    currencies: frozenset[str] = frozenset()
    stored_currencies: Mapping[str, Mapping[date, int]] = field(default_factory=dict)
    """Stored invoices by currency and day."""
    held: Mapping[date, Sequence[HeldDay]] = field(default_factory=dict)
    """How days came that were held for few invoices."""


@dataclass(frozen=True)
class Violation:
    """A failed check: its code in `reasons.VIOLATIONS`, where it shows, the days that it concerns."""

    code: str
    where: str
    days: frozenset[date]

    def __str__(self) -> str:
        reason = VIOLATIONS[self.code]
        return f"{self.code} ({self.where}): {reason.meaning} {reason.remedy}"


def validate(
    found: LoadSummary,
    history: History,
    *,
    holidays: Collection[date],
    today: date,
    tolerance: Tolerance,
) -> list[Violation]:
    """Return the violations of a load, none if all of it can be published."""
    return [
        *_rows(found, tolerance),
        *_missing(found, history, tolerance),
        *_few(found, history, holidays, today, tolerance),
        *_currencies(found, history, tolerance),
    ]


def _rows(found: LoadSummary, tolerance: Tolerance) -> Iterator[Violation]:
    """Yield violations that single rows show."""
    for code, rows in (
        ("amounts_differ", found.amounts_differ),
        ("duplicate_ids", found.duplicates),
    ):
        if rows:
            yield Violation(code, f"{len(rows)} rows", frozenset().union(*rows))
    for each in found.windows:
        if each.outside:
            where = f"{each.outside} rows in the answer for {each.window}"
            yield Violation("outside_window", where, frozenset(each.window))
    limit = max(tolerance.quarantined_rows, tolerance.quarantined_share * found.rows_read)
    if found.not_accepted and found.quarantined > limit:
        where = f"{found.quarantined} of {found.rows_read} rows"
        yield Violation("many_quarantined", where, frozenset().union(*found.not_accepted))


def _missing(found: LoadSummary, history: History, tolerance: Tolerance) -> Iterator[Violation]:
    """Yield windows that lost too many of their invoices, and days that lost all."""
    for each in found.windows:
        limit = tolerance.drop_share * each.stored
        if each.missing >= tolerance.drop_rows and each.missing > limit:
            where = f"{each.missing} of {each.stored} in {each.window}"
            yield Violation("drop", where, frozenset(each.window))
            continue
        for day in each.window:
            before = history.days.get(day, 0)
            if before >= tolerance.drop_rows and not found.days.get(day):
                yield Violation("drop", f"all {before} on {day}", frozenset([day]))


def _few(
    found: LoadSummary,
    history: History,
    holidays: Collection[date],
    today: date,
    tolerance: Tolerance,
) -> Iterator[Violation]:
    """Yield days with far fewer invoices than usual, unless they were published or confirmed so."""
    for day, invoices in sorted(found.days.items()):
        usual = usual_count(day, history.days, holidays)
        if usual is None or invoices >= history.days.get(day, math.inf):
            continue
        if any(
            invoices >= held.invoices and today - held.read_on >= CONFIRMED
            for held in history.held.get(day, ())
        ):
            continue
        if probability_at_most(invoices, usual) < tolerance.chance:
            where = f"{invoices} on {day}, usually about {usual:g}"
            yield Violation("fewer_than_usual", where, frozenset([day]))


def _currencies(found: LoadSummary, history: History, tolerance: Tolerance) -> Iterator[Violation]:
    """Yield currencies that are new to the entity, and those that are gone from its days."""
    if len(history.days) >= USUAL_WEEKS * 7:
        for currency in sorted(found.currencies.keys() - history.currencies):
            yield Violation("currency_new", currency, frozenset(found.currencies[currency]))
    for currency, days in sorted(history.stored_currencies.items()):
        if sum(days.values()) >= tolerance.drop_rows and currency not in found.currencies:
            yield Violation("currency_gone", currency, frozenset(days))


def empty_end(found: LoadSummary, holidays: Collection[date]) -> date | None:
    """Return the last working day that ends a window, where all of these are empty; else None.

    That is how a service looks that leaves end_date out of the range while we take it in.
    """
    ends = [
        each.window.end
        for each in found.windows
        if each.window.end in found.days
        and each.window.end.weekday() < SATURDAY
        and each.window.end not in holidays
    ]
    came = any(found.days[day] or day in found.invalid for day in ends)
    return None if came else max(ends, default=None)


def contains_day(day: date, dates: Iterable[str | None], zone: str) -> bool:
    """Return whether `dates`, as they came, name a day; one that can't be read names none."""

    def names(given: str | None) -> bool:
        try:
            return parse_date(given, zone) == day
        except ValueError:
            return False

    return any(names(given) for given in dates)


def usual_count(day: date, history: Mapping[date, int], holidays: Collection[date]) -> float | None:
    """Return what that weekday usually brings: the median of the eight working ones known last.

    Days that were never published, as those held for review, are passed over, up to sixteen weeks
    back. None on a weekend or holiday, and where fewer than eight are known.
    """
    if day.weekday() >= SATURDAY or day in holidays:
        return None
    before = [day - 7 * week * DAY for week in range(1, HISTORY_WEEKS + 1)]
    working = [history[each] for each in before if each in history and each not in holidays]
    return median(working[:USUAL_WEEKS]) if len(working) >= USUAL_WEEKS else None


def probability_at_most(count: int, mean: float) -> float:
    """Return how likely at most `count` is where `mean` is usual.

    Days of a business scatter more than pure chance (Poisson) would have it, so the mean itself
    is taken to vary by a fifth (gamma), which makes the count negative binomial.
    """
    shape: float = SCATTER**-2
    term: float = (shape / (shape + mean)) ** shape
    total = term
    for k in range(1, count + 1):
        term *= (k - 1 + shape) / k * mean / (mean + shape)
        total += term
    return total
