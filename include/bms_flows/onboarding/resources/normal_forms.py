"""Names, e-mail addresses and phone numbers: signs that none has, and normal forms for comparison. Pure.

Two addresses or numbers are equal only if they certainly reach the same person, so the case of a local
part and a +tag are significant.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Any, Final

import idna
import phonenumbers
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from bms_flows.runtime.settings import InvalidSetting

NAMES: Final = ("last_name", "first_name")
_NO_SIGNS: Final = frozenset(',;:/\\&*?!"#%_')
_APOSTROPHES: Final = frozenset("`\u00b4")
_LOOK_LATIN: Final = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "HANGUL"})
"""Alphabets with letters that look like Latin ones, or like nothing (the Hangul filler)."""
_LETTERS: Final = str.maketrans("øłđð\u0131", "olddi", "\u02bc") | str.maketrans(
    {"œ": "oe", "æ": "ae", "þ": "th"}
)
"""Letters without a decomposition, dotless i and an apostrophe that counts as a letter among them."""
_UMLAUT: Final = re.compile("[aou]e")
_INITIAL: Final = re.compile(r"\b(\w)\.\s?(?=\w\b)")
_FORMS: Final = """
    ag asbl bv bvba cvba eurl gmbh inc kg llc ltd nv plc sa sarl sas sasu sc sca scrl scs se snc spa
    sprl srl vzw"""
_LEGAL_FORMS: Final = frozenset(_FORMS.split())
_LIKE_MOBILES: Final = {PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE}
"""In some countries a number does not show whether it is a mobile number."""
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
_NOT_IN_LOCAL_PARTS: Final = frozenset('()<>[]:;,\\"')


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


def compared_name(values: Mapping[str, Any]) -> str | None:
    """Return a person's name as `person_name` does, with œ as oe and the like, as services may store it."""
    return person_name({name: " ".join(plain_words(values.get(name))) for name in NAMES})


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


def email_address(text: Any) -> str | None:
    """Return an address in NFKC without surrounding spaces, with its domain in IDNA 2008 form.

    None unless the text is a single plain address with a valid domain.
    """
    plain = unicodedata.normalize("NFKC", str(text or "")).strip()
    local, at, domain = plain.rpartition("@")
    if not at or not local or "@" in local or not plain.isprintable() or " " in plain:
        return None
    if _NOT_IN_LOCAL_PARTS & set(local):
        return None
    known = _domain(domain.removesuffix("."))
    return f"{local}@{known}" if "." in known else None


def is_plain_address(text: str) -> bool:
    """Return whether a text is a single address without signs that only look like an address's."""
    return (
        email_address(text) is not None
        and not text.rstrip().endswith(".")
        and all(char.isascii() or char.isalnum() for char in text.strip())
        and unicodedata.is_normalized("NFKC", text)
    )


@lru_cache(4096)  # encoding is slow, and the contacts of a client share a domain
def _domain(text: str) -> str:
    """Return a domain in IDNA 2008 form, empty if it is invalid."""
    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode()
    except idna.IDNAError:
        return ""


def phone_number(text: Any, region: str | None) -> str | None:
    """Return a phone number in E.164, with its extension; None if the number is invalid.

    `region` (ISO 3166 code) is the country of a number without a country prefix.
    """
    number = _parsed(text, region)
    return None if number is None else _written(number)


def phone_region(setting: str) -> str:
    """Return `BMS_PHONE_REGION`; raise `InvalidSetting` if it is unknown: no number would have a normal form."""
    if setting not in phonenumbers.SUPPORTED_REGIONS:
        text = f"BMS_PHONE_REGION is {setting!r}, of which no phone numbers are known. Set it to a country's ISO code."
        raise InvalidSetting(text)
    return setting


def lacks_prefix(text: Any, region: str) -> bool:
    """Return whether a phone number lacks its first 0 or its +, which Excel takes off a number."""
    digits = re.sub(r"[\s.()-]", "", str(text))
    country = phonenumbers.PhoneMetadata.metadata_for_region(region)
    return (
        country is not None
        and country.national_prefix == "0"
        and re.fullmatch("[1-9][0-9]*", digits) is not None
        and _parsed(digits, region) is not None
    )


def has_wrong_length(text: Any, regions: Collection[str]) -> bool:
    """Return whether a phone number has too few or too many digits for its country: by its prefix, or one of `regions`.

    The letter O is no digit. Short numbers and texts with an extension or two numbers are not judged.
    """
    digits = re.sub(r"[\s.()-]", "", unicodedata.normalize("NFKC", str(text)))
    if re.search(r"[0-9]O(?![^\W\d_])|(?<![^\W\d_])O[0-9]", digits, re.IGNORECASE):
        return True
    if not re.fullmatch(r"[+0][0-9]+|[1-9][0-9]{6,}", digits):
        return False
    if digits.startswith(("+", "00")):
        try:
            number = phonenumbers.parse("+" + digits.lstrip("+0"))
        except phonenumbers.NumberParseException:
            return False
        digits = phonenumbers.national_significant_number(number)
        regions = [phonenumbers.region_code_for_country_code(number.country_code or 0)]
    found = map(phonenumbers.PhoneMetadata.metadata_for_region, regions)
    known = [
        len(digits.removeprefix(each.national_prefix or "")) in each.general_desc.possible_length
        for each in found
        if each and each.general_desc
    ]
    return bool(known) and not any(known)


def is_short_postal_code(text: Any, country: Any) -> bool:
    """Return whether a French postal code has four digits: Excel takes the 0 off 01000."""
    return is_france(country) and re.fullmatch("[1-9][0-9]{3}", str(text).strip()) is not None


def is_france(country: Any) -> bool:
    """Return whether a country's code or name is France's."""
    return country_code(str(country)) == "FR"


@lru_cache(4096)  # several match rules read the same number
def mobile_number(text: Any, region: str | None) -> str | None:
    """Return a mobile number in E.164; None for a landline or an invalid number."""
    number = _parsed(text, region)
    if number is None or phonenumbers.number_type(number) not in _LIKE_MOBILES:
        return None
    return _written(number)


def loose_mobiles(values: Mapping[str, Any], region: str) -> Collection[str]:
    """Return all mobile numbers of a row or record, also in the columns of other phones, two in a cell."""
    country = region_of(values, region)
    names = ("phone_mobile_number", "phone_number", "phone_other_number")
    texts = [str(values[name]) for name in names if values.get(name)]
    parts = {part for text in texts for part in (text, *_BETWEEN_NUMBERS.split(text))}
    found = (mobile_number(part, country) for part in parts)
    return sorted({number.partition(";")[0] for number in found if number})


@cache
def country_code(country: str) -> str | None:
    """Return the ISO code of a country's code or name, None if it is unknown."""
    code = country.strip().upper()
    known = code in phonenumbers.SUPPORTED_REGIONS
    return code if known else _CODES.get("".join(plain_words(country)))


def region_of(values: Mapping[str, Any], region: str) -> str:
    """Return the country of a row or record by its code or name, `region` if it is unknown."""
    return country_code(str(values.get("country") or "")) or region


def _parsed(text: Any, region: str | None) -> phonenumbers.PhoneNumber | None:
    try:
        number = phonenumbers.parse(unicodedata.normalize("NFKC", str(text or "")), region)
    except phonenumbers.NumberParseException:
        return None
    return number if phonenumbers.is_valid_number(number) else None


def _written(number: phonenumbers.PhoneNumber) -> str:
    written: str = phonenumbers.format_number(number, PhoneNumberFormat.E164)
    return f"{written};ext={number.extension}" if number.extension else written
