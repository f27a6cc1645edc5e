"""Names of persons and companies: signs that no name has, and forms for comparison. Pure."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

NAMES: Final = ("last_name", "first_name")
_NO_SIGNS: Final = frozenset(',;:/\\&*?!"#%')
_APOSTROPHES: Final = frozenset("`\u00b4")
_LOOK_LATIN: Final = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "HANGUL"})
"""Alphabets with letters that look like Latin ones, or like nothing (the Hangul filler)."""
_LETTERS: Final = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d"})
_UMLAUT: Final = re.compile("[aou]e")
_INITIAL: Final = re.compile(r"\b(\w)\.\s?(?=\w\b)")
_FORMS: Final = """
    ag asbl bv bvba cvba eurl gmbh inc kg llc ltd nv plc sa sarl sas sasu sc sca scrl scs se snc spa
    sprl srl vzw"""
_LEGAL_FORMS: Final = frozenset(_FORMS.split())


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


def person_name(values: Mapping[str, Any]) -> str | None:
    """Return a person's name without accents, punctuation and word order; None unless both names are filled."""
    parts = [str(values.get(name) or "") for name in NAMES]
    if not all(part.strip() for part in parts):
        return None
    return " ".join(sorted(words(" ".join(parts)))) or None


def loose_name(values: Mapping[str, Any]) -> str | None:
    """Return both names in order, without accents, spaces and punctuation: Van der Meer is Vandermeer."""
    names = sorted(_joined(values.get(each)) for each in NAMES)
    return "\0".join(names) if all(names) else None


def loose_company(values: Mapping[str, Any]) -> str | None:
    """Return a company's name without accents, spaces, punctuation and legal form."""
    return _company(str(values.get("imported_company_name") or "")) or None


@lru_cache(4096)
def _company(name: str) -> str:
    kept = [word for word in plain_words(_INITIAL.sub(r"\1", name)) if word not in _LEGAL_FORMS]
    return _joined(" ".join(kept) or name)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents and punctuation."""
    if text.isascii():
        return re.findall(r"\w+", text.casefold())
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.findall(r"\w+", "".join(char for char in plain if not unicodedata.combining(char)))


def plain_words(text: Any) -> list[str]:
    """Return the words of a text with œ as oe, ø as o and the like."""
    return words(str(text or "").casefold().translate(_LETTERS))


@lru_cache(4096)  # several match rules read the same name
def _joined(text: Any) -> str:
    """Return the words of a text as one, with ü written as ue or u alike."""
    return _UMLAUT.sub(lambda found: found[0][0], "".join(plain_words(text)))


def _is_foreign_sign(char: str) -> bool:
    if char.isalnum() or char in _APOSTROPHES:
        return False
    return char in _NO_SIGNS or unicodedata.category(char).startswith("S")


def _mixes(word: str) -> bool:
    found = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in found and not found.isdisjoint(_LOOK_LATIN)
