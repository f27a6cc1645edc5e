"""Dates as people write them; where day and month could be swapped, the column decides or nobody does."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Final, Literal

from bms_flows.drops.reading.misread import Misread

Order = Literal["dmy", "mdy"]
Declared = Literal["dmy", "mdy", "ymd"]
WRITTEN: Final = {"dmy": "jj/mm/aaaa", "mdy": "mm/jj/aaaa", "ymd": "aaaa-mm-jj"}

_MIDNIGHT: Final = r"(?:[T ]0?0:00(?::00(?:\.0+)?)?Z?)?"
_YEAR_FIRST: Final = re.compile(rf"([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_MIDNIGHT}")
_YEAR_LAST: Final = re.compile(rf"([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\2([0-9]{{4}}){_MIDNIGHT}")
_SHORT_YEAR: Final = re.compile(r"[0-9]{1,2}([-/.])[0-9]{1,2}\1[0-9]{2}")
_YEARS: Final = range(1900, 2200)
_MONTHS: Final = 12


def order(cells: Iterable[str]) -> Order | None:
    """Return what a column's cells prove of its dates: a number above 12 is no month."""
    first = second = False
    for cell in cells:
        if found := _YEAR_LAST.fullmatch(cell):
            first |= int(found[1]) > _MONTHS >= int(found[3])
            second |= int(found[3]) > _MONTHS >= int(found[1])
    if first == second:
        return None
    return "dmy" if first else "mdy"


def parse(cell: str, proven: Order | None) -> date:
    """Return the date; raise `Misread`."""
    if found := _YEAR_FIRST.fullmatch(cell):
        return _date(found[1], found[3], found[4])
    if _SHORT_YEAR.fullmatch(cell):
        raise Misread("two_digit_year")
    found = _YEAR_LAST.fullmatch(cell)
    if found is None:
        raise Misread("bad_date")
    first, second, year = found[1], found[3], found[4]
    if proven == "dmy":
        return _date(year, second, first)
    if proven == "mdy":
        return _date(year, first, second)
    if int(first) > _MONTHS:
        return _date(year, second, first)
    if int(second) > _MONTHS or int(first) == int(second):
        return _date(year, first, second)
    raise Misread("ambiguous_date")


def parse_declared(cell: str, declared: Declared) -> date:
    """Return the date, in the order that the inbox declares or with the year first; raise `Misread`."""
    day = None
    if found := _YEAR_FIRST.fullmatch(cell):
        day = _day(found[1], found[3], found[4])
    elif declared == "dmy" and (found := _YEAR_LAST.fullmatch(cell)):
        day = _day(found[4], found[3], found[1])
    elif declared == "mdy" and (found := _YEAR_LAST.fullmatch(cell)):
        day = _day(found[4], found[1], found[3])
    if day is None:
        raise Misread("not_the_declared_date", declared=WRITTEN[declared])
    return day


def _date(year: str, month: str, day: str) -> date:
    found = _day(year, month, day)
    if found is None:
        raise Misread("bad_date")
    return found


def _day(year: str, month: str, day: str) -> date | None:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found if found.year in _YEARS else None
