"""Normalized e-mail addresses and phone numbers for comparison. Pure.

Two values are equal only if they certainly reach the same person, so the case of a local part and
a +tag are significant.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Any, Final

import idna
import phonenumbers
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from bms_flows.onboarding.resources.names import plain_words

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
