"""Comparison of rows of the service and the warehouse, and of repeated readings. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, NamedTuple

import msgspec

from bms_flows.runtime.digests import content_digest

Key = int | str
RowDigests = Mapping[Key, bytes]
"""A digest of each row, by its key."""

_ENCODE = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode


def digest(values: Any) -> bytes:
    """Return a 16-byte digest of values."""
    return content_digest(_ENCODE(values))


def differing(one: RowDigests, other: RowDigests) -> set[Key]:
    """Return the keys of rows that differ or that only one reading contains."""
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def persistent_differences(ones: Sequence[RowDigests], others: Sequence[RowDigests]) -> set[Key]:
    """Return the keys that differ between two sides although neither side changed.

    Both sides were read equally often, alternately. A row that appeared, disappeared or changed between
    two readings of one side is no fault: users change the service's data during an audit.
    """
    first = differing(ones[0], others[0])
    return {
        key
        for key in first
        if all(rows.get(key) == ones[0].get(key) for rows in ones)
        and all(rows.get(key) == others[0].get(key) for rows in others)
    }


def repeated(keys: Iterable[Key]) -> set[Key]:
    """Return the keys that occur more than once."""
    return {key for key, times in Counter(keys).items() if times > 1}


@dataclass(frozen=True)
class StoredRow:
    """A row of the warehouse: digest of its values, and version."""

    digest: bytes
    version: int
    day: date | None = None
    """The day in whose list an invoice occurs."""
    gone: str | None = None
    """Why lists may lack a mirrored row: flagged, missing, or unlisted (known to be missing from lists)."""


UNSETTLED: Final = ("rows_missing", "rows_differ", "rows_extra")
"""Codes of `texts.AUDIT_REASONS` for differences that the next load may resolve."""
PENDING: Final = (*UNSETTLED, "quarantined", "detail_unreadable")
"""Codes that are not counted as faults."""
DETAIL_CODES: Final = ("detail_differs", "detail_unreadable")
"""Codes that only a new reading of the row's detail can close."""
PAGE_CODES: Final = ("page_sizes_differ", "doubled")
"""Codes of rows that differ between pages of two sizes."""


class SeenDifference(NamedTuple):
    """A difference between service and warehouse, stored so that later audits recognise it."""

    row: str | None
    """Hexadecimal digest of the service's row; None if the service lacks the row."""
    version: int | None
    """Version of the warehouse's row; None if the warehouse lacks the row."""
    seen_at: float
    """When an audit first saw this difference, in seconds since 1970."""


OpenRows = dict[str, dict[Key, SeenDifference | None]]
"""Rows that are not reconciled, by code; with the difference if the warehouse is one of the sides."""


@dataclass
class Comparison:
    """Result of comparing one day, or one part of a list."""

    compared: int = 0
    rows: OpenRows = field(default_factory=dict)
    not_compared: set[str] = field(default_factory=set)
    """Codes of the reasons why rows were not compared."""
    changed: int = 0
    """Number of rows that changed during the audit."""

    def add(self, code: str, key: Key, difference: SeenDifference | None = None) -> None:
        """Count a row that is not reconciled."""
        self.rows.setdefault(code, {})[key] = difference

    @property
    def found(self) -> dict[str, int]:
        """Number of faulty rows by code."""
        return {code: len(rows) for code, rows in self.rows.items() if code not in PENDING}

    @property
    def pending(self) -> dict[str, int]:
        """Number of pending rows by code: a later load or audit decides."""
        return {code: len(rows) for code, rows in self.rows.items() if code in PENDING}

    @property
    def state(self) -> str:
        """State of the day or part in `bms.reconciliation`."""
        if self.found:
            return "not_reconciled"
        if self.pending:
            return "pending"
        return "not_checked" if self.not_compared else "reconciled"

    @property
    def reasons(self) -> list[str]:
        """Codes that explain the state."""
        return sorted({*self.rows, *self.not_compared})


def differences_by_key(of_parts: Iterable[OpenRows]) -> dict[Key, SeenDifference]:
    """Return the stored differences of open rows, by key."""
    return {
        key: difference
        for rows in of_parts
        for of_code in rows.values()
        for key, difference in of_code.items()
        if difference
    }


def classify(
    key: Key,
    listed: Mapping[Key, bytes | None],
    held: StoredRow | None,
    quarantined: Collection[Key],
) -> str | None:
    """Return the pending code of the difference between service and warehouse, or None.

    `listed` are digests of the service's rows in the warehouse's form, None for a row that the
    warehouse cannot store: such a row belongs in quarantine.
    """
    if key not in listed:
        return "rows_extra" if held is not None and held.gone is None else None
    row = listed[key]
    if row is None and key in quarantined:
        return "quarantined"
    if held is None or held.gone == "missing":
        return "rows_missing"
    return None if held.digest == row else "rows_differ"


def compare_with_warehouse(
    comparison: Comparison,
    keys: Iterable[Key],
    listed: Mapping[Key, bytes | None],
    held: Mapping[Key, StoredRow],
    quarantined: Collection[Key],
    seen: Mapping[Key, SeenDifference],
    *,
    loaded_at: datetime,
    now: datetime,
) -> None:
    """Compare rows of the service with the warehouse, and count differences.

    A difference is pending until the warehouse has read the row again: the row may have changed since
    the last load. `seen` are the differences of earlier audits. An identical difference is a fault if
    an audit saw it before the load at `loaded_at`.
    """
    for key in keys:
        stored = held.get(key)
        code = classify(key, listed, stored, quarantined)
        if code is None:
            continue
        if code == "quarantined":
            comparison.add(code, key)
            continue
        row = listed.get(key)
        difference = SeenDifference(row.hex() if row else None, version_of(stored), now.timestamp())
        before = seen.get(key)
        if before and before[:2] == difference[:2]:
            difference = before
        outlived = difference.seen_at < loaded_at.timestamp()
        comparison.add("warehouse_differs" if outlived else code, key, difference)


def still_open(
    rows: OpenRows, held: Mapping[Key, StoredRow], quarantined: Collection[Key]
) -> OpenRows:
    """Return the `rows` that are still open after a later load, without requests to the service.

    A pending difference is resolved if the warehouse has the row that the audit saw, or a newer version
    of the row: the row changed again, and a load has read the change.
    """
    left: OpenRows = {}
    for code, of_code in rows.items():
        for key, difference in of_code.items():
            resolved = False
            if code == "quarantined":
                resolved = key not in quarantined
            elif code in UNSETTLED and difference:
                stored = held.get(key)
                same = (
                    stored is not None
                    and stored.gone is None
                    and stored.digest.hex() == difference.row
                )
                resolved = same or version_of(stored) != difference.version
            if not resolved:
                left.setdefault(code, {})[key] = difference
    return left


def version_of(stored: StoredRow | None) -> int | None:
    """Return the version of a stored row, None for a missing row."""
    return stored.version if stored else None
