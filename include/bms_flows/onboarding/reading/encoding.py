"""Detection of text encodings, and encoding of reject files."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from typing import Final

from bms_flows.onboarding.reading.mojibake import misplaced


class BadEncoding(Exception):
    """The bytes are in none of the encodings that are read."""


@dataclass(frozen=True)
class Encoding:
    """A way to write text: its name in a form, Python's codec, the mark it begins with."""

    name: str
    codec: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """Return `text` in it; what it can't hold becomes a question mark, never an error."""
        return self.mark + text.encode(self.codec, errors="replace")


MARKED: Final = (
    Encoding("utf-8-sig", "utf-8", BOM_UTF8),
    Encoding("utf-16-le", "utf-16-le", BOM_UTF16_LE),
    Encoding("utf-16-be", "utf-16-be", BOM_UTF16_BE),
)
UTF_8: Final = Encoding("utf-8", "utf-8")
UNMARKED_16: Final = (
    Encoding("utf-16-le without mark", "utf-16-le"),
    Encoding("utf-16-be without mark", "utf-16-be"),
)
CP1252: Final = Encoding("cp1252", "cp1252")

_LIKE_CP1252: Final = ("mac_roman", "cp850")
"""Encodings of Excel for Mac and of old payroll programs; Windows-1252 reads nearly any of their bytes."""

ENCODINGS: Final = {each.name: each for each in (*MARKED, UTF_8, *UNMARKED_16, CP1252)}

# A header is mostly ASCII, so every other byte of UTF-16 is NUL; no other encoding has any.
_LITTLE: Final = re.compile(rb"(?:[^\0]\0){2}")
_BIG: Final = re.compile(rb"(?:\0[^\0]){2}")


def decode(content: bytes) -> tuple[str, Encoding]:
    """Return the text and its encoding; raise `BadEncoding`.

    What is valid UTF-8 is UTF-8: text of Windows-1252 that reads as UTF-8 by chance doesn't occur
    beyond single words.
    """
    for encoding in _candidates(content):
        try:
            text = content[len(encoding.mark) :].decode(encoding.codec)
        except UnicodeDecodeError:
            continue
        if encoding is CP1252 and _fits_another(content, misplaced(text)):
            continue
        return text, encoding
    raise BadEncoding


def _fits_another(content: bytes, count: int) -> bool:
    """Return whether another encoding misplaces fewer letters and signs than the `count` of Windows-1252.

    The whole file shows what a single word does not: María of MacRoman reads as Mar, an apostrophe, a.
    """
    return count > 0 and any(misplaced(content.decode(each)) < count for each in _LIKE_CP1252)


def _candidates(content: bytes) -> tuple[Encoding, ...]:
    for encoding in MARKED:
        if content.startswith(encoding.mark):
            return (encoding,)
    if b"\0" in content:
        little, big = UNMARKED_16
        return (little,) * bool(_LITTLE.match(content)) or (big,) * bool(_BIG.match(content))
    return UTF_8, CP1252
