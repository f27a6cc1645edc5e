"""Dates as people write them; where day and month could be swapped, the column decides or nobody does."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Final, Literal

from bms_flows.drops.reading.misread import Misread

Order = Literal["dmy", "mdy"]

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


def _date(year: str, month: str, day: str) -> date:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        found = None
    if found is None or found.year not in _YEARS:
        raise Misread("bad_date")
    return found
