"""Invoice ranges: the date that they filter, and whether `end_date` is included.

The `probe_...` functions and `find_sample` send the requests; the other functions are pure.
"""

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from bms.dates import parse_date, parse_datetime
from bms_flows.contract.finding import ContractFinding, Question
from bms_flows.contract.replies import Reply
from bms_flows.runtime.windows import DAY, Window

Row = Mapping[str, Any]
ReadRange = Callable[[Window], Awaitable[Reply]]
"""Requests the invoices of a window; its last day is sent as `end_date`."""

FIELDS: Final = ("invoice_date", "created_on", "due_date", "sent_on")
RANGE_DATE: Final = Question("invoice_range_date", "BMS_INVOICE_RANGE_DATE")
END_DATE: Final = Question("end_date", "end_date_inclusive of the connection")
SAMPLE_DAYS: Final = 28
SAMPLES: Final = 7
"""Consecutive ranges to search for a sample, backwards from yesterday."""
MIN_ROWS: Final = 5
"""Invoices that a sample needs."""
PAIRS: Final = 3
"""Pairs of days to compare."""
MAX_OFFSET: Final = timedelta(hours=14)
"""Largest UTC offset of a time zone."""


@dataclass(frozen=True)
class Sample:
    """The invoices of a range, and how to read other ranges of the same entity."""

    window: Window
    rows: Sequence[Row]
    read_range: ReadRange


async def find_sample(read_range: ReadRange, today: date) -> Sample | None:
    """Return the latest range with enough invoices; halve a refused range down to two days."""
    days = SAMPLE_DAYS
    end = today - DAY
    for _ in range(SAMPLES):
        window = Window(end - (days - 1) * DAY, end)
        reply = await read_range(window)
        while reply.refused and window.days > 2:  # noqa: PLR2004 - a single day may be empty
            window = window.halves()[1]
            reply = await read_range(window)
        if not reply.refused and len(rows := reply.rows()) >= MIN_ROWS:
            return Sample(window, rows, read_range)
        end = window.start - DAY
    return None


# The filtered date


async def probe_range_date(sample: Sample, assumed: str) -> ContractFinding:
    """Return the field that every row has within the range.

    If two fields qualify, read a range around a row in which they differ. The `assumed` field qualifies
    although some rows lack it: the service may list drafts without a date by another one.
    """
    left = fields_within(sample.rows, sample.window)
    with_assumed = [row for row in sample.rows if row.get(assumed)]
    if assumed not in left and 2 * len(with_assumed) > len(sample.rows):
        left += {assumed} & {*fields_within(with_assumed, sample.window)}
    for first, second in itertools.combinations(left, 2):
        row = distinguishing_row(sample.rows, first, second)
        day = _day(row.get(first)) if row else None
        if row is None or day is None or not {first, second} <= {*left}:
            continue
        around = await sample.read_range(Window(day - DAY, day + DAY))
        if around.ok:
            contains = any(
                each.get("id_invoice") == row.get("id_invoice") for each in around.rows()
            )
            wrong = second if contains else first
            left = [each for each in left if each != wrong]
    return range_date(left, assumed)


def fields_within(rows: Sequence[Row], window: Window) -> list[str]:
    """Return the fields that are in `window` in every row, in whatever time zone."""
    return [name for name in FIELDS if rows and all(_within(row.get(name), window) for row in rows)]


def distinguishing_row(rows: Sequence[Row], first: str, second: str) -> Row | None:
    """Return a row whose fields are at least four days apart, so that a range contains only one."""
    for row in rows:
        a, b = _day(row.get(first)), _day(row.get(second))
        if a and b and abs(a - b) >= 4 * DAY:
            return row
    return None


def range_date(left: Sequence[str], assumed: str) -> ContractFinding:
    """Return the finding from the fields that agree with every range."""
    advice = f"It is {assumed}, which is wrong: set BMS_INVOICE_RANGE_DATE to {{}}."
    if len(left) == 1:
        summary = f"start_date and end_date filter {left[0]}."
        right = left[0] == assumed
        return RANGE_DATE.answered(left[0], summary, None if right else advice.format(left[0]))
    if not left:
        why = "no date field of the invoices is always within the requested days."
        return RANGE_DATE.undetermined(why)
    wrong = advice.format(" or ".join(left)) if assumed not in left else None
    why = f"{' and '.join(left)} agree in every invoice of the sample."
    return RANGE_DATE.undetermined(why, advice=wrong, agrees=not wrong)


# The last day


async def probe_end_date(sample: Sample, inclusive: bool) -> ContractFinding:
    """Read two days together and each alone: an excluded `end_date` leaves a single day empty."""
    left = fields_within(sample.rows, sample.window) or FIELDS[:1]
    busiest = Counter(day for row in sample.rows if (day := _day(row.get(left[0]))))
    for day, _ in busiest.most_common(PAIRS):
        both = Window(day, day + DAY)
        before = await sample.read_range(both)
        alone = [await sample.read_range(Window(each, each)) for each in both]
        after = await sample.read_range(both)
        replies = (before, *alone, after)
        if all(reply.ok for reply in replies):
            finding = end_date(*(len(reply.rows()) for reply in replies), inclusive=inclusive)
            if finding.known:
                return finding
    return END_DATE.undetermined("no pair of days was conclusive.")


def end_date(
    before: int, first: int, second: int, after: int, *, inclusive: bool
) -> ContractFinding:
    """Return the finding from the row counts of two days together (twice) and of each alone."""
    if first or second:
        advice = None if inclusive else "It is false: set end_date_inclusive to true."
        return END_DATE.answered("inclusive", "The range includes end_date.", advice)
    if before and after:
        advice = "It is true: set end_date_inclusive to false." if inclusive else None
        return END_DATE.answered("exclusive", "The range ends before end_date.", advice)
    return END_DATE.undetermined("the two days have no invoices.")


def _within(value: Any, window: Window) -> bool:
    if not isinstance(value, str) or not value:
        return False
    try:
        moment = parse_datetime(value, "UTC")
        day = parse_date(value)
    except ValueError:
        return False
    if moment is None or day is None:
        return False
    if len(value) == len("2026-03-31") or value[11:19] in ("00:00:00", "00:00"):  # a day
        return day in window
    start = datetime.combine(window.start, time(), moment.tzinfo)
    return start - MAX_OFFSET <= moment < start + window.days * DAY + MAX_OFFSET


def _day(value: Any) -> date | None:
    try:
        return parse_date(value) if isinstance(value, str) else None
    except ValueError:
        return None
