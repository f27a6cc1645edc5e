"""Parser of dates in the order that an inbox declares; a column that contradicts the order is refused."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Final, Literal

from bms_flows.onboarding.faults import ReadError

Order = Literal["dmy", "mdy", "ymd"]
WRITTEN: Final = {"dmy": "jj/mm/aaaa", "mdy": "mm/jj/aaaa", "ymd": "aaaa-mm-jj"}

_MONTH: Final = (
    "janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc|jan|feb|mar|apr|may|jun|jul|aug|sep|dec"
)
MADE_BY_EXCEL: Final = re.compile(
    rf"[0-9]{{2}}-(?:{_MONTH})\.?|(?:{_MONTH})\.?-[0-9]{{2}}", re.IGNORECASE
)
"""What French or English Excel shows of a text such as 2.1, 3/4 or MARS1, which it takes for a date."""

_MIDNIGHT: Final = r"(?:[T ]0?0:00(?::00(?:\.0+)?)?Z?)?"
_YEAR_FIRST: Final = re.compile(rf"([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_MIDNIGHT}")
_YEAR_LAST: Final = re.compile(rf"([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\2([0-9]{{4}}){_MIDNIGHT}")
_SHORT_YEAR: Final = re.compile(r"[0-9]{1,2}([-/.])[0-9]{1,2}\1[0-9]{2}")
_YEARS: Final = range(1900, 2200)
_MONTHS: Final = 12


def contradicting(cells: Mapping[str, object], order: Order) -> tuple[str, ...]:
    """Return the places of the cells that show that a column isn't written in `order` throughout.

    `cells` by their places, of one column: texts, and the dates that Excel made of what was typed.
    Excel leaves as text what is no date in its own order; where all of the texts are such, and all
    of the dates could be swapped, Excel has swapped them.
    """
    texts = {place: cell.strip() for place, cell in cells.items() if isinstance(cell, str)}
    orders = {place: _order(text) for place, text in texts.items() if _YEAR_LAST.fullmatch(text)}
    against = tuple(place for place, found in orders.items() if found not in (None, order))
    if against or not orders:
        return against
    days = [cell.day for cell in cells.values() if isinstance(cell, datetime)]
    left = all(found == order for found in orders.values())
    return tuple(orders) if left and days and max(days) <= _MONTHS else ()


def swappable(day: date) -> bool:
    """Return whether day and month could be the other way round."""
    return day.day <= _MONTHS and day.day != day.month


def year_last(cell: str) -> bool:
    """Return whether a cell is a date in which only the order distinguishes day and month."""
    return _YEAR_LAST.fullmatch(cell) is not None


def parse(cell: str, order: Order) -> date:
    """Return the date, written in `order` or with the year first; raise `ReadError`."""
    day = None
    if found := _YEAR_FIRST.fullmatch(cell):
        day = _day(found[1], found[3], found[4])
    elif _SHORT_YEAR.fullmatch(cell):
        raise ReadError("two_digit_year")
    elif found := _YEAR_LAST.fullmatch(cell):
        if order == "ymd":
            raise ReadError("not_the_declared_date", declared=WRITTEN[order])
        first, month = (found[1], found[3]) if order == "dmy" else (found[3], found[1])
        day = _day(found[4], month, first)
    if day is None:
        raise ReadError("bad_date")
    return day


def native(moment: date) -> date:
    """Return the day of a date that Excel stores; raise `ReadError`."""
    day = moment.date() if isinstance(moment, datetime) else moment
    if day.year not in _YEARS:
        raise ReadError("bad_date")
    return day


def _order(cell: str) -> Order | None:
    """Return the order that a date proves: a number above 12 is no month."""
    found = _YEAR_LAST.fullmatch(cell)
    if found and int(found[1]) > _MONTHS >= int(found[3]):
        return "dmy"
    if found and int(found[3]) > _MONTHS >= int(found[1]):
        return "mdy"
    return None


def _day(year: str, month: str, day: str) -> date | None:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found if found.year in _YEARS else None
