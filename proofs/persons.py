"""French persons as a company's service lists them, and as an HR user types them again with errors.

Imports nothing of the project, so that the generator can't share a mistake with the match rules.
"""

import random
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

Person = dict[str, Any]
Typing = Callable[[Person, random.Random], None]

_WORDS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
FIRST, LAST, STARTS, MIDDLES, ENDS, COMPANIES = (
    tuple(map(str, _WORDS[name]))
    for name in ("first", "last", "starts", "middles", "ends", "companies")
)
KEYBOARD: Final = dict(zip("aeiontrlud", "zroibrtmys", strict=True))
COMMON: Final = 0.25
"""Share of persons with one of the common last names; other names are rare."""

SHARED: Final = 0.02
"""Share of persons with one of 60 shared mailboxes."""


def person(draws: random.Random, number: int) -> Person:
    """Return a person with the fields of employees, contacts and consultants."""
    first = draws.choice(FIRST)
    last = draws.choice(LAST) if _happens(draws, COMMON) else _rare(draws)
    born = date(1960, 1, 1) + timedelta(days=draws.randrange(15_000))
    domain = draws.choice(("societe.example", "client.example", "groupe.example"))
    # Two persons of one name have two addresses.
    address = f"{_ascii(first)}.{_ascii(last)}{number}@{domain}".lower().replace(" ", "")
    if _happens(draws, SHARED):
        address = f"accueil{draws.randrange(20)}@{domain}"
    mobile = f"+336{draws.randrange(10**8):08d}"
    return {
        "first_name": first,
        "last_name": last,
        "payroll_number": f"{number:06d}",
        "id_entity": 1,
        "start_date": (date(2015, 1, 5) + timedelta(days=draws.randrange(4_000))).isoformat(),
        "birth_date": born.isoformat(),
        "birth_year": born.year,
        "business_email": address,
        "business_mobile_phone": mobile,
        "email": address if _happens(draws, 0.9) else None,
        "phone_mobile_number": mobile if _happens(draws, 0.7) else None,
        "imported_company_name": draws.choice(COMPANIES) + draws.choice(("", " SA", " SAS")),
    }


def _rare(draws: random.Random) -> str:
    middle = draws.choice(MIDDLES) if _happens(draws, 0.6) else ""
    name = draws.choice(STARTS) + middle + draws.choice(ENDS)
    particle = draws.choice(("Le ", "de ")) if _happens(draws, 0.05) else ""
    return particle + name


def _happens(draws: random.Random, share: float) -> bool:
    return draws.random() < share


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return "".join(char for char in plain if not unicodedata.combining(char))


def _letters(field: str, change: Callable[[str, int], str]) -> Typing:
    def typed(given: Person, draws: random.Random) -> None:
        text = str(given[field])
        given[field] = change(text, draws.randrange(1, max(2, len(text) - 2)))

    return typed


def _as(change: Callable[[str], str], *fields: str) -> Typing:
    def typed(given: Person, _: random.Random) -> None:
        given |= {field: change(str(given[field])) for field in fields if given.get(field)}

    return typed


def _all(*changes: Typing) -> Typing:
    def typed(given: Person, draws: random.Random) -> None:
        for change in changes:
            change(given, draws)

    return typed


def _other_number(given: Person, draws: random.Random) -> None:
    given["payroll_number"] = f"{draws.randrange(500_000, 900_000)}"


def _other_mobile(given: Person, draws: random.Random) -> None:
    for field in ("business_mobile_phone", "phone_mobile_number"):
        given[field] = f"06{draws.randrange(10**8):08d}" if given[field] else None


def _other_address(given: Person, draws: random.Random) -> None:
    other = f"{_ascii(given['first_name'])[0]}{_ascii(given['last_name'])}{draws.randrange(99)}@poste.example"
    for field in ("business_email", "email"):
        given[field] = other.lower().replace(" ", "") if given[field] else None


def _swapped_names(given: Person, _: random.Random) -> None:
    given["first_name"], given["last_name"] = given["last_name"], given["first_name"]


def _swap(text: str, at: int) -> str:
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


_NAMES: Final = ("last_name", "first_name")
_ADDRESSES: Final = ("email", "business_email")
_MOBILES: Final = ("phone_mobile_number", "business_mobile_phone")
ERRORS: Final[Mapping[str, Typing]] = {
    "two letters of the last name swapped": _letters("last_name", _swap),
    "a letter of the last name missing": _letters("last_name", lambda text, at: text[:at] + text[at + 1 :]),
    "a letter of the last name doubled": _letters("last_name", lambda text, at: text[:at] + text[at - 1 :]),
    "the key beside, in the first name": _letters(
        "first_name", lambda text, at: text[:at] + KEYBOARD.get(text[at].lower(), "e") + text[at + 1 :]
    ),
    "accents missing": _as(_ascii, *_NAMES),
    "names in capitals": _as(str.upper, *_NAMES),
    "hyphens as spaces": _as(lambda text: text.replace("-", " "), *_NAMES),
    "particle joined to the name": _as(lambda text: text.replace(" ", "").capitalize(), "last_name"),
    "first and last name swapped": _swapped_names,
    "another last name (married)": lambda given, draws: given.update(last_name=_rare(draws)),
    "married, the birth name as name in use": lambda given, draws: given.update(
        last_name=_rare(draws), preferred_last_name=given["last_name"]
    ),
    "a second last name added": lambda given, draws: given.update(
        last_name=f"{given['last_name']}-{_rare(draws)}"
    ),
    "a second first name added": _as("{}-Marie".format, "first_name"),
    "start date a day later": _as(
        lambda text: (date.fromisoformat(text) + timedelta(days=1)).isoformat(), "start_date"
    ),
    "zeros of the payroll number missing": _as(lambda text: text.lstrip("0"), "payroll_number"),
    "e-mail address in capitals": _as(str.upper, *_ADDRESSES),
    "two letters of the e-mail address swapped": _as(lambda text: _swap(text, 2), *_ADDRESSES),
    "mobile phone in another form": _as(lambda text: f"0{text[3:4]} " + " ".join(text[n : n + 2] for n in (4, 6, 8, 10)), *_MOBILES),
    "two digits of the mobile phone swapped": _as(lambda text: _swap(text, 8), *_MOBILES),
    "company without its legal form": _as(lambda text: text.removesuffix(" SAS").removesuffix(" SA"), "imported_company_name"),
}  # fmt: skip
"""What an HR user types otherwise than the service has it."""
_LISTED_ONLY: Final = ("imported_company_name", "birth_year", "birth_date")
_TYPED_ONLY: Final = ("email", "phone_mobile_number", "business_email")


def hardly_known(given: Person) -> Person:
    """Return a person whom the service knows by company or year of birth only, or as a leaver."""
    return given | dict.fromkeys(_TYPED_ONLY) | {"departure_date": "2025-12-31"}


def typed_by_mobile(given: Person, draws: random.Random) -> None:
    """Keep the name, a mobile phone, and another number and start date."""
    given |= dict.fromkeys((*_LISTED_ONLY, *_TYPED_ONLY))
    given |= {"phone_mobile_number": f"06{draws.randrange(10**8):08d}", "start_date": "2026-05-04"}
    _other_number(given, draws)


LOST: Final[Mapping[str, Typing]] = {
    "nothing else": _all(),
    "another payroll number": _other_number,
    "another address": _other_address,
    "another mobile phone": _other_mobile,
    "another number, address and mobile phone": _all(_other_number, _other_address, _other_mobile),
}
"""What has really changed in addition, so that it can't identify the person."""
