"""Who a row is: the natural key that must never be created twice, and the marks beside it.

The ledger knows keys and bodies by their digests, so that it can say "the same" and "another"
without holding names or numbers.
"""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec

from bms.dates import parse_date

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number", order="sorted")
_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)


@dataclass(frozen=True)
class Identity:
    """How the rows of a resource are told apart, by fields named as the interface names them.

    `keys` are alternatives, the first whose fields are all there counts. `marks` are compared
    where both sides have them. `scope` is the field that says in which part of the service a
    record is looked for, where it has parts.
    """

    resource: str
    scope: str | None
    keys: Sequence[Sequence[str]]
    marks: Mapping[str, Sequence[str]]

    def key(self, values: Mapping[str, Any]) -> str | None:
        """Return the digest of the natural key of `values`, or None where there is none."""
        for fields in self.keys:
            parts = [folded(values.get(name)) for name in fields]
            if all(part is not None for part in parts):
                return _digest([self.resource, *fields, *parts])
        return None

    def scope_of(self, values: Mapping[str, Any]) -> Any:
        """Return the part of the service in which `values` belong; None where it has no parts."""
        return None if self.scope is None else values.get(self.scope)

    def mark(self, values: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the marks of `values`, normalised; None where a field is missing."""
        marks: dict[str, str | None] = {}
        for name, fields in self.marks.items():
            parts = [folded(values.get(field)) for field in fields]
            marks[name] = None if None in parts else "\0".join(part or "" for part in parts)
        return marks


def folded(value: Any) -> str | None:
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


def fingerprint(body: Mapping[str, Any]) -> str:
    """Return the digest of a creation body, equal when the same would be sent."""
    return hashlib.blake2b(_ENCODER.encode(body), digest_size=16).hexdigest()


def packed(body: Mapping[str, Any]) -> str:
    """Return a body as JSON text, numbers exact; `unpacked` reads it."""
    return _ENCODER.encode(body).decode()


def unpacked(text: str) -> dict[str, Any]:
    """Read what `packed` wrote."""
    body: dict[str, Any] = _DECODER.decode(text)
    return body


def _digest(parts: Sequence[str | None]) -> str:
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()
