"""Checks of an invoice load that no share of rows expresses: currencies, and the end of the range; pure."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from datetime import date

from bms.dates import parse_date
from bms_flows.invoices.day_counts import SATURDAY, USUAL_WEEKS, DayHistory
from bms_flows.runtime.checks import Finding
from bms_flows.runtime.windows import Window

CURRENCY_ROWS = 3
"""Fewer invoices of a currency may get another currency."""


def currency_findings(
    found: Mapping[str, Collection[date]], history: DayHistory
) -> Iterator[Finding]:
    """Yield currencies that are new to the entity, and currencies that its days lost.

    `found` has the days of each currency. Days without invoices lost more than a currency.
    """
    if len(history.days) >= USUAL_WEEKS * 7:
        for currency in sorted(found.keys() - history.currencies):
            yield Finding("currency_new", currency, frozenset(found[currency]))
    returned = {day for days in found.values() for day in days}
    for currency, days in sorted(history.stored_currencies.items()):
        left = returned.intersection(days)
        if currency not in found and sum(days[day] for day in left) >= CURRENCY_ROWS:
            yield Finding("currency_gone", currency, frozenset(left))


def empty_last_day(
    windows: Sequence[Window],
    days: Mapping[date, int],
    invalid: Container[date],
    holidays: Container[date],
) -> date | None:
    """Return the latest working day that ends a window if all such days are empty, else None.

    `days` has the invoices of each day, `invalid` the days that quarantined rows may belong to. This is
    the sign of a service that excludes end_date from the range although the setting includes it.
    """
    ends = [each.end for each in windows if each.end in days and each.end.weekday() < SATURDAY]
    returned = {day for day in ends if days[day] or day in invalid}
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
