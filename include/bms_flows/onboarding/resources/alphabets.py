"""Letters of names: signs that no name has, and words that mix alphabets. Pure."""

import re
import unicodedata
from typing import Final

_NO_SIGNS: Final = frozenset(',;:/\\&*?!"#%')
_APOSTROPHES: Final = frozenset("`\u00b4")
_LOOK_LATIN: Final = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "HANGUL"})
"""Alphabets with letters that look like Latin ones, or like nothing (the Hangul filler)."""


def is_written_as_name(text: str) -> bool:
    """Return whether a text has letters, no word of digits, and no signs such as emojis."""
    words_only = any(map(str.isalpha, text)) and not any(map(str.isdigit, text.split()))
    return words_only and not any(map(_is_foreign_sign, text))


def mixes_alphabets(text: str) -> bool:
    """Return whether a word has Latin letters and letters of another alphabet that look like them."""
    if text.isascii():
        return False
    plain = unicodedata.normalize("NFKC", text)
    return any(_mixes(word) for word in re.findall(r"\w+", plain) if not word.isascii())


def _is_foreign_sign(char: str) -> bool:
    if char.isalnum() or char in _APOSTROPHES:
        return False
    return char in _NO_SIGNS or unicodedata.category(char).startswith("S")


def _mixes(word: str) -> bool:
    found = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in found and not found.isdisjoint(_LOOK_LATIN)
