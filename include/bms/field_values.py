"""Conversion of JSON values to field types, also from mistyped values with one interpretation."""

import re
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec

LONGEST: Final = 18
"""Maximum digits of an integer, as in a column; `1E999999999` would fill a gigabyte."""
CANONICAL: Final = re.compile(rf"0|-?[1-9][0-9]{{0,{LONGEST - 1}}}")
"""An integer without leading zeros: `007` is a code."""
AMOUNT: Final = re.compile(rf"-?(0|[1-9][0-9]{{0,{LONGEST - 1}}})(\.([0-9]{{1,2}}|[0-9]{{4,9}}))?")
"""An amount whose point can't separate thousands: `12.50`, but not `1.250`."""
UUID: Final = re.compile(
    r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.IGNORECASE | re.ASCII
)
"""A UUID, with its hyphens or without."""
BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False}


class NoJson(TypeError):
    """JSON has no values of a type, which the text names."""


def own_json(value: Any) -> Any:
    """Return a number or date of numpy, pandas or pendulum as JSON has it; raise `NoJson`."""
    if getattr(value, "shape", None) == ():  # a number of numpy
        return value.item()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, date):
        return value.isoformat()
    raise NoJson(f"JSON has no {type(value).__name__}")


JSON: Final = msgspec.json.Encoder(decimal_format="number", enc_hook=own_json)

AMOUNT_DECIMALS: Final = 9
"""Decimals of stored amounts."""
SMALLEST_AMOUNT: Final = Decimal(1).scaleb(-AMOUNT_DECIMALS)
BINARY_DIGITS: Final = range(15, 18)
"""Significant digits of a number whose decimals come from binary floating point."""


def without_noise(amount: Decimal | None) -> Decimal | None:
    """Return an amount without the noise of binary floating point: 0.30000000000000004 is 0.3.

    Such an amount has 15 to 17 digits and more than nine decimals; it is rounded to nine. Any other
    amount is unchanged: it is exact, or does not fit a column.
    """
    if amount is None:
        return None
    _, digits, exponent = amount.as_tuple()
    if len(digits) not in BINARY_DIGITS or int(exponent) >= -AMOUNT_DECIMALS:
        return amount
    return amount.quantize(SMALLEST_AMOUNT)


def field_value(value: Any, type_: Any) -> tuple[Any, bool]:
    """Return `value` as a field of type `type_`, and whether it was coerced; raise `ValueError`."""
    try:
        return _as_described(value, type_), False
    except ValueError:
        return _coerced(value, type_), True


def _as_described(value: Any, type_: Any) -> Any:
    """Return `value` as a field of type `type_`, or raise `ValueError`.

    Integers may be written as integral numbers (`12.0`).
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
    """Return a mistyped value as `type_` if it has only one interpretation, or raise `ValueError`.

    0 and 1, as numbers or texts, and the texts true and false are booleans; texts of digits are
    integers; integers are texts, but no dates. A text is an amount if its point can only be a decimal
    point: the separators of a text depend on the language.
    """
    accepted = _accepted(type_)
    if bool in accepted:
        text = value.lower() if isinstance(value, str) else _whole(value)
        if text in BOOLEANS:
            return BOOLEANS[text]
    elif int in accepted and isinstance(value, str) and CANONICAL.fullmatch(value):
        return int(value)
    elif Decimal in accepted and isinstance(value, str) and AMOUNT.fullmatch(value):
        return Decimal(value)
    elif str in accepted and isinstance(value, int) and (text := _whole(value)):
        return text
    raise ValueError


def _whole(value: Any) -> str:
    """Return an integer of at most `LONGEST` digits as text, an empty text for any other value."""
    if isinstance(value, Decimal) and value in (0, 1):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 10**LONGEST:
        return ""
    return str(value)


@cache
def _accepted(type_: Any) -> tuple[Any, ...]:
    """Return the types of a field; a constrained type, such as a key or a date, is not unpacked."""
    annotated = get_origin(type_) is Annotated
    return (type_,) if annotated else get_args(type_) or (type_,)
