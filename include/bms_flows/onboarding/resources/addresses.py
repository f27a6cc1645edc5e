"""E-mail addresses and phone numbers in the one form in which they are compared. Pure.

Two forms are equal only if they surely reach the same person: what may make a difference
somewhere (the case of a local part, a +tag) is kept.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

import idna
import phonenumbers
from phonenumbers import PhoneNumberFormat, PhoneNumberType

_LIKE_MOBILES: Final = {PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE}
"""The second: countries whose numbers don't show which."""
_NOT_IN_LOCAL_PARTS: Final = frozenset('()<>[]:;,\\"')


def email_address(text: Any) -> str | None:
    """Return an address without spaces around it, in NFKC, its domain as DNS knows it (IDNA 2008).

    None for what is no single plain address: a list, a name beside it, a domain that can't be.
    """
    plain = unicodedata.normalize("NFKC", str(text or "")).strip()
    local, at, domain = plain.rpartition("@")
    if not at or not local or "@" in local or not plain.isprintable() or " " in plain:
        return None
    if _NOT_IN_LOCAL_PARTS & set(local):
        return None
    try:
        known = idna.encode(domain.removesuffix("."), uts46=True, std3_rules=True).decode()
    except idna.IDNAError:
        return None
    return f"{local}@{known}" if "." in known else None


def phone_number(text: Any, region: str | None) -> str | None:
    """Return a number in E.164, with its extension if it has one; None for what is none.

    `region` (ISO 3166 code) says where a number without a country's prefix is from.
    """
    number = _parsed(text, region)
    return None if number is None else _written(number)


def mobile_number(text: Any, region: str | None) -> str | None:
    """Return a number in E.164 if it is one that a person carries; None for lines of a house."""
    number = _parsed(text, region)
    if number is None or phonenumbers.number_type(number) not in _LIKE_MOBILES:
        return None
    return _written(number)


def region_of(values: Mapping[str, Any], region: str) -> str:
    """Return the country of a row or record, where its `country` is an ISO code; else `region`."""
    code = str(values.get("country") or "").strip().upper()
    return code if code in phonenumbers.SUPPORTED_REGIONS else region


def _parsed(text: Any, region: str | None) -> phonenumbers.PhoneNumber | None:
    try:
        number = phonenumbers.parse(unicodedata.normalize("NFKC", str(text or "")), region)
    except phonenumbers.NumberParseException:
        return None
    return number if phonenumbers.is_valid_number(number) else None


def _written(number: phonenumbers.PhoneNumber) -> str:
    written: str = phonenumbers.format_number(number, PhoneNumberFormat.E164)
    return f"{written};ext={number.extension}" if number.extension else written
