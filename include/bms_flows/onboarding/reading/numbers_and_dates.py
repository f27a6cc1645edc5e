"""Parsers of dates and numbers; ambiguous ones are refused.

Dates are read in the order that the inbox declares, and a column that contradicts the order is refused.
Numbers may have a decimal comma or point and separated thousands.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Final, Literal

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.resources.normal_forms import words

Order = Literal["dmy", "mdy", "ymd"]
WRITTEN_DATES: Final = {"dmy": "dd/mm/yyyy", "mdy": "mm/dd/yyyy", "ymd": "yyyy-mm-dd"}

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
_MONTH_NAMES: Final = (
    *("janvier january", "fevrier february", "mars march", "avril april", "mai may", "juin june"),
    *("juillet july", "aout august", "septembre september", "octobre october"),
    *("novembre november", "decembre december"),
)
_YEARS: Final = range(1900, 2200)
_MONTHS: Final = 12

Mark = Literal[",", "."]

SCIENTIFIC: Final = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?[eE][+-][0-9]{1,3}")
_BLANK: Final = " \xa0\u202f\u2009"
_EURO: Final = re.compile(
    rf"(?P<before>(?:€|EUR)[{_BLANK}]*)?(?P<number>[-+0-9].*?)(?(before)|(?:[{_BLANK}]*(?:€|EUR))?)"
)
_SPELLED: Final = re.compile(rf"([0-9]{{1,2}})(?:er)?[{_BLANK}]+([^\W\d_]+)[{_BLANK}]+([0-9]{{4}})")
_PLAIN: Final = re.compile(r"[0-9]+")
_SPACED: Final = re.compile(rf"[1-9][0-9]{{0,2}}(?:[{_BLANK}][0-9]{{3}})+(?:[.,][0-9]+)?")
_BOTH: Final = re.compile(r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+\.|(?:\.[0-9]{3})+,)[0-9]+")
_GROUPS: Final = re.compile(r"[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\1[0-9]{3})+")
_ONE_MARK: Final = re.compile(r"([0-9]+)([.,])([0-9]+)")
_MARK_PAIRS: Final[tuple[tuple[Mark, Mark], ...]] = ((",", "."), (".", ","))
_DECLARED: Final[Mapping[Mark, re.Pattern[str]]] = {
    mark: re.compile(
        rf"(?:[0-9]+|[1-9][0-9]{{0,2}}([{_BLANK}{group}])[0-9]{{3}}(?:\1[0-9]{{3}})*)"
        rf"(?:{re.escape(mark)}[0-9]+)?"
    )
    for mark, group in _MARK_PAIRS
}
WRITTEN_NUMBERS: Final[Mapping[Mark, str]] = {",": "1234,5", ".": "1234.5"}
_THOUSANDS: Final = 3
_DIGITS: Final = 30
_BITS: Final = 63


def contradicting(cells: Mapping[str, object], order: Order) -> tuple[str, ...]:
    """Return the places of the cells that show that a column isn't written in `order` throughout.

    `cells` by their places, of one column: texts, and the dates that Excel made of what was typed.
    Excel leaves as text what is no date in its own order; where all of the texts are such, and all
    of the dates could be swapped, Excel has swapped them.
    """
    texts = {place: cell.strip() for place, cell in cells.items() if isinstance(cell, str)}
    orders = {
        place: _proven_order(text) for place, text in texts.items() if _YEAR_LAST.fullmatch(text)
    }
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


def parse_date(cell: str, order: Order) -> date:
    """Return the date, written in `order`, with the year first or with the month's name; raise `ReadError`."""
    day = None
    if found := _YEAR_FIRST.fullmatch(cell):
        day = _day(found[1], found[3], found[4])
    elif _SHORT_YEAR.fullmatch(cell):
        raise ReadError("two_digit_year")
    elif found := _YEAR_LAST.fullmatch(cell):
        if order == "ymd":
            raise ReadError("not_the_declared_date", declared=WRITTEN_DATES[order])
        first, month = (found[1], found[3]) if order == "dmy" else (found[3], found[1])
        day = _day(found[4], month, first)
    elif found := _SPELLED.fullmatch(cell):
        name = " ".join(words(found[2]))
        numbers = (n for n, names in enumerate(_MONTH_NAMES, 1) if name in names.split())
        day = _day(found[3], next(numbers, 0), found[1])
    if day is None:
        raise ReadError("bad_date")
    return day


def stored_date(moment: date) -> date:
    """Return the day of a date that Excel stores; raise `ReadError`."""
    day = moment.date() if isinstance(moment, datetime) else moment
    if day.year not in _YEARS:
        raise ReadError("bad_date")
    return day


def _proven_order(cell: str) -> Order | None:
    """Return the order that a date proves: a number above 12 is no month."""
    found = _YEAR_LAST.fullmatch(cell)
    if found and int(found[1]) > _MONTHS >= int(found[3]):
        return "dmy"
    if found and int(found[3]) > _MONTHS >= int(found[1]):
        return "mdy"
    return None


def _day(year: str, month: str | int, day: str) -> date | None:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found if found.year in _YEARS else None


def without_euro(cell: str) -> str:
    """Return an amount without the sign or code of the euro before or after it."""
    found = _EURO.fullmatch(cell)
    return found["number"] if found else cell


def proven_mark(cells: Iterable[str]) -> Mark | None:
    """Return the decimal mark that a column's cells prove, None where they prove none or both."""
    found: set[Mark] = set()
    for cell in cells:
        digits = cell.lstrip("+-")
        one = _ONE_MARK.fullmatch(digits)
        if (one and not _unsure(one)) or _SPACED.fullmatch(digits) or _BOTH.fullmatch(digits):
            marks = re.sub(r"[^,.]", "", digits)
            found |= {"," if last == "," else "." for last in marks[-1:]}
    return found.pop() if len(found) == 1 else None


def parse_decimal(cell: str, proven: Mark | None) -> Decimal:
    """Return the number exactly; raise `ReadError`.

    "1,234" is one and a bit where the comma is proven to be the decimal mark, else it is refused.
    """
    sign, digits = _signed(cell)
    if SCIENTIFIC.fullmatch(cell):
        raise ReadError("scientific_notation")
    if one := _ONE_MARK.fullmatch(digits):
        whole = one[1] + "." + one[3]
        if _unsure(one) and proven != one[2]:
            raise ReadError("ambiguous_number")
    elif _BOTH.fullmatch(digits):
        whole = re.sub(r"[.,](?=.*[.,])", "", digits).replace(",", ".")
    elif _GROUPS.fullmatch(digits):
        whole = re.sub(r"[.,]", "", digits)
    elif _PLAIN.fullmatch(digits) or _SPACED.fullmatch(digits):
        whole = re.sub(rf"[{_BLANK}]", "", digits).replace(",", ".")
    else:
        raise ReadError("bad_decimal")
    if len(whole) > _DIGITS:
        raise ReadError("bad_decimal")
    return Decimal(sign + whole)


def parse_declared_decimal(cell: str, mark: Mark) -> Decimal:
    """Return the number exactly, `mark` its decimal mark and the other one of thousands; raise `ReadError`."""
    sign, digits = _signed(cell)
    if SCIENTIFIC.fullmatch(cell):
        raise ReadError("scientific_notation")
    if not _DECLARED[mark].fullmatch(digits) or len(digits) > _DIGITS:
        raise ReadError("not_the_declared_decimal", declared=WRITTEN_NUMBERS[mark])
    return Decimal(sign + re.sub(rf"[^0-9{mark}]", "", digits).replace(mark, "."))


def shortest(number: Decimal) -> Decimal:
    """Return a number without zeros at its end: 2500,00 in a CSV is the 2500 of a workbook."""
    text = f"{number:f}"
    return Decimal(text.rstrip("0").rstrip(".")) if "." in text else number


def parse_integer(cell: str, declared: Mark | None = None) -> int:
    """Return a whole number of 64 bits, "80,0" and "1 200" among them; raise `ReadError`."""
    try:
        number = (
            parse_decimal(cell, None)
            if declared is None
            else parse_declared_decimal(cell, declared)
        )
    except ReadError as misread:
        if misread.code == "bad_decimal":
            raise ReadError("bad_integer") from None
        raise
    if number != number.to_integral_value() or not -(2**_BITS) <= number < 2**_BITS:
        raise ReadError("bad_integer")
    return int(number)


def parse_integers(cell: str) -> tuple[int, ...]:
    """Return the whole numbers of `3|7`; raise `ReadError`."""
    parts = [part.strip() for part in cell.split("|")]
    if not all(_PLAIN.fullmatch(part) for part in parts):
        raise ReadError("bad_integers")
    return tuple(parse_integer(part) for part in parts)


def _unsure(one: re.Match[str]) -> bool:
    """Return whether the mark before three digits may part thousands: in 1,234, not in 0,234."""
    return len(one[3]) == _THOUSANDS and len(one[1]) <= _THOUSANDS and not one[1].startswith("0")


def _signed(cell: str) -> tuple[str, str]:
    return (cell[0], cell[1:]) if cell[:1] in ("+", "-") else ("", cell)
