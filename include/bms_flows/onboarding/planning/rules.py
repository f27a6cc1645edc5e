"""Validation rules for dropped rows: required fields, codes, ranges, lengths, codes that no record has.

They come from `rules.toml`, or from the file that the setting `BMS_RULES` names.
"""

import difflib
import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.reading.sheet import Row
from bms_flows.onboarding.resources.description import Resource, normalize_header
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.normal_forms import (
    has_wrong_length,
    is_france,
    is_plain_address,
    is_short_postal_code,
    is_written_as_name,
    lacks_prefix,
    mixes_alphabets,
    region_of,
)
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import UNDECLARED, DeclaredFormat, OnboardingSettings
from bms_flows.runtime.settings import InvalidSetting, Language

DEFAULT = Path(__file__).with_name("rules.toml")

VERSION = 19
"""Version of the planning code; raise it when the same file would produce other plans."""

_NOT_A_NAME = re.compile(
    r"(?:m\.|(?:ir|ing|mw|me)\.\s|(?:mr|mrs|ms|mme|mlle|dr|prof|dhr|mevr)\.?\s"
    r"|(?:monsieur|madame|mademoiselle|docteur|professeur|maître|de heer|mevrouw|herr|frau)\s)"
    r"|.*(?:[@()\[\]]|\s(?:et|and|und|ou)\s)"
    r"|(?:.*\s)?(?:née?|ép\.|épouse)\s|.*\s(?:nee|ép|ep\.?|epouse|veuve|vve|geb\.)\s"
    r"|(?:[àa] (?:compléter|completer|confirmer|définir|definir|déterminer|préciser|renseigner|venir)"
    r"|inconnue?|unknown|to be (?:confirmed|defined)|tb[acd]|x{2,})$",
    re.IGNORECASE | re.DOTALL,
)
"""A title before the name; an e-mail address; a remark such as "née Martin"; two persons; what stands for a name to come."""


LARGEST: Final = 2**31 - 1
"""Largest number of a field without a range of its own."""
YOUNGEST: Final = 14
"""Age in years below which nobody is hired: the date of birth is a mistake."""
YOUNGEST_DAYS: Final = YOUNGEST * 365


class PlanLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits above which a plan needs approval; `rules.toml` explains each."""

    rows: int = 1000
    rejected_share: float = 0.5
    created_share: float = 0.5
    created_share_from: int = 100
    start_days_before: int = 730
    start_days_after: int = 730


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    required: tuple[str, ...] | None = None
    codes: dict[str, tuple[str | int, ...]] = msgspec.field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    lengths: dict[str, int] = msgspec.field(default_factory=dict)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    plan: PlanLimits = PlanLimits()
    employee: _Section = _Section()
    contact: _Section = _Section()
    consultant: _Section = _Section()


@dataclass(frozen=True)
class Reading:
    """How the files of an inbox are read and planned: their resource, its match rules, and the settings."""

    resource: Resource
    identity: Identity
    settings: OnboardingSettings

    @classmethod
    def of(cls, name: str, settings: OnboardingSettings) -> "Reading":
        """Return how files of the resource `name` are read."""
        return cls(*REMOTES[name].described(settings.phone_region), settings)

    @property
    def declared(self) -> DeclaredFormat:
        """The declared format of the files."""
        return self.settings.inbox_formats.get(self.resource.inbox, UNDECLARED)

    @cached_property
    def rules(self) -> "Rules":
        """The validation rules; their version includes the declared format."""
        found, declared = read(self.resource, self.settings.rules), self.declared
        if declared == UNDECLARED:
            return found
        version = f"{found.version}-{declared.date_order}-{declared.decimal_mark}"
        return replace(found, version=version)

    @property
    def language(self) -> Language:
        """The language of reports and questions."""
        return self.settings.language_of(self.resource.inbox)


@dataclass(frozen=True)
class Rules:
    """The rules for one resource; `version` changes with the file and with `VERSION`."""

    version: str
    plan: PlanLimits
    required: tuple[str, ...]
    codes: Mapping[str, tuple[str, ...]]
    ranges: Mapping[str, tuple[float, float]]
    lengths: Mapping[str, int]
    resource: Resource


def read(resource: Resource, file: str = "") -> Rules:
    """Read the rules for `resource`, by default those of `rules.toml`; raise `InvalidSetting`.

    The text of the error names the file and the section.
    """
    path = Path(file or DEFAULT)
    try:
        content = path.read_bytes()
        tree = msgspec.toml.decode(content, type=_File)
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"the rules can't be read from {path}: {error}") from None
    own: _Section = getattr(tree, resource.name)
    required = resource.required if own.required is None else own.required
    ranges = _ranges_by_kind(resource)
    for part, given, known in (
        ("required", required, resource.by_name),
        ("codes", own.codes, resource.by_name),
        ("ranges", own.ranges, ranges),  # of numbers only
        ("lengths", own.lengths, resource.by_name),
    ):
        if unknown := sorted(set(given) - set(known)):
            raise InvalidSetting(f"{path}: {resource.name}.{part} has no {', '.join(unknown)}")
    return Rules(
        version=f"{VERSION}-{hashlib.sha256(content).hexdigest()[:16]}",
        plan=tree.plan,
        required=required,
        codes={name: tuple(map(str, given)) for name, given in own.codes.items()},
        ranges=ranges | own.ranges,
        lengths=own.lengths,
        resource=resource,
    )


def _ranges_by_kind(resource: Resource) -> dict[str, tuple[float, float]]:
    """Return the ranges of identifiers, counts and amounts; none is negative, no identifier is 0."""
    return {
        each.name: (int(each.name.startswith("id_")), LARGEST)
        for each in resource.fields
        if each.kind in ("integer", "decimal")
    }


def validate(row: Row, rules: Rules) -> list[Fault]:
    """Return the faults of a row; reading has already checked types."""
    faults: list[Fault] = [
        Fault("missing_value", row.line, field=name)
        for name in rules.required
        if row.values.get(name) in (None, "")
    ]
    # Two lines in a name or a key are two persons.
    single_line = {*rules.required, *rules.resource.key}
    for name, value in row.values.items():
        if name in rules.codes and str(value) not in rules.codes[name]:
            allowed = ", ".join(rules.codes[name])
            faults.append(Fault("unknown_code", row.line, field=name, details={"allowed": allowed}))
        if name in rules.ranges:
            low, high = rules.ranges[name]
            if not low <= value <= high:  # type: ignore[operator]  # read as a number
                details = {"least": f"{low:.15g}", "most": f"{high:.15g}"}
                faults.append(Fault("out_of_range", row.line, field=name, details=details))
        if name in rules.lengths and len(str(value)) > rules.lengths[name]:
            details = {"most": str(rules.lengths[name])}
            faults.append(Fault("too_long", row.line, field=name, details=details))
        if name in single_line and isinstance(value, str) and "\n" in value:
            faults.append(Fault("line_break", row.line, field=name))
        if name in single_line and mixes_alphabets(str(value)):
            faults.append(Fault("mixed_alphabets", row.line, field=name))
        elif code := _held_fault(name, row, rules.resource):
            faults.append(Fault(code, row.line, field=name))
    return faults + _unnamed_objects(row, rules.resource) + _reversed_dates(row, rules.resource)


def _held_fault(name: str, row: Row, resource: Resource) -> str | None:
    """Return the code of what is wrong with a name, address or number, by what its field holds."""
    holds, text = resource.by_name[name].holds, str(row.values[name])
    if holds == "name":
        more = "not_a_name" if _NOT_A_NAME.match(text) else None
        return more or (None if is_written_as_name(text) else "not_letters")
    if holds in (None, "percent", "email"):
        return "bad_email" if holds == "email" and not is_plain_address(text) else None
    country, digits = row.values.get("country") or resource.region, set(filter(str.isdigit, text))
    has_digits = holds in ("number", "phone") or (holds == "postal_code" and is_france(country))
    if text.startswith(("'", "\u2019")) or (has_digits and not digits):
        return "no_digit" if has_digits and not digits else "leading_apostrophe"
    # A number that users do not have yet, or a formula's 0 for an empty cell; as a key it would match other rows.
    if digits <= {"0"} and (has_digits or name in resource.key):
        return "placeholder"
    region = region_of(row.values, resource.region)
    if (holds == "phone" and lacks_prefix(text, region)) or (
        holds == "postal_code" and is_short_postal_code(text, country)
    ):
        return "lost_prefix"
    wrong = holds == "phone" and has_wrong_length(text, {region, resource.region})
    return "wrong_length" if wrong else None


def _unnamed_objects(row: Row, resource: Resource) -> list[Fault]:
    """Return a fault for each object of an array that has values but no id or code."""
    naming = {
        each.path[:2]: each.name
        for each in resource.fields
        if each.path and each.path[-1] == resource.arrays.get(str(each.path[0]))
    }
    given = {resource.by_name[name].path[:2] for name in row.values}
    return [
        Fault("missing_value", row.line, field=name)
        for path, name in naming.items()
        if path in given and name not in row.values
    ]


def _reversed_dates(row: Row, resource: Resource) -> list[Fault]:
    """Return a fault for each date or year that is not before the one that it should precede."""
    found = []
    for earlier, later in resource.in_order:
        first, last = row.values.get(earlier), row.values.get(later)
        days = (last - first).days if isinstance(first, date) and isinstance(last, date) else 0
        if earlier == "birth_date" and 0 < days < YOUNGEST_DAYS:
            details = {"years": str(YOUNGEST)}
            found.append(Fault("too_young", row.line, field=earlier, details=details))
        if first and last and first >= last:  # type: ignore[operator]  # both dates, or both years
            details = {"other": resource.by_name[later].label}
            found.append(Fault("dates_reversed", row.line, field=earlier, details=details))
    return found


CODE_NOT_IN_USE: Final = "code_not_in_use"
"""Reason of a review: no mirrored record has one of the row's codes."""
_SHOWN: Final = 3


@dataclass(frozen=True)
class NewCode:
    """A code that no mirrored record has; `same` is the known code in another form, `near` the nearest ones."""

    same: str
    near: str


def new_codes(
    values: Mapping[str, Any], known: Mapping[str, Collection[str]]
) -> dict[str, NewCode]:
    """Return the codes of a row that are not `known` by field, by field; a field without known codes has none."""
    return {
        name: _new(str(values[name]), codes)
        for name, codes in known.items()
        if codes and values.get(name) not in (None, "") and str(values[name]) not in codes
    }


def _new(code: str, known: Collection[str]) -> NewCode:
    form = normalize_header(code)
    same = next((each for each in sorted(known) if form and normalize_header(each) == form), "")
    likeness = difflib.SequenceMatcher(None, b=code.casefold())

    def distance(each: str) -> tuple[float, str]:
        likeness.set_seq1(each.casefold())
        return -likeness.ratio(), each

    return NewCode(same, ", ".join(sorted(known, key=distance)[:_SHOWN]))
