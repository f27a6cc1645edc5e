"""Loose forms of names, companies and phone numbers, which find possible matches for a reviewer. Pure."""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache
from typing import Any, Final

import phonenumbers

_LETTERS: Final = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d"})
_UMLAUT: Final = re.compile("[aou]e")
_INITIAL: Final = re.compile(r"\b(\w)\.\s?(?=\w\b)")
_FORMS: Final = """
    ag asbl bv bvba cvba eurl gmbh inc kg llc ltd nv plc sa sarl sas sasu sc sca scrl scs se snc spa
    sprl srl vzw"""
_LEGAL_FORMS: Final = frozenset(_FORMS.split())
_COUNTRIES: Final = {
    "BE": "b belgie belgien belgique belgium",
    "CH": "schweiz suisse switzerland zwitserland",
    "DE": "allemagne d deutschland duitsland germany",
    "ES": "espagne espana spain spanje",
    "FR": "f fra france frankreich frankrijk",
    "GB": "angleterre england greatbritain grandebretagne royaumeuni uk unitedkingdom",
    "IE": "ierland ireland irlande",
    "IT": "italia italie italy",
    "LU": "l letzebuerg lux luxembourg luxemburg",
    "NL": "holland hollande nederland netherlands paysbas thenetherlands",
    "PT": "portugal",
    "US": "etatsunis unitedstates usa",
}
_CODES: Final = {name: code for code, names in _COUNTRIES.items() for name in names.split()}
_BETWEEN_NUMBERS: Final = re.compile(r"[/;,|\n]|:::|\s(?:ou|or|of|et|and|en)\s", re.IGNORECASE)


@cache
def country_code(country: str) -> str | None:
    """Return the ISO code of a country's code or name, None if it is unknown."""
    code = country.strip().upper()
    return code if code in phonenumbers.SUPPORTED_REGIONS else _CODES.get("".join(_words(country)))


def loose_name(values: Mapping[str, Any]) -> str | None:
    """Return both names in order, without accents, spaces and punctuation: Van der Meer is Vandermeer."""
    names = sorted(_joined(values.get(each)) for each in ("last_name", "first_name"))
    return "\0".join(names) if all(names) else None


def loose_company(values: Mapping[str, Any]) -> str | None:
    """Return a company's name without accents, spaces, punctuation and legal form."""
    return _company(str(values.get("imported_company_name") or "")) or None


def loose_mobiles(
    mobile_number: Callable[[str], str | None], values: Mapping[str, Any]
) -> Collection[str]:
    """Return all mobile numbers of a row or record, also in the columns of other phones."""
    names = ("phone_mobile_number", "phone_number", "phone_other_number")
    texts = [str(values[name]) for name in names if values.get(name)]
    parts = {part for text in texts for part in (text, *_BETWEEN_NUMBERS.split(text))}
    found = (mobile_number(part) for part in parts)
    return sorted({number.partition(";")[0] for number in found if number})


@lru_cache(4096)
def _company(name: str) -> str:
    words = _words(_INITIAL.sub(r"\1", name))
    return _joined(" ".join(word for word in words if word not in _LEGAL_FORMS) or name)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents and punctuation."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.findall(r"\w+", "".join(char for char in plain if not unicodedata.combining(char)))


def _words(text: Any) -> list[str]:
    """Return the words of a text with œ as oe, ø as o and the like."""
    return words(str(text or "").casefold().translate(_LETTERS))


@lru_cache(4096)  # several match rules read the same name
def _joined(text: Any) -> str:
    """Return the words of a text as one, with ü written as ue or u alike."""
    return _UMLAUT.sub(lambda found: found[0][0], "".join(_words(text)))
