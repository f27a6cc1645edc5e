"""Dates and date-times of the wire; their formats are not shown by the interface.

Read are ISO 8601 dates and date-times, with or without fractions of a second and zone. An empty
string is read as no date: our assumption. Texts of errors carry no value, which may be personal.
"""

import re
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

# `fromisoformat` alone would also take weeks (2026-W01-1), bare digits and any separator.
SHAPE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?"
)


@lru_cache(maxsize=1 << 16)  # a year of invoices has few hundred dates
def parse_date(value: str | None, zone: str | None = None) -> date | None:
    """Return the day a date or date-time names, or None for None and empty.

    A date-time with a zone of its own names the day on which it falls in `zone`, where given,
    unless it is a midnight as written: that is a day written as a date-time. Raises `ValueError`.
    """
    moment = _moment(value)
    if moment is None:
        return None
    if zone is not None and moment.tzinfo is not None and moment.time() != time():
        try:
            moment = moment.astimezone(ZoneInfo(zone))
        except OverflowError:
            raise ValueError("a date out of range") from None
    return moment.date()


def parse_datetime(value: str | None, zone: str) -> datetime | None:
    """Return a date-time as an aware one in UTC, or None for None and empty.

    One without a zone, or a bare date (its midnight), is meant in `zone`. Raises `ValueError`.
    """
    moment = _moment(value)
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a date-time out of range") from None


def _moment(value: str | None) -> datetime | None:
    if not value:
        return None
    if SHAPE.fullmatch(value) is None:
        raise ValueError("not an ISO 8601 date or date-time")
    try:
        return datetime.fromisoformat(value.upper())
    except ValueError:
        pass  # its text quotes the value
    raise ValueError("not a day or time of the calendar")
