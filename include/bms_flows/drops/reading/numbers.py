"""Numbers as people write them: decimal comma or point, thousands by blanks; never a guess."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, Literal

from bms_flows.drops.reading.misread import Misread

Mark = Literal[",", "."]

SCIENTIFIC: Final = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?[eE][+-][0-9]{1,3}")
_BLANK: Final = " \xa0\u202f\u2009"
_PLAIN: Final = re.compile(r"[0-9]+")
_SPACED: Final = re.compile(rf"[1-9][0-9]{{0,2}}(?:[{_BLANK}][0-9]{{3}})+(?:[.,][0-9]+)?")
_BOTH: Final = re.compile(r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+\.|(?:\.[0-9]{3})+,)[0-9]+")
_GROUPS: Final = re.compile(r"[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\1[0-9]{3})+")
_ONE: Final = re.compile(r"([0-9]+)([.,])([0-9]+)")
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


def decimal(cell: str, proven: Mark | None, declared: Mark | None = None) -> Decimal:
    """Return the number exactly; raise `Misread`.

    "1,234" is one and a bit where the comma is proven or declared to be the decimal mark, and a
    thousand only where the point is declared to be it.
    """
    sign, digits = _signed(cell)
    if SCIENTIFIC.fullmatch(cell):
        raise Misread("scientific_notation")
    if one := _ONE.fullmatch(digits):
        whole = one[1] + "." + one[3]
        if _unsure(one) and (declared or proven) != one[2]:
            if declared is None:
                raise Misread("ambiguous_number")
            whole = one[1] + one[3]
    elif _BOTH.fullmatch(digits):
        whole = re.sub(r"[.,](?=.*[.,])", "", digits).replace(",", ".")
    elif _GROUPS.fullmatch(digits):
        whole = re.sub(r"[.,]", "", digits)
    elif _PLAIN.fullmatch(digits) or _SPACED.fullmatch(digits):
        whole = re.sub(rf"[{_BLANK}]", "", digits).replace(",", ".")
    else:
        raise Misread("bad_decimal")
    if len(whole) > _DIGITS:
        raise Misread("bad_decimal")
    return Decimal(sign + whole)


def integer(cell: str) -> int:
    """Return a whole number of 64 bits, "80,0" and "1 200" among them; raise `Misread`."""
    try:
        number = decimal(cell, None)
    except Misread as misread:
        if misread.code == "bad_decimal":
            raise Misread("bad_integer") from None
        raise
    if number != number.to_integral_value() or not -(2**_BITS) <= number < 2**_BITS:
        raise Misread("bad_integer")
    return int(number)


def integers(cell: str) -> tuple[int, ...]:
    """Return the whole numbers of `3|7`; raise `Misread`."""
    parts = [part.strip() for part in cell.split("|")]
    if not all(_PLAIN.fullmatch(part) for part in parts):
        raise Misread("bad_integers")
    return tuple(integer(part) for part in parts)


def _unsure(one: re.Match[str]) -> bool:
    """Return whether the mark before three digits may part thousands: in 1,234, not in 0,234."""
    return len(one[3]) == _THOUSANDS and len(one[1]) <= _THOUSANDS and not one[1].startswith("0")


def _signed(cell: str) -> tuple[str, str]:
    return (cell[0], cell[1:]) if cell[:1] in ("+", "-") else ("", cell)
