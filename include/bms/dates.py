"""Parsing of dates and timestamps.

The interface shows no formats. The functions read ISO 8601 dates and timestamps, with or without
fractions of a second and zone, and treat an empty string, the first day of year 1 and day 0 as no
date: our assumptions. Error texts quote no value, which may be personal.
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

NO_DATE: Final = ("0001-01-01", "0000-00-00")
"""What common platforms and databases send for a date without a value, with any time and zone."""


@lru_cache(maxsize=1 << 16)  # invoices repeat a few hundred dates
def parse_date(value: str | None, zone: str | None = None) -> date | None:
    """Return the day of a date or timestamp, None for a value that stands for no date.

    A timestamp with a zone is converted to `zone` first, if that is given; not at midnight, which
    denotes a day in the notation of a timestamp. Raises `ValueError`.
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
    """Return a timestamp in UTC, None for a value that stands for no date.

    A timestamp without a zone, or the midnight of a date, is in `zone`. Raises `ValueError`.
    """
    moment = _moment(value)
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a timestamp out of range") from None


def _moment(value: str | None) -> datetime | None:
    if not value:
        return None
    if SHAPE.fullmatch(value) is None:
        raise ValueError("not an ISO 8601 date or timestamp")
    if value.startswith(NO_DATE):
        return None
    try:
        return datetime.fromisoformat(value.upper())
    except ValueError:
        pass  # the original text quotes the value
    raise ValueError("not a valid date or time")
