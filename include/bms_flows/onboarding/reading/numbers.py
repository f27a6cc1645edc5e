"""Parser of numbers with decimal comma or point and thousands separators; ambiguous numbers are refused."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, Literal

from bms_flows.onboarding.faults import ReadError

Mark = Literal[",", "."]

SCIENTIFIC: Final = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?[eE][+-][0-9]{1,3}")
_BLANK: Final = " \xa0\u202f\u2009"
_PLAIN: Final = re.compile(r"[0-9]+")
_SPACED: Final = re.compile(rf"[1-9][0-9]{{0,2}}(?:[{_BLANK}][0-9]{{3}})+(?:[.,][0-9]+)?")
_BOTH: Final = re.compile(r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+\.|(?:\.[0-9]{3})+,)[0-9]+")
_GROUPS: Final = re.compile(r"[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\1[0-9]{3})+")
_ONE: Final = re.compile(r"([0-9]+)([.,])([0-9]+)")
_MARKS: Final[tuple[tuple[Mark, Mark], ...]] = ((",", "."), (".", ","))
_DECLARED: Final[Mapping[Mark, re.Pattern[str]]] = {
    mark: re.compile(
        rf"(?:[0-9]+|[1-9][0-9]{{0,2}}([{_BLANK}{group}])[0-9]{{3}}(?:\1[0-9]{{3}})*)"
        rf"(?:{re.escape(mark)}[0-9]+)?"
    )
    for mark, group in _MARKS
}
WRITTEN: Final[Mapping[Mark, str]] = {",": "1234,5", ".": "1234.5"}
_THOUSANDS: Final = 3
_DIGITS: Final = 30
_BITS: Final = 63


def mark(cells: Iterable[str]) -> Mark | None:
    """Return the decimal mark that a column's cells prove, None where they prove none or both."""
    found: set[Mark] = set()
    for cell in cells:
        digits = cell.lstrip("+-")
        one = _ONE.fullmatch(digits)
        if (one and not _unsure(one)) or _SPACED.fullmatch(digits) or _BOTH.fullmatch(digits):
            marks = re.sub(r"[^,.]", "", digits)
            found |= {"," if last == "," else "." for last in marks[-1:]}
    return found.pop() if len(found) == 1 else None


def decimal(cell: str, proven: Mark | None) -> Decimal:
    """Return the number exactly; raise `ReadError`.

    "1,234" is one and a bit where the comma is proven to be the decimal mark, else it is refused.
    """
    sign, digits = _signed(cell)
    if SCIENTIFIC.fullmatch(cell):
        raise ReadError("scientific_notation")
    if one := _ONE.fullmatch(digits):
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


def parse_declared(cell: str, mark: Mark) -> Decimal:
    """Return the number exactly, `mark` its decimal mark and the other one of thousands; raise `ReadError`."""
    sign, digits = _signed(cell)
    if SCIENTIFIC.fullmatch(cell):
        raise ReadError("scientific_notation")
    if not _DECLARED[mark].fullmatch(digits) or len(digits) > _DIGITS:
        raise ReadError("not_the_declared_decimal", declared=WRITTEN[mark])
    return Decimal(sign + re.sub(rf"[^0-9{mark}]", "", digits).replace(mark, "."))


def integer(cell: str, declared: Mark | None = None) -> int:
    """Return a whole number of 64 bits, "80,0" and "1 200" among them; raise `ReadError`."""
    try:
        number = decimal(cell, None) if declared is None else parse_declared(cell, declared)
    except ReadError as misread:
        if misread.code == "bad_decimal":
            raise ReadError("bad_integer") from None
        raise
    if number != number.to_integral_value() or not -(2**_BITS) <= number < 2**_BITS:
        raise ReadError("bad_integer")
    return int(number)


def integers(cell: str) -> tuple[int, ...]:
    """Return the whole numbers of `3|7`; raise `ReadError`."""
    parts = [part.strip() for part in cell.split("|")]
    if not all(_PLAIN.fullmatch(part) for part in parts):
        raise ReadError("bad_integers")
    return tuple(integer(part) for part in parts)


def _unsure(one: re.Match[str]) -> bool:
    """Return whether the mark before three digits may part thousands: in 1,234, not in 0,234."""
    return len(one[3]) == _THOUSANDS and len(one[1]) <= _THOUSANDS and not one[1].startswith("0")


def _signed(cell: str) -> tuple[str, str]:
    return (cell[0], cell[1:]) if cell[:1] in ("+", "-") else ("", cell)
