"""Detection of text encodings and of text that a wrong encoding damaged, and encoding of reject files."""

# ruff: noqa: RUF001 - signs that look like others are the subject

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from typing import Final


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


# Letters and signs that texts of western Europe hold; UTF-8 writes them in two or three bytes.
_EXPECTED: Final = re.compile("[\u00a0-\u017f\u2010-\u203a\u20ac\u2122\ufffd\U0001f300-\U0001faff]")
_RUN: Final = re.compile(r"[^\x00-\x7f]{2,}")
_MISREAD_AS: Final = ("cp1252", "mac_roman", "cp850")

# What is left of é when a cp1252 program shows "Ã" and the byte after it became a blank.
_LONE: Final = re.compile(r"(?:(?<=[a-zß-ÿ])|\b)Ã(?=\s|$)|ï¿½|\ufffd")
# Lower-case é, è, ç and their like in MacRoman or cp850, read as cp1252: signs that no word holds. The last
# line: characters of Turkish and Central European encodings, such as Yýldýz and Kovaèeviæ.
_FOREIGN: Final = re.compile(
    r"[^\W\d_][‚ƒ„†‡ˆ‰¨¯¸¢¤¥¦¬±¶¿×÷¼½¾]|[‚ƒ†‡ˆ‰¨¯¸¢¤¥¦¬±¶×÷¼½¾€][^\W\d_]"
    r"|[a-zß-ÿ][ŠŽŒŸÐÞ]|[^\W\d_][“”™•‹›´][^\W\d_]|[^\W\d_][–—…Ÿ][a-zß-ÿ]"
    r"|[ýþðÝÞÐ]|æ\b|èe"
)
_LOST: Final = re.compile(r"(?<![^\s'’-])[^\W\d_]*+\?++[^\W\d_](?:[^\W\d_]|\?)*+(?![^\s'’-])")
"""Question marks before a letter of a word, as in Wa??sa: a program had no such letters."""


_ESCAPED: Final = re.compile(
    r"=[CE][0-9A-F]=[89AB][0-9A-F]|\\u00[0-9a-f]{2}"
    r"|&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{2,5}|#x[0-9a-f]{2,4}"
    r"|[a-z]{1,2}(?:acute|grave|circ|uml|cedil|tilde|lig|ring));",
    re.IGNORECASE,
)
"""Signs that a vCard (=C3=A9), a web page (&eacute;) or JSON writes for others."""

_NO_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_APOSTROPHES: Final = "’‘´·"
_DASHES: Final = "–—…"


def misplaced(text: str) -> int:
    """Return how many letters and signs outside ASCII are where no word has them: MŸller, L—pez.

    The right encoding of a file has fewer of them than a wrong one.
    """
    return sum(_is_misplaced(text, found.start()) for found in _NO_ASCII.finditer(text))


def _is_misplaced(text: str, place: int) -> bool:
    before, char, after = text[max(place - 1, 0) : place], text[place], text[place + 1 : place + 2]
    if char.isalpha() and char != "ƒ":
        # A capital inside of a word.
        return char.isupper() and (before.islower() or (before.isalpha() and after.islower()))
    if char.isspace() or char in _APOSTROPHES:
        return False
    # A dash between two words has a capital after it.
    return before.isalpha() and (after.islower() if char in _DASHES else after.isalpha())


def is_damaged(text: str, *, western: bool = False) -> bool:
    """Return whether `text` shows signs of a wrong encoding.

    `western`: the text was decoded as Windows-1252, which accepts almost any bytes, so that other 8-bit
    encodings are recognised by the letters they leave.
    """
    if _ESCAPED.search(text):
        return True
    if text.isascii():
        return "?" in text and _LOST.search(text) is not None
    return (
        _LONE.search(text) is not None
        or ("?" in text and _LOST.search(text) is not None)
        or any(_misread(run) for run in _RUN.findall(text))
        or (western and _FOREIGN.search(text) is not None)
    )


def _misread(run: str) -> bool:
    """Return whether UTF-8 read in another encoding leaves `run`."""
    for codec in _MISREAD_AS:
        # C1 controls represent the bytes that Windows-1252 leaves undefined.
        raw = b"".join(_byte(char, codec) for char in run)
        if any(_EXPECTED.match(char) for char in raw.decode("utf-8", errors="ignore")):
            return True
    return False


def _byte(char: str, codec: str) -> bytes:
    if "\x80" <= char <= "\x9f":
        return char.encode("latin-1")
    return char.encode(codec, errors="ignore") or b" "
