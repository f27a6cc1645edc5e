"""Two readings of the same rows, and which differences stand once both were read again; pure."""

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

Key = int | str
Rows = Mapping[Key, bytes]
"""A digest of each row, by its key."""

_ENCODE = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode


def digest(values: Any) -> bytes:
    """Return 16 bytes that differ when what they stand for does."""
    return hashlib.blake2b(_ENCODE(values), digest_size=16).digest()


def differing(one: Rows, other: Rows) -> set[Key]:
    """Return the keys of rows that only one reading has, or that differ."""
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def standing(ones: Sequence[Rows], others: Sequence[Rows]) -> set[Key]:
    """Return the keys that differ between the two sides although neither changed.

    Each side was read as often as the other, in turn. A row that came, went or changed between
    two readings of one side is no bug: the service lives while it is read.
    """
    first = differing(ones[0], others[0])
    return {
        key
        for key in first
        if all(rows.get(key) == ones[0].get(key) for rows in ones)
        and all(rows.get(key) == others[0].get(key) for rows in others)
    }


def doubled(keys: Iterable[Key]) -> set[Key]:
    """Return the keys that come more than once."""
    return {key for key, times in Counter(keys).items() if times > 1}


@dataclass
class Tally:
    """What was found of one day (or of one list): rows compared, differing rows by code."""

    compared: int = 0
    found: Counter[str] = field(default_factory=Counter)
    unasked: set[str] = field(default_factory=set)
    """Codes of what kept rows from being compared."""
    changed: int = 0
    """Rows that differed and are no bug."""
    waiting: set[int] = field(default_factory=set)

    @property
    def state(self) -> str:
        """The word on the day, as `bms.reconciliation` has it."""
        if self.found:
            return "not_reconciled"
        return "not_checked" if self.unasked else "reconciled"

    @property
    def because(self) -> list[str]:
        """The codes that the state rests on."""
        return sorted({*self.found, *self.unasked})


def mark(*parts: Hashable) -> int:
    """Return a number that stands for a difference as it is: another state of it has another."""
    digested = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digested, "big", signed=True)


def judged(marks: Mapping[Key, int], waiting: Iterable[int], *, read_since: bool) -> set[Key]:
    """Return the keys whose difference from the warehouse stands.

    It may only mean that the row changed since the warehouse read it. So it counts once an earlier
    audit has seen the very same difference and the warehouse has read the rows again since.
    """
    before = {*waiting} if read_since else set()
    return {key for key, each in marks.items() if each in before}
