"""Decisions of a mirror run: details to read, missing rows, removals to confirm. Pure."""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from bms_flows.runtime.coverage import Key
from bms_flows.runtime.digests import content_digest

Flags = tuple[bool | None, ...]
"""Flags of a row, in the order of the resource's columns; None if the run reads no list that determines it."""


class MirrorRow(msgspec.Struct, frozen=True, gc=False):
    """State of a row in the mirror; kept small, since a mirror may have many rows."""

    list_hash: bytes | None
    detailed: bool
    removal: str | None
    """Reason why the row is marked as removed; None for a current row."""
    flags: Flags = ()
    scope: int | None = None
    """The entity whose list contained the row, if lists are per entity."""

    def is_listed_by(self, scopes: Collection[int]) -> bool:
        """Return whether the list of one of these entities contained the row at its last read."""
        return self.scope in scopes and self.list_hash is not None and self.removal is None


@dataclass(frozen=True)
class Rotation:
    """Rotation in which every detail is read again once within `runs` runs, changed or not.

    Hashes order the rows on a ring. Each run continues where the previous run stopped. So new and
    removed rows do not change the order, and a run that reads less than its share delays rows but skips
    none: all `n` rows are read within `runs` runs, or n / budget runs if that is more.
    """

    runs: int
    turn: int
    reached: str | None = None
    """Ring position up to which earlier runs have read."""
    retried: str | None = None
    """Ring position up to which earlier runs have read details that the mirror lacks."""

    def due(self, keys: Collection[Key]) -> list[Key]:
        """Return those of `keys` whose details are due in this run, in ring order."""
        share = (self.turn + 1) * len(keys) // self.runs - self.turn * len(keys) // self.runs
        return heapq.nsmallest(share, keys, key=partial(_distance, self.reached))

    def in_turn(self, incomplete: Iterable[Key]) -> list[Key]:
        """Return rows without a detail in ring order, so that details that stay invalid delay none."""
        return sorted(incomplete, key=partial(_distance, self.retried))

    def after(self, retried: Sequence[Key], read: Sequence[Key]) -> dict[str, Any]:
        """Return the state from which the next run continues.

        The run has read `retried`, the first of the rows in turn, and `read`, the first due rows.
        """
        return {
            "turn": self.turn,
            "reached": ring_position(read[-1]) if read else self.reached,
            "retried": ring_position(retried[-1]) if retried else self.retried,
        }


def _distance(reached: str | None, key: Key) -> tuple[bool, str]:
    position = ring_position(key)
    return reached is not None and position <= reached, position


def in_rotation(known: Mapping[Key, MirrorRow], scope: int | None) -> list[Key]:
    """Return the rows in rotation: those with a detail, except missing rows."""
    return [
        key
        for key, row in known.items()
        if row.detailed and row.removal != "missing" and row.scope == scope
    ]


def ring_position(key: Key) -> str:
    """Return a row's ring position, a hash without information about the row."""
    return content_digest(str(key).encode(), 8).hex()


def details_to_read(
    *, changed: Sequence[Key], incomplete: Sequence[Key], due: Sequence[Key], budget: int
) -> tuple[list[Key], list[Key], list[Key]]:
    """Return the rows whose details a run reads: new and changed rows, incomplete rows, due rows.

    Rows beyond `budget` are left to the next runs. New and changed rows go first. If the others do not
    fit, incomplete rows get half of the rest: the details of some may be invalid for good.
    """
    first = list(changed[:budget])
    new, left = {*first}, budget - len(first)
    most = max(left - len(due), (left + 1) // 2)
    again = [key for key in incomplete if key not in new][:most]
    return first, again, list(due[: left - len(again)])


def missing_rows(
    known: Mapping[Key, MirrorRow], seen: Collection[Key], scope: int | None
) -> list[Key]:
    """Return current rows of the mirror that no list contained."""
    return [
        key
        for key, row in known.items()
        if row.removal is None and row.scope == scope and key not in seen
    ]


def newly_missing(known: Mapping[Key, MirrorRow], missing: Sequence[Key]) -> list[Key]:
    """Return missing rows that a list contained before this run.

    The others are known to be missing from lists but present in the service.
    """
    return [key for key in missing if known[key].list_hash is not None]


def details_to_confirm(
    known: Mapping[Key, MirrorRow], missing: Sequence[Key], *, rotates: bool
) -> list[Key]:
    """Return missing rows whose details a run reads: all, unless details rotate.

    With rotation: newly missing rows and rows without a detail; the others wait for their turn.
    """
    new = {*newly_missing(known, missing)}
    return [key for key in missing if not rotates or key in new or not known[key].detailed]


def exceeds_limit(missing: int, current: int, *, rows: int, percent: int) -> bool:
    """Return whether an operator must confirm that `missing` rows of `current` are removed."""
    return missing > max(rows, current * percent / 100)


def rows_with_flag(known: Mapping[Key, MirrorRow], flag: int) -> set[Key]:
    """Return the current rows for which flag number `flag` is true so far."""
    return {key for key, row in known.items() if row.flags[flag] and row.removal is None}
