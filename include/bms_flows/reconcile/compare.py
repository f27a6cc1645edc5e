"""Two readings of the same rows, and which differences stand once both were read again; pure."""

import hashlib
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

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


@dataclass(frozen=True)
class Held:
    """A row that the warehouse holds: its values digested, and which version it is."""

    digest: bytes
    version: int
    day: date | None = None
    """The day under which an invoice is listed."""
    gone: str | None = None
    """Why lists need not have a mirrored row: flagged, vanished, or unlisted, which is known of it."""


Pending = Literal["rows_missing", "rows_differ", "rows_extra", "quarantined"]
"""How a row of the service and the warehouse differ before a load decides, as `reasons.AUDIT` has it."""


@dataclass
class Tally:
    """What was found of one day (or of one list): rows compared, differing rows by code."""

    compared: int = 0
    found: Counter[str] = field(default_factory=Counter)
    pending: Counter[Pending] = field(default_factory=Counter)
    """Rows that differ from the warehouse, by code: a later load or audit decides."""
    unasked: set[str] = field(default_factory=set)
    """Codes of what kept rows from being compared."""
    changed: int = 0
    """Rows that changed while they were read."""
    waiting: set[int] = field(default_factory=set)
    """Marks of the pending rows, as `judged` takes them at the next audit."""

    @property
    def state(self) -> str:
        """The state of the day, as `bms.reconciliation` has it."""
        if self.found:
            return "not_reconciled"
        if self.pending:
            return "pending"
        return "not_checked" if self.unasked else "reconciled"

    @property
    def because(self) -> list[str]:
        """The codes that the state rests on."""
        return sorted({*self.found, *self.pending, *self.unasked})


def mark(*parts: Hashable) -> int:
    """Return a number that stands for a difference as it is: another state of it has another."""
    digested = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digested, "big", signed=True)


def difference(
    key: Key, listed: Mapping[Key, bytes | None], held: Held | None, quarantined: Collection[Key]
) -> Pending | None:
    """Return how the service's row `key` differs from the warehouse's, None where both agree.

    `listed` are the service's rows as the warehouse would hold them, None for a row that no table
    can hold: such a row belongs in quarantine.
    """
    if key not in listed:
        return "rows_extra" if held is not None and held.gone is None else None
    row = listed[key]
    if row is None and key in quarantined:
        return "quarantined"
    if held is None or held.gone == "vanished":
        return "rows_missing"
    return None if held.digest == row else "rows_differ"


def against_warehouse(
    tally: Tally,
    keys: Iterable[Key],
    listed: Mapping[Key, bytes | None],
    held: Mapping[Key, Held],
    quarantined: Collection[Key],
    waiting: Collection[int],
) -> None:
    """Compare rows of the service with the warehouse's, and count those that differ.

    A difference may only mean that the row changed since the warehouse read it. So it is pending
    until the warehouse has read the row again. `waiting` are the marks of the differences that
    an earlier audit saw before the latest read: the very same difference now is a fault.
    """
    for key in keys:
        stored = held.get(key)
        code = difference(key, listed, stored, quarantined)
        if code is None:
            continue
        this = mark(key, listed.get(key), stored.version if stored else None)
        if code == "quarantined":
            tally.pending[code] += 1
            continue
        if this in waiting:
            tally.found["warehouse_differs"] += 1
        else:
            tally.pending[code] += 1
        tally.waiting.add(this)
