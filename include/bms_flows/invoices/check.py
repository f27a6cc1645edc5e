"""Whether a load can be believed; pure.

The service gives no totals, so a load is held against itself, against what stands here, and
against what that weekday usually brings. A row that was published as it is, because a person
accepted it or because it was one of few, is not doubted again.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import median

from bms.dates import parse_date
from bms_flows.invoices.window import DAY, Window
from bms_flows.reasons import BREACHES

WEEKS = 8
SATURDAY = 5
SCATTER = 0.2
"""Standard deviation of a weekday's usual count, as a share of it."""


@dataclass(frozen=True)
class Tolerance:
    """How much is too much."""

    drop_share: float = 0.05
    """Share of a window's stored invoices that may vanish at once."""
    drop_rows: int = 3
    """Fewer may always vanish; a whole day of so many never."""
    quarantined_share: float = 0.05
    """Share of rows read that may be set aside."""
    quarantined_rows: int = 2
    """So few may always be: one bad row of a small day holds nobody up."""
    chance: float = 5e-4
    """A day with fewer invoices than usual is doubted when chance makes that rarer than this."""


@dataclass(frozen=True)
class WindowFound:
    """One window's answer beside what stood here of its days."""

    window: Window
    stored: int
    missing: int


@dataclass(frozen=True)
class Found:
    """What a load holds, as far as a check needs it."""

    rows_read: int
    quarantined: int
    not_accepted: int
    """Of these, new or otherwise than in any load that was published."""
    duplicates: int
    """Rows not accepted that repeat an identifier."""
    outside: int
    amounts_differ: int
    """Rows whose amounts don't add up, new or otherwise than they stand here."""
    days: Mapping[date, int]
    """Invoices of each day that was over when it was read."""
    windows: Sequence[WindowFound]
    currencies: Mapping[str, int]


@dataclass(frozen=True)
class History:
    """What is known from before: invoices per day read, currencies ever seen and in these days."""

    days: Mapping[date, int] = field(default_factory=dict)
    currencies: frozenset[str] = frozenset()
    stored_currencies: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Breach:
    """A doubt: its code in `reasons.BREACHES`, and where it shows."""

    code: str
    where: str

    def __str__(self) -> str:
        reason = BREACHES[self.code]
        return f"{self.code} ({self.where}): {reason.meaning} {reason.remedy}"


def check(
    found: Found, history: History, *, holidays: Collection[date], tolerance: Tolerance
) -> list[Breach]:
    """Return every doubt about a load; none means that it can be published."""
    breaches = []

    def doubt(code: str, where: str, holds: object) -> None:
        if holds:
            breaches.append(Breach(code, where))

    doubt("amounts_differ", f"{found.amounts_differ} rows", found.amounts_differ)
    doubt("duplicate_ids", f"{found.duplicates} rows", found.duplicates)
    doubt("outside_window", f"{found.outside} rows", found.outside)
    many = found.quarantined > max(
        tolerance.quarantined_rows, tolerance.quarantined_share * found.rows_read
    )
    many = many and found.not_accepted > 0
    doubt("many_quarantined", f"{found.quarantined} of {found.rows_read} rows", many)
    for each in found.windows:
        dropped = (
            each.missing >= tolerance.drop_rows
            and each.missing > tolerance.drop_share * each.stored
        )
        doubt("drop", f"{each.missing} of {each.stored} in {each.window}", dropped)
        for day in [] if dropped else each.window:
            stood = history.days.get(day, 0)
            lost = stood >= tolerance.drop_rows and not found.days.get(day)
            doubt("drop", f"all {stood} on {day}", lost)
    for day, invoices in sorted(found.days.items()):
        usual = usual_count(day, history.days, holidays)
        if usual is None or invoices >= history.days.get(day, math.inf):
            continue
        rare = at_most(invoices, usual) < tolerance.chance
        doubt("fewer_than_usual", f"{invoices} on {day}, usually about {usual:g}", rare)
    if len(history.days) >= WEEKS * 7:
        new = sorted(found.currencies.keys() - history.currencies)
        doubt("currency_new", ", ".join(new), new)
    gone = sorted(
        currency
        for currency, rows in history.stored_currencies.items()
        if rows >= tolerance.drop_rows and currency not in found.currencies
    )
    doubt("currency_gone", ", ".join(gone), gone)
    return breaches


def empty_end(found: Found, holidays: Collection[date]) -> date | None:
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
    return max(ends) if ends and not any(found.days[day] for day in ends) else None


def among(day: date, dates: Iterable[str | None], zone: str) -> bool:
    """Tell whether `dates`, as they came, name a day; one that can't be read names none."""

    def names(given: str | None) -> bool:
        try:
            return parse_date(given, zone) == day
        except ValueError:
            return False

    return any(names(given) for given in dates)


def usual_count(day: date, history: Mapping[date, int], holidays: Collection[date]) -> float | None:
    """Return what that weekday usually brings, by the median of the eight before.

    None on a weekend or holiday, and as long as fewer than eight weeks of history are there.
    """
    if day.weekday() >= SATURDAY or day in holidays:
        return None
    before = [day - 7 * week * DAY for week in range(1, WEEKS + 1)]
    if any(each not in history for each in before):
        return None
    working = [history[each] for each in before if each not in holidays]
    return median(working) if working else None


def at_most(count: int, mean: float) -> float:
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
