"""Validation of an invoice load before it is published, day by day; pure.

The service offers no totals. So the checks compare a load with itself, with the warehouse, and with
the usual count of each weekday. A violation names its days: these days are held for review, the other
days are published. Rows that were published before, because an operator accepted them or because they
were few, are not violations again.
"""

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from statistics import median

from bms.dates import parse_date
from bms_flows.runtime.reasons import VIOLATIONS
from bms_flows.runtime.windows import DAY, Window

USUAL_WEEKS = 8
"""Working days of the same weekday that define the usual count."""
HISTORY_WEEKS = 2 * USUAL_WEEKS
"""Weeks searched for these days; held days and holidays don't count."""
SATURDAY = 5
SCATTER = 0.2
"""Standard deviation of a weekday's usual count, as a share of it."""
CONFIRMED = timedelta(days=7)
"""A day held for few invoices passes if a read this much later returns at least the same count."""


@dataclass(frozen=True)
class Tolerance:
    """Limits beyond which a difference is a violation."""

    drop_share: float = 0.05
    """Maximum share of stored invoices that may be missing, of a window and of all windows."""
    drop_rows: int = 3
    """Fewer missing invoices always pass; a day of this many may not lose all."""
    quarantined_share: float = 0.05
    """Maximum share of quarantined rows."""
    quarantined_rows: int = 2
    """Up to this many quarantined rows always pass."""
    chance: float = 5e-4
    """A count below the usual one is a violation if its probability is lower than this."""


@dataclass(frozen=True)
class WindowSummary:
    """One window's response, compared with the invoices stored for its days."""

    window: Window
    stored: int
    missing: int
    outside: int = 0
    """New or changed rows of days outside the window."""


@dataclass(frozen=True, kw_only=True)
class LoadSummary:
    """Facts of a load for the checks; a single row is given by the days that it may belong to."""

    rows_read: int
    quarantined: int
    not_accepted: Sequence[frozenset[date]] = ()
    """Quarantined rows that no published load has quarantined with the same content."""
    duplicates: Sequence[frozenset[date]] = ()
    """Those that repeat an id."""
    amounts_differ: Sequence[frozenset[date]] = ()
    """New or changed rows whose net and VAT don't add up to the gross amount."""
    days: Mapping[date, int] = field(default_factory=dict)
    """Invoices of each day that was complete when it was read."""
    windows: Sequence[WindowSummary] = ()
    currencies: Mapping[str, Collection[date]] = field(default_factory=dict)
    """Days of each currency."""
    invalid: Collection[date] = ()
    """Days that quarantined rows may belong to."""


@dataclass(frozen=True)
class HeldDay:
    """The count of a day when it was held for few invoices."""

    invoices: int
    read_on: date


@dataclass(frozen=True)
class History:
    """The entity's published days and currencies before the load."""

    days: Mapping[date, int] = field(default_factory=dict)
    """Invoices of each published day."""
    currencies: frozenset[str] = frozenset()
    """Currencies of all published loads."""
    stored_currencies: Mapping[str, Mapping[date, int]] = field(default_factory=dict)
    """Stored invoices by currency and day."""
    held: Mapping[date, Sequence[HeldDay]] = field(default_factory=dict)
    """Earlier counts of days that were held for few invoices."""


@dataclass(frozen=True)
class Violation:
    """A failed check: its code in `reasons.VIOLATIONS`, its details and its days."""

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
    holidays: Container[date],
    today: date,
    tolerance: Tolerance,
) -> list[Violation]:
    """Return the violations of a load, none if the whole load can be published."""
    return [
        *_row_violations(found, tolerance),
        *_missing_invoices(found, history, tolerance),
        *_low_counts(found, history, holidays, today, tolerance),
        *_currency_changes(found, history, tolerance),
    ]


def _row_violations(found: LoadSummary, tolerance: Tolerance) -> Iterator[Violation]:
    """Yield the violations of single rows."""
    for code, rows in (
        ("amounts_differ", found.amounts_differ),
        ("duplicate_ids", found.duplicates),
    ):
        if rows:
            yield Violation(code, f"{len(rows)} rows", frozenset().union(*rows))
    for each in found.windows:
        if each.outside:
            where = f"{each.outside} rows in the response for {each.window}"
            yield Violation("outside_window", where, frozenset(each.window))
    limit = max(tolerance.quarantined_rows, tolerance.quarantined_share * found.rows_read)
    if found.not_accepted and found.quarantined > limit:
        where = f"{found.quarantined} of {found.rows_read} rows"
        yield Violation("many_quarantined", where, frozenset().union(*found.not_accepted))


def _missing_invoices(
    found: LoadSummary, history: History, tolerance: Tolerance
) -> Iterator[Violation]:
    """Yield windows that lost too many invoices, days that lost all, and a unit that lost too many."""

    def lost(windows: Sequence[WindowSummary]) -> str | None:
        missing, stored = sum(w.missing for w in windows), sum(w.stored for w in windows)
        if missing < tolerance.drop_rows or missing <= tolerance.drop_share * stored:
            return None
        return f"{missing} of {stored}"

    others = []
    for each in found.windows:
        if where := lost([each]):
            yield Violation("drop", f"{where} in {each.window}", frozenset(each.window))
            continue
        others.append(each)
        for day in each.window:
            before = history.days.get(day, 0)
            if before >= tolerance.drop_rows and not found.days.get(day):
                yield Violation("drop", f"all {before} on {day}", frozenset([day]))
    # Each window of an entity with a few invoices a month may lose all of them below its own limit.
    if where := lost(others):
        losing = [each.window for each in others if each.missing]
        days = frozenset(day for window in losing for day in window)
        yield Violation("drop", f"{where} in {len(losing)} responses", days)


def _low_counts(
    found: LoadSummary,
    history: History,
    holidays: Container[date],
    today: date,
    tolerance: Tolerance,
) -> Iterator[Violation]:
    """Yield days with far fewer invoices than usual, unless the count was published or confirmed."""
    for day, invoices in sorted(found.days.items()):
        if invoices >= history.days.get(day, math.inf):
            continue
        usual = usual_count(day, history.days, holidays)
        if usual is None:
            continue
        if any(
            invoices >= held.invoices and today - held.read_on >= CONFIRMED
            for held in history.held.get(day, ())
        ):
            continue
        if probability_at_most(invoices, usual) < tolerance.chance:
            where = f"{invoices} on {day}, usually about {usual:g}"
            yield Violation("fewer_than_usual", where, frozenset([day]))


def _currency_changes(
    found: LoadSummary, history: History, tolerance: Tolerance
) -> Iterator[Violation]:
    """Yield currencies that are new to the entity, and currencies that its days lost."""
    if len(history.days) >= USUAL_WEEKS * 7:
        for currency in sorted(found.currencies.keys() - history.currencies):
            yield Violation("currency_new", currency, frozenset(found.currencies[currency]))
    for currency, days in sorted(history.stored_currencies.items()):
        if sum(days.values()) >= tolerance.drop_rows and currency not in found.currencies:
            yield Violation("currency_gone", currency, frozenset(days))


def empty_last_day(found: LoadSummary, holidays: Container[date]) -> date | None:
    """Return the latest working day that ends a window if all such days are empty, else None.

    This is the sign of a service that excludes end_date from the range although the setting
    includes it.
    """
    ends = [
        each.window.end
        for each in found.windows
        if each.window.end in found.days and each.window.end.weekday() < SATURDAY
    ]
    returned = {day for day in ends if found.days[day] or day in found.invalid}
    if returned == {*ends}:
        return None
    working = [day for day in ends if day not in holidays]
    return None if returned.intersection(working) else max(working, default=None)


def contains_day(day: date, dates: Iterable[str | None], zone: str) -> bool:
    """Return whether one of the service's `dates` is `day`; an unreadable date never is."""

    def matches(given: str | None) -> bool:
        try:
            return parse_date(given, zone) == day
        except ValueError:
            return False

    return any(matches(given) for given in dates)


def usual_count(day: date, history: Mapping[date, int], holidays: Container[date]) -> float | None:
    """Return the usual count of a weekday: the median of the latest eight published working days.

    The search goes back up to sixteen weeks. Returns None for a weekend or holiday, and if fewer
    than eight days are found.
    """
    before = [day - 7 * week * DAY for week in range(1, HISTORY_WEEKS + 1)]
    known = [each for each in before if each in history]
    if day.weekday() >= SATURDAY or len(known) < USUAL_WEEKS or day in holidays:
        return None
    working = [history[each] for each in known if each not in holidays]
    return median(working[:USUAL_WEEKS]) if len(working) >= USUAL_WEEKS else None


def probability_at_most(count: int, mean: float) -> float:
    """Return the probability of at most `count` invoices if `mean` is usual.

    Daily counts scatter more than a Poisson distribution. So the mean itself varies by `SCATTER`
    (gamma), and the count is negative binomial.
    """
    shape: float = SCATTER**-2
    term: float = (shape / (shape + mean)) ** shape
    total = term
    for k in range(1, count + 1):
        term *= (k - 1 + shape) / k * mean / (mean + shape)
        total += term
    return total
