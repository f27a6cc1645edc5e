"""Two readings of the same rows, and which differences stand once both were read again; pure."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, NamedTuple

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
    """Why lists need not have a mirrored row: flagged, missing, or unlisted, which is known of it."""


UNSETTLED: Final = ("rows_missing", "rows_differ", "rows_extra")
"""Codes of rows that differ from the warehouse before a load decides, as `reasons.AUDIT` has them."""
PENDING: Final = (*UNSETTLED, "quarantined", "detail_unreadable")
"""Codes that are no contradiction."""
DETAIL_CODES: Final = ("detail_differs", "detail_unreadable")
"""Codes that only another reading of the row's detail can close."""
PAGE_CODES: Final = ("page_sizes_differ", "doubled")
"""Codes of rows that pages of two sizes do not show alike."""


class Mark(NamedTuple):
    """A difference between a row of the service and the warehouse's, to recognise it later."""

    row: str | None
    """Digest of the service's row, in hexadecimal; None where the service has no such row."""
    version: int | None
    """Version of the warehouse's row; None where the warehouse has no such row."""
    seen_at: float
    """When an audit first saw this difference, in seconds since 1970."""


OpenRows = dict[str, dict[Key, Mark | None]]
"""Rows that are not reconciled, by code; a mark where the warehouse is one of the two sides."""


@dataclass
class Tally:
    """Result of comparing one day, or one part of a list."""

    compared: int = 0
    rows: OpenRows = field(default_factory=dict)
    unasked: set[str] = field(default_factory=set)
    """Codes of what kept rows from being compared."""
    changed: int = 0
    """Rows that changed while they were read."""

    def add(self, code: str, key: Key, mark: Mark | None = None) -> None:
        """Count a row that is not reconciled."""
        self.rows.setdefault(code, {})[key] = mark

    @property
    def found(self) -> dict[str, int]:
        """Number of rows of each contradiction, by code."""
        return {code: len(rows) for code, rows in self.rows.items() if code not in PENDING}

    @property
    def pending(self) -> dict[str, int]:
        """Number of rows that a later load or audit decides on, by code."""
        return {code: len(rows) for code, rows in self.rows.items() if code in PENDING}

    @property
    def state(self) -> str:
        """The state of the day or part, as `bms.reconciliation` has it."""
        if self.found:
            return "not_reconciled"
        if self.pending:
            return "pending"
        return "not_checked" if self.unasked else "reconciled"

    @property
    def reasons(self) -> list[str]:
        """The codes that the state rests on."""
        return sorted({*self.rows, *self.unasked})


def waiting(of_parts: Iterable[OpenRows]) -> dict[Key, Mark]:
    """Return the marks of all these rows, by key."""
    return {
        key: mark
        for rows in of_parts
        for of_code in rows.values()
        for key, mark in of_code.items()
        if mark
    }


def difference(
    key: Key, listed: Mapping[Key, bytes | None], held: Held | None, quarantined: Collection[Key]
) -> str | None:
    """Return how the service's row `key` differs from the warehouse's: a pending code, or None.

    `listed` are the service's rows as the warehouse would hold them, None for a row that no table
    can hold: such a row belongs in quarantine.
    """
    if key not in listed:
        return "rows_extra" if held is not None and held.gone is None else None
    row = listed[key]
    if row is None and key in quarantined:
        return "quarantined"
    if held is None or held.gone == "missing":
        return "rows_missing"
    return None if held.digest == row else "rows_differ"


def against_warehouse(
    tally: Tally,
    keys: Iterable[Key],
    listed: Mapping[Key, bytes | None],
    held: Mapping[Key, Held],
    quarantined: Collection[Key],
    seen: Mapping[Key, Mark],
    *,
    loaded_at: datetime,
    now: datetime,
) -> None:
    """Compare rows of the service with the warehouse's, and count those that differ.

    A difference may only mean that the row changed since the warehouse read it. So it is pending
    until the warehouse has read the row again. `seen` are the differences that earlier audits saw:
    the very same one is a fault if it was seen before the load at `loaded_at`.
    """
    for key in keys:
        stored = held.get(key)
        code = difference(key, listed, stored, quarantined)
        if code is None:
            continue
        if code == "quarantined":
            tally.add(code, key)
            continue
        row = listed.get(key)
        mark = Mark(row.hex() if row else None, version_of(stored), now.timestamp())
        before = seen.get(key)
        if before and before[:2] == mark[:2]:
            mark = before
        outlived = mark.seen_at < loaded_at.timestamp()
        tally.add("warehouse_differs" if outlived else code, key, mark)


def settled(rows: OpenRows, held: Mapping[Key, Held], quarantined: Collection[Key]) -> OpenRows:
    """Return what is left of `rows` after a later load, compared without asking the service.

    A pending difference is over where the warehouse holds the row that the audit saw, or has
    another version of it since: the row changed again, and a load has read the change.
    """
    left: OpenRows = {}
    for code, of_code in rows.items():
        for key, mark in of_code.items():
            if code == "quarantined":
                over = key not in quarantined
            elif code in UNSETTLED and mark:
                stored = held.get(key)
                same = (
                    stored is not None and stored.gone is None and stored.digest.hex() == mark.row
                )
                over = same or version_of(stored) != mark.version
            else:
                over = False
            if not over:
                left.setdefault(code, {})[key] = mark
    return left


def version_of(stored: Held | None) -> int | None:
    """Return the version of a stored row, None where there is none."""
    return stored.version if stored else None
