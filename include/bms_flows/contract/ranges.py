"""Which date a range of invoices filters, and whether its last day is in it.

Interface, "GET /v1/ERP/invoices/clients". Judgements are pure; what asks stands below them.
"""

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from bms.dates import parse_date, parse_datetime
from bms_flows.contract.asking import Reply
from bms_flows.contract.finding import Finding, cannot_tell
from bms_flows.runtime.windows import DAY, Window

Row = Mapping[str, Any]
RangeOf = Callable[[Window], Awaitable[Reply]]
"""Asks for the invoices from one day to another, the days as they are sent."""

FIELDS: Final = ("invoice_date", "created_on", "due_date", "sent_on")
RANGE_SETTING: Final = "BMS_INVOICE_RANGE_DATE"
END_SETTING: Final = "end_date_inclusive of the connection"
WIDE: Final = 28
"""Days of the first range asked for."""
BACK: Final = 7
"""So many such ranges, each before the other, until one holds invoices."""
ENOUGH: Final = 5
TRIED_DAYS: Final = 3
ANYWHERE: Final = timedelta(hours=14)
"""No zone is further from another's day than this from UTC's."""


@dataclass(frozen=True)
class Wide:
    """The rows of a range that was answered, and how to ask for others of the same entity."""

    window: Window
    rows: Sequence[Row]
    range_of: RangeOf


async def ask_wide(range_of: RangeOf, today: date) -> Wide | None:
    """Return the latest range that holds enough invoices; a refused one is halved down to two days."""
    days = WIDE
    end = today - DAY
    for _ in range(BACK):
        window = Window(end - (days - 1) * DAY, end)
        reply = await range_of(window)
        while reply.refused and window.days > 2:  # noqa: PLR2004 -- one day may be none at all
            window = window.halves()[1]
            reply = await range_of(window)
        if len(rows := reply.rows()) >= ENOUGH:
            return Wide(window, rows, range_of)
        end = window.start - DAY
    return None


# The date


async def ask_range_date(wide: Wide, assumed: str) -> Finding:
    """Tell which field every row agrees with; where two do, ask where a row shows that has them apart."""
    left = fields_within(wide.rows, wide.window)
    for first, second in itertools.combinations(left, 2):
        row = row_apart(wide.rows, first, second)
        if row is None or first not in left or second not in left:
            continue
        around = await wide.range_of(_around(row, first))
        if around.ok:
            wrong = second if _holds(around.rows(), row) else first
            left = [each for each in left if each != wrong]
    return range_date(left, assumed)


def fields_within(rows: Sequence[Row], window: Window) -> list[str]:
    """Return the fields that lie in `window` in every row; a moment counts in whatever zone."""
    return [name for name in FIELDS if rows and all(_lies(row.get(name), window) for row in rows)]


def row_apart(rows: Sequence[Row], first: str, second: str) -> Row | None:
    """Return a row whose two fields lie days apart, so that a range around one lacks the other."""
    for row in rows:
        a, b = _day(row.get(first)), _day(row.get(second))
        if a and b and abs(a - b) >= 4 * DAY:
            return row
    return None


def range_date(left: Sequence[str], assumed: str) -> Finding:
    """Judge by the fields that are left."""
    name = "invoice_range_date"
    wrong = f"It says {assumed}, which is not it: set BMS_INVOICE_RANGE_DATE to {{}}."
    if len(left) == 1:
        return Finding(
            name=name,
            value=left[0],
            told=f"start_date and end_date filter {left[0]}.",
            setting=RANGE_SETTING,
            advice=None if left[0] == assumed else wrong.format(left[0]),
        )
    if not left:
        why = "no date of the invoices lies within the days asked for."
        return cannot_tell(name, why, setting=RANGE_SETTING)
    advice = None if assumed in left else wrong.format(" or ".join(left))
    why = f"{' and '.join(left)} agree in every invoice seen."
    return cannot_tell(name, why, setting=RANGE_SETTING, advice=advice, agrees=not advice)


# The last day


async def ask_end_date(wide: Wide, inclusive: bool) -> Finding:
    """Ask for two days together and each alone: what shows only together was left out alone."""
    name = "end_date"
    left = fields_within(wide.rows, wide.window) or FIELDS[:1]
    busy = Counter(day for row in wide.rows if (day := _day(row.get(left[0]))))
    for day, _ in busy.most_common(TRIED_DAYS):
        both = Window(day, day + DAY)
        before = await wide.range_of(both)
        alone = [await wide.range_of(Window(each, each)) for each in both]
        after = await wide.range_of(both)
        replies = (before, *alone, after)
        if all(reply.ok for reply in replies):
            found = end_date(*(len(reply.rows()) for reply in replies), inclusive=inclusive)
            if found.known:
                return found
    return cannot_tell(name, "no pair of days told it.", setting=END_SETTING)


def end_date(before: int, first: int, second: int, after: int, *, inclusive: bool) -> Finding:
    """Judge by the rows of two days together (before and after), and of each day alone."""
    name = "end_date"
    if first or second:
        advice = None if inclusive else "It says false: set end_date_inclusive to true."
        told = "end_date belongs to the range."
        return Finding(name=name, value="inclusive", told=told, setting=END_SETTING, advice=advice)
    if before and after:
        advice = "It says true: set end_date_inclusive to false." if inclusive else None
        told = "end_date is the first day after the range."
        return Finding(name=name, value="exclusive", told=told, setting=END_SETTING, advice=advice)
    return cannot_tell(name, "the two days hold no invoices.", setting=END_SETTING)


def _lies(value: Any, window: Window) -> bool:
    if not isinstance(value, str) or not value:
        return False
    try:
        moment = parse_datetime(value, "UTC")
        day = parse_date(value)
    except ValueError:
        return False
    if moment is None or day is None:
        return False
    if _is_day(value):
        return day in window
    opens = datetime.combine(window.start, time(), moment.tzinfo)
    return opens - ANYWHERE <= moment < opens + window.days * DAY + ANYWHERE


def _is_day(value: str) -> bool:
    return len(value) == len("2026-03-31") or value[11:19] in ("00:00:00", "00:00")


def _day(value: Any) -> date | None:
    try:
        return parse_date(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _around(row: Row, field: str) -> Window:
    day = _day(row.get(field))
    if day is None:
        raise ValueError(f"{field} names no day")
    return Window(day - DAY, day + DAY)


def _holds(rows: Sequence[Row], row: Row) -> bool:
    return any(each.get("id_invoice") == row.get("id_invoice") for each in rows)
