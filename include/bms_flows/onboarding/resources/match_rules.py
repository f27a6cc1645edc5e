"""Who a row is: the natural key that must never be created twice, and the comparison_fields beside it.

The ledger knows keys and bodies by their digests, so that it can say "the same" and "another"
without holding names or numbers.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any, Literal

import msgspec

from bms.dates import parse_date

Extractor = Callable[[Mapping[str, Any]], str | Collection[str] | None]
"""Reads what is compared from a row's or a record's values: several forms where a field holds several
values, None where it holds none."""

Trust = Literal["always", "if_fields_agree", "never"]
"""How far a key is believed: it tells a record `alone`; only where the comparison_fields are the same too; or
`never`, and a person decides."""


@dataclass(frozen=True)
class MatchRule:
    """One way to find a row's record: the fields it rests on, and how they are read.

    `asks` is the code of what a person is asked where it finds a record and can't be believed.
    `loose`: it compares a key's fields in a looser form, so that a record found by it, with the
    same comparison fields, is a double.
    """

    fields: tuple[str, ...]
    trust: Trust = "always"
    review_code: str = ""
    extractors: Sequence[Extractor] = ()
    loose: bool = False

    def digests(self, resource: str, values: Mapping[str, Any]) -> list[str]:
        """Return the digests by which equal values are known, none where a value is missing."""
        label = [resource, *self.fields, *(["loose"] if self.loose else [])]
        parts = (_forms(extract(values)) for extract in self.extractors or map(plain, self.fields))
        return [_digest([*label, *chosen]) for chosen in product(*parts)]

    def digest(self, resource: str, values: Mapping[str, Any]) -> str | None:
        """Return the digest by which equal values are known, None where one is missing."""
        return next(iter(self.digests(resource, values)), None)


@dataclass(frozen=True)
class Identity:
    """How the rows of a resource are told apart, by fields named as the interface names them.

    `keys` are alternatives, strongest first; the first whose fields are all there is the row's
    key, the others find its record too. `likeness` finds records that may be the row's and is
    no key. `comparison_fields` are compared where both sides have them. `scope` is the field that says in
    which part of the service a record is looked for, where it has parts.
    """

    resource: str
    scope: str | None
    keys: Sequence[MatchRule]
    comparison_fields: Mapping[str, Extractor]
    possible_match_rules: Sequence[MatchRule] = ()

    @property
    def always_trusted(self) -> bool:
        """Whether a key is enough to tell a record, whatever its comparison_fields."""
        return all(finder.trust == "always" for finder in self.keys)

    def key(self, values: Mapping[str, Any]) -> str | None:
        """Return the digest of the natural key of `values`, or None where there is none."""
        found = (finder.digest(self.resource, values) for finder in self.keys)
        return next((digest for digest in found if digest is not None), None)

    def rules_by_digest(self, values: Mapping[str, Any]) -> dict[str, MatchRule]:
        """Return all that finds the record of `values`, by digest, strongest first."""
        return {
            digest: finder
            for finder in self._finders
            for digest in finder.digests(self.resource, values)
        }

    def other_digests(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the digests beside the key by which `values` may be found."""
        key = self.key(values)
        return tuple(digest for digest in self.rules_by_digest(values) if digest != key)

    def loose_digests(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the digests of the key of `values` in a looser form."""
        finders = self.rules_by_digest(values)
        return tuple(digest for digest, finder in finders.items() if finder.loose)

    def scope_of(self, values: Mapping[str, Any]) -> Any:
        """Return the part of the service in which `values` belong; None where it has no parts."""
        return None if self.scope is None else values.get(self.scope)

    def comparison_digests(self, values: Mapping[str, Any]) -> dict[str, str | None]:
        """Return digests of the comparison_fields of `values`; None where a field is missing."""
        found = (
            (name, *_forms(extract(values))) for name, extract in self.comparison_fields.items()
        )
        return {name: _digest(forms) if forms else None for name, *forms in found}

    @property
    def _finders(self) -> Sequence[MatchRule]:
        return (*self.keys, *self.possible_match_rules)


def plain(*fields: str) -> Extractor:
    """Return what reads fields as they are compared, all of them or none."""

    def read(values: Mapping[str, Any]) -> str | None:
        parts = [normalize(values.get(name)) for name in fields]
        return None if None in parts else "\0".join(part or "" for part in parts)

    return read


def normalize(value: Any) -> str | None:
    """Return a value as it is compared: one form of its characters, one case, one kind of space.

    A date and its ISO text are the same; nothing and an empty text are nothing. Leading zeros count.
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


def _forms(read: str | Collection[str] | None) -> Collection[str]:
    if read is None:
        return ()
    return (read,) if isinstance(read, str) else read


def _digest(parts: Sequence[str | None]) -> str:
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()
