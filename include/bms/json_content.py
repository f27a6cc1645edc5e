"""Content of JSON bodies: exact numbers, byte order marks, halves of characters."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of decoding for bytes that are no JSON, no text, or nested too deeply."""
MOST_DIGITS: Final = 1_000
"""Digits of a number before or behind its point; PostgreSQL's JSON refuses 1E200000."""

LONG_INTEGER: Final = re.compile(
    rb'"(?:[^"\\]|\\.)*"|((?<![0-9.])-?[0-9]{%d,}(?![0-9.eE]))' % (MOST_DIGITS + 1), re.DOTALL
)
"""A text, or as its group an integer with more digits than Python converts."""
SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a character in two halves
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def exact(digits: str) -> Decimal | str:
    """Return the exact value of a JSON number, its text if it has more than `MOST_DIGITS`."""
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return digits
    return value if max(len(digits), abs(value.adjusted())) <= MOST_DIGITS else digits


ANY: Final = msgspec.json.Decoder(float_hook=exact)


def without_halves(body: bytes) -> bytes:
    """Return a body with U+FFFD in place of each half of a surrogate pair.

    A service that cuts texts at a maximum length may cut an emoji in half. JSON permits the escape
    of a half, but no text can hold it.
    """
    if b"\\u" not in body or SURROGATE.search(body) is None:
        return body
    return ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], body)


def is_json(body: bytes) -> bool:
    """Return whether a body is JSON."""
    try:
        json_content(body)
    except UNREADABLE:
        return False
    return True


def json_content(body: bytes) -> Any:
    """Return the content of a body with exact numbers; raise one of `UNREADABLE`."""
    body = without_halves(body.removeprefix(BYTE_ORDER_MARK))
    try:
        return ANY.decode(body)
    except msgspec.ValidationError:  # a long integer, which becomes a text
        return ANY.decode(LONG_INTEGER.sub(lambda m: b'"%b"' % m[1] if m[1] else m[0], body))
