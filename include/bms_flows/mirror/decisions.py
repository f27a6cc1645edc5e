"""What a run decides, as pure functions: which details to read, who is gone, when to ask a person."""

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from bms_flows.mirror.coverage import Key


class Known(msgspec.Struct, frozen=True, gc=False):
    """A row as it stands in the mirror; there may be very many."""

    list_hash: bytes | None
    detailed: bool
    gone: str | None
    flags: tuple[bool, ...] = ()
    scope: int | None = None
    """The entity whose list had it, where lists are those of entities."""


@dataclass(frozen=True)
class Rotation:
    """Every detail is read again once in so many runs, changed or not; this is one of these runs."""

    runs: int
    turn: int

    def due(self, key: Key) -> bool:
        """Tell whether it is this run's turn to read the detail of `key` again."""
        return zlib.crc32(str(key).encode()) % self.runs == self.turn % self.runs


def details_to_read(
    *, changed: Sequence[Key], incomplete: Sequence[Key], due: Sequence[Key], budget: int
) -> list[Key]:
    """Return whose details a run reads: the changed and new first, then those never read, then those due.

    More than `budget` are left for the next runs.
    """
    chosen = dict.fromkeys([*changed, *incomplete, *due])
    return list(chosen)[:budget]


def absent(known: Mapping[Key, Known], seen: Collection[Key], scope: int | None) -> list[Key]:
    """Return the rows that stand here as present and that no list had."""
    return [
        key
        for key, row in known.items()
        if row.gone is None and row.scope == scope and key not in seen
    ]


def too_many(gone: int, present: int, *, rows: int, percent: int) -> bool:
    """Tell whether so many gone at once, of those `present`, are a person's business."""
    return gone > max(rows, present * percent / 100)


def members(
    known: Mapping[Key, Known], flag: int, seen: Collection[Key], *, believed: bool
) -> set[Key]:
    """Return the rows for which flag number `flag` is true.

    Those that its list had; and unless it can be `believed` to be all, those it was true for before.
    """
    return set(seen) if believed else set(seen) | before(known, flag)


def before(known: Mapping[Key, Known], flag: int) -> set[Key]:
    """Return the rows for which flag number `flag` is true so far."""
    return {key for key, row in known.items() if row.flags[flag]}
