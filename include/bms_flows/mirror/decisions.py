"""What a run decides, as pure functions: which details to read, who is gone, when to ask a person."""

import hashlib
import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bms_flows.runtime.coverage import Key

Flags = tuple[bool | None, ...]
"""A row's flags, in the order of the resource's columns; None where no list that was read says."""


class ServiceRecord(msgspec.Struct, frozen=True, gc=False):
    """A row as it stands in the mirror; there may be very many."""

    list_hash: bytes | None
    detailed: bool
    gone: str | None
    flags: Flags = ()
    scope: int | None = None
    """The entity whose list had it, where lists are those of entities."""


@dataclass(frozen=True)
class Rotation:
    """Every detail is read again once in so many runs, changed or not; this is one of these runs.

    The rows stand on a ring. Each run goes on where the one before has stopped, so that rows which
    come and go move nobody out of turn, and a run that reads fewer than its share delays the others
    and passes over none: of `n` rows, all are read within `runs`, or n / budget runs if that is more.
    """

    runs: int
    turn: int
    reached: str | None = None
    """The place on the ring up to which the runs before have read."""

    def due(self, keys: Collection[Key]) -> list[Key]:
        """Return whose turn it is of `keys`, in the order of the ring."""
        share = (self.turn + 1) * len(keys) // self.runs - self.turn * len(keys) // self.runs
        return heapq.nsmallest(share, keys, key=self._distance)

    def after(self, read: Sequence[Key]) -> dict[str, Any]:
        """Return what the next run needs to go on, when `read`, the first of those due, were read."""
        return {"turn": self.turn, "reached": place_of(read[-1]) if read else self.reached}

    def _distance(self, key: Key) -> tuple[bool, str]:
        place = place_of(key)
        return self.reached is not None and place <= self.reached, place


def in_rotation(known: Mapping[Key, ServiceRecord], scope: int | None) -> list[Key]:
    """Return the rows whose details take turns: those that were read and are not gone."""
    return [
        key
        for key, row in known.items()
        if row.detailed and row.gone != "missing" and row.scope == scope
    ]


def place_of(key: Key) -> str:
    """Return a row's place on the ring; it tells nothing of the row."""
    return hashlib.blake2b(str(key).encode(), digest_size=8).hexdigest()


def details_to_read(
    *, changed: Sequence[Key], incomplete: Sequence[Key], due: Sequence[Key], budget: int
) -> tuple[list[Key], list[Key]]:
    """Return whose details a run reads: the changed and new and then those still to be read; those due.

    More than `budget` are left for the next runs.
    """
    first = list(dict.fromkeys([*changed, *incomplete]))[:budget]
    return first, list(due[: budget - len(first)])


def absent(
    known: Mapping[Key, ServiceRecord], seen: Collection[Key], scope: int | None
) -> list[Key]:
    """Return the rows that stand here as present and that no list had."""
    return [
        key
        for key, row in known.items()
        if row.gone is None and row.scope == scope and key not in seen
    ]


def no_longer_listed(known: Mapping[Key, ServiceRecord], gone: Sequence[Key]) -> list[Key]:
    """Return, of absent rows, those that a list had until now.

    Of the others it is known that lists leave them out and that the service has them all the same.
    """
    return [key for key in gone if known[key].list_hash is not None]


def to_confirm(
    known: Mapping[Key, ServiceRecord], gone: Sequence[Key], *, rotates: bool
) -> list[Key]:
    """Return, of absent rows, those whose details a run asks for: all, unless details take turns.

    Then just those that a list had until now, or whose detail is still to be read; the others wait
    for their turn.
    """
    news = {*no_longer_listed(known, gone)}
    return [key for key in gone if not rotates or key in news or not known[key].detailed]


def too_many(gone: int, present: int, *, rows: int, percent: int) -> bool:
    """Tell whether so many gone at once, of those `present`, are a person's business."""
    return gone > max(rows, present * percent / 100)


def carried(known: Mapping[Key, ServiceRecord], flag: int) -> set[Key]:
    """Return the present rows for which flag number `flag` is true so far."""
    return {key for key, row in known.items() if row.flags[flag] and row.gone is None}
