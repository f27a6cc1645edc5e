"""Match rules: how a row's record is found in the service, by natural key and possible matches.

The ledger stores digests of keys, so it can compare rows without storing personal data.
"""

import importlib.metadata
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from itertools import product
from typing import Any, Final, Literal, NamedTuple

import msgspec
import phonenumbers

from bms.dates import parse_date
from bms_flows.onboarding.resources.normal_forms import NAMES
from bms_flows.runtime.digests import content_digest

_KEYS: Final = "8"
"""Version of the match keys; raise it when they change within a release."""

_NAMESAKES: Final = 100
"""Rows of one name that are compared with later ones."""

Extractor = Callable[[Mapping[str, Any]], str | Collection[str] | None]
"""Extracts a comparison value from a row or record: several if a field has several values, None if it
has none."""

Trust = Literal["always", "if_fields_agree", "never"]
"""When a match needs no review: `always`, only `if_fields_agree` (the comparison fields), or `never`."""


@dataclass(frozen=True)
class MatchRule:
    """A way to find the record of a row: fields and how to extract their comparison values.

    `review_code` is the fault code if the match needs a review. `loose`: the rule compares the
    fields of a key in a looser form, so a match with equal comparison fields is a duplicate.
    """

    fields: tuple[str, ...]
    trust: Trust = "always"
    review_code: str = ""
    extractors: Sequence[Extractor] = ()
    loose: bool = False

    def digests(self, resource: str, values: "Comparable") -> list[str]:
        """Return the digests of the comparison values, none if a value is missing."""
        label = [resource, *self.fields, *(["loose"] if self.loose else [])]
        parts = map(values.forms, self.extractors or map(plain, self.fields))
        return [_digest([*label, *chosen]) for chosen in product(*parts)]

    def digest(self, resource: str, values: Mapping[str, Any]) -> str | None:
        """Return the first digest of the comparison values, None if a value is missing."""
        return next(iter(self.digests(resource, Comparable(values))), None)


def possible(
    code: str, fields: tuple[str, ...], *extractors: Extractor, loose: bool = False
) -> MatchRule:
    """Return a rule whose matches go to a reviewer, with fault `code`."""
    return MatchRule(fields, "never", code, extractors, loose)


class Digests(NamedTuple):
    """Digests of a record's values, with the names of `ServiceRecord`'s fields."""

    key: str | None
    other_digests: tuple[str, ...]
    loose_digests: tuple[str, ...]
    comparison_fields: dict[str, str | None]
    distinguishing: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Identity:
    """The match rules of a resource.

    `keys` are alternatives, strongest first: the first with all its fields filled is the row's key;
    the others find the row's record as well. `possible_match_rules` find similar records for
    review and are no keys. `comparison_fields` are compared if both sides have them. `distinguishing`
    are values that distinguish two persons of one name if both have one. `scope` is the field that partitions the
    lists of the service, if any. `unlisted` are fields of rules that only details have.
    """

    resource: str
    scope: str | None
    keys: Sequence[MatchRule]
    comparison_fields: Mapping[str, Extractor]
    distinguishing: Mapping[str, Extractor]
    possible_match_rules: Sequence[MatchRule] = ()
    unlisted: frozenset[str] = frozenset()

    @property
    def always_trusted(self) -> bool:
        """Whether every key identifies a record without its comparison fields."""
        return all(finder.trust == "always" for finder in self.keys)

    def key(self, values: "Values") -> str | None:
        """Return the digest of the natural key of `values`, None without a key."""
        once = Comparable.of(values)
        found = (finder.digests(self.resource, once) for finder in self.keys)
        return next((digests[0] for digests in found if digests), None)

    def keys_of(self, values: Mapping[str, Any]) -> dict[tuple[str, ...], Collection[str]]:
        """Return the digests of each key of `values`, also in its loose form, by the key's fields."""
        once, found = Comparable(values), dict[tuple[str, ...], Collection[str]]()
        for each in (*self.keys, *(rule for rule in self.possible_match_rules if rule.loose)):
            if digests := each.digests(self.resource, once):
                found[each.fields] = {*found.get(each.fields, ()), *digests}
        return found

    def rules_by_digest(self, values: "Values") -> dict[str, MatchRule]:
        """Return all rules that may find the record of `values`, by digest, strongest first."""
        once = Comparable.of(values)
        return {
            digest: finder
            for finder in (*self.keys, *self.possible_match_rules)
            for digest in finder.digests(self.resource, once)
        }

    def comparison_digests(self, values: "Values") -> dict[str, str | None]:
        """Return digests of the comparison fields of `values`; None for a missing field."""
        once = Comparable.of(values)
        found = ((name, *once.forms(each)) for name, each in self.comparison_fields.items())
        return {name: _digest(forms) if forms else None for name, *forms in found}

    def digests(self, values: Mapping[str, Any]) -> Digests:
        """Return the key of `values`, the digests of the other rules, and the comparison digests."""
        once = Comparable(values)
        key, found = self.key(once), self.rules_by_digest(once)
        others = tuple(digest for digest in found if digest != key)
        loose = tuple(digest for digest, finder in found.items() if finder.loose)
        known = tuple([name for name, each in self.distinguishing.items() if once.forms(each)])
        return Digests(key, others, loose, self.comparison_digests(once), known)

    def in_flight_digests(self, values: Mapping[str, Any]) -> Collection[str]:
        """Return all digests by which a row may be found that no list shows yet."""
        return [*self.rules_by_digest(values), *self.name_marks(values)]

    def name_marks(self, values: Mapping[str, Any]) -> list[str]:
        """Return the digest of the name, then that with each field that distinguishes namesakes.

        Empty if a key identifies a record without its name.
        """
        once = Comparable(values)
        name = None if self.always_trusted else self.comparison_digests(once)["name"]
        known = (field for field, each in self.distinguishing.items() if once.forms(each))
        return [name, *(f"{name} {field}" for field in known)] if name else []

    def scope_of(self, values: Mapping[str, Any]) -> Any:
        """Return the scope value of `values`, None if the resource has no scope."""
        return None if self.scope is None else values.get(self.scope)


@dataclass(frozen=True, slots=True)
class Comparable:
    """A row or record whose comparison values are extracted once each, since several rules use them."""

    values: Mapping[str, Any]
    _found: dict[Extractor, Collection[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, values: "Values") -> "Comparable":
        """Return values as they are if they are comparable."""
        return values if isinstance(values, cls) else cls(values)  # type: ignore[arg-type]  # a mapping

    def forms(self, extract: Extractor) -> Collection[str]:
        """Return what an extractor finds; nothing if a value is missing."""
        if extract not in self._found:
            found = extract(self.values)
            self._found[extract] = (found,) if isinstance(found, str) else found or ()
        return self._found[extract]


Values = Mapping[str, Any] | Comparable


def similar_rows(identity: Identity, bodies: Mapping[int, Mapping[str, Any]]) -> dict[int, int]:
    """Return, by line of a row, the line of an earlier row with the same name that differs in no key of both.

    Empty for a resource whose rows are found by a required key.
    """
    if identity.always_trusted:
        return {}
    fields = {field for rule in identity.keys for field in rule.fields}.difference(NAMES)
    earlier: dict[str, dict[int, Mapping[str, str | None]]] = defaultdict(dict)
    found: dict[int, int] = {}
    for line, body in bodies.items():
        if name := identity.comparison_digests(body)["name"]:
            keys = {each: normalize(body.get(each)) for each in fields}
            others = earlier[name]
            first = next((n for n, each in others.items() if _agree(keys, each)), None)
            if first is not None:
                found[line] = first
            elif len(others) < _NAMESAKES:
                others[line] = keys
    return found


def _agree(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> bool:
    return all(None in (text, theirs[name]) or text == theirs[name] for name, text in ours.items())


@cache
def rules_version(region: str) -> str:
    """Return a digest that changes if match keys may change: a release, phone numbers, the region."""
    release = importlib.metadata.version("bms-airflow")
    return _digest([release, _KEYS, phonenumbers.__version__, unicodedata.unidata_version, region])


@cache  # rules of the same fields share their values
def plain(*fields: str) -> Extractor:
    """Return an extractor of the normalized values of `fields`, None if one is missing."""

    def read(values: Mapping[str, Any]) -> str | None:
        parts = [normalize(values.get(name)) for name in fields]
        return None if None in parts else "\0".join(part or "" for part in parts)

    return read


def normalize(value: Any) -> str | None:
    """Return a value normalized for comparison: NFKC, case folded, single spaces.

    A date equals its ISO text; an empty text is None. Leading zeros are significant.
    """
    if value is None:
        return None
    if isinstance(value, date):
        return value.isoformat()
    text = " ".join(unicodedata.normalize("NFKC", str(value)).split())
    try:
        day = parse_date(text)
    except ValueError:
        return text.casefold()
    return None if day is None else day.isoformat()


def _digest(parts: Sequence[str | None]) -> str:
    return content_digest(msgspec.json.encode(parts)).hex()
