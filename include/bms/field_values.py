"""Values of JSON as values of a record's fields, and the other spellings that have one reading only."""

import re
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec

LONGEST: Final = 18
"""Digits of an integer; a column holds no more, and `1E999999999` would be a gigabyte of them."""
CANONICAL: Final = re.compile(rf"0|-?[1-9][0-9]{{0,{LONGEST - 1}}}")
"""The text of an integer, without leading zeros: a code such as `007` is no number."""
BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False}


def field_value(value: Any, type_: Any) -> tuple[Any, bool]:
    """Return `value` as a field of type `type_`, and whether it was coerced; raise `ValueError`."""
    try:
        return _as_described(value, type_), False
    except ValueError:
        return _coerced(value, type_), True


def _as_described(value: Any, type_: Any) -> Any:
    """Return `value` as a field of type `type_`, or raise `ValueError`.

    Integers may be written as integral numbers (`12.0`); money must be written as a number.
    """
    accepted = _accepted(type_)
    if Decimal in accepted:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError
        return Decimal(value)
    if int in accepted and isinstance(value, Decimal) and value == value.to_integral_value():
        if value.adjusted() >= LONGEST:
            raise ValueError
        return int(value)
    return msgspec.convert(value, type_)  # its ValidationError is a ValueError


def _coerced(value: Any, type_: Any) -> Any:
    """Return `value`, which has another type than `type_`, where it has only one reading.

    0 and 1, as numbers or texts, and the texts true and false are booleans; texts of digits are
    integers; whole numbers are texts, but no dates. Money is never coerced: the decimal separator of
    a text depends on the language. Raises `ValueError` for anything else.
    """
    accepted = _accepted(type_)
    if bool in accepted:
        text = value.lower() if isinstance(value, str) else _whole(value)
        if text in BOOLEANS:
            return BOOLEANS[text]
    elif int in accepted and isinstance(value, str) and CANONICAL.fullmatch(value):
        return int(value)
    elif str in accepted and isinstance(value, int) and (text := _whole(value)):
        return text
    raise ValueError


def _whole(value: Any) -> str:
    """Return a whole number of at most `LONGEST` digits as text, empty for anything else."""
    if isinstance(value, Decimal) and value in (0, 1):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 10**LONGEST:
        return ""
    return str(value)


@cache
def _accepted(type_: Any) -> tuple[Any, ...]:
    """Return the types that a field takes; one with a constraint, as a key or a date, stays itself."""
    annotated = get_origin(type_) is Annotated
    return (type_,) if annotated else get_args(type_) or (type_,)
