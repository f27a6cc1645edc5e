"""Deduplication of invoices: an index of loaded ids, and the choice between rows that share an id."""

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

INT64_LIMIT = 1 << 63
MAX_DISJOINT = 64
"""Maximum sorted arrays that stay unmerged because their id ranges don't overlap."""

IdArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class DedupIndex:
    """A set of millions of ids, in eight bytes each.

    The ids are in a few sorted arrays; a Python set takes ten times as much memory. A new array is
    merged with the arrays before it that are less than twice as long, so each id is moved only a few
    times in whatever order the ids arrive.
    """

    def __init__(self) -> None:
        self._sorted: list[IdArray] = []

    def add(self, ids: Collection[int] | IdArray | pa.Array) -> None:
        """Add ids."""
        added = np.sort(_array(ids))
        if not len(added):
            return
        may_stay = len(self._sorted) < MAX_DISJOINT
        merged = [added]
        rows = len(added)
        while self._sorted and len(self._sorted[-1]) < 2 * rows:
            last = self._sorted[-1]
            if may_stay and (last[-1] < added[0] or added[-1] < last[0]):
                break
            merged.append(self._sorted.pop())
            rows += len(last)
        self._sorted.append(np.sort(np.concatenate(merged)))

    def known(self, ids: Collection[int] | IdArray | pa.Array) -> set[int]:
        """Return the ids of `ids` that are in the index."""
        asked = np.sort(_array(ids))  # sorted lookups share cache lines
        if not len(asked):
            return set()
        found: set[int] = set()
        for stored in self._sorted:
            if stored[0] <= asked[-1] and asked[0] <= stored[-1]:
                positions = np.searchsorted(stored, asked).clip(max=len(stored) - 1)
                found.update(asked[stored[positions] == asked].tolist())
        return found


def _array(ids: Collection[int] | IdArray | pa.Array) -> IdArray:
    """Return ids as an array, without ids beyond 64 bits: their rows are quarantined anyway."""
    if isinstance(ids, np.ndarray):
        return ids
    if isinstance(ids, pa.Array):
        array: IdArray = ids.to_numpy()
        return array
    return np.array([each for each in ids if -INT64_LIMIT <= each < INT64_LIMIT], np.int64)


def duplicate_rows(
    ids: Sequence[int],
    days: Sequence[date | None],
    digests: Sequence[bytes],
    loaded: Collection[int],
) -> list[int]:
    """Return the positions of rows whose id is in `loaded` or repeats another row's id.

    Of the rows that share an id, the row with the earliest day stays, then the smallest digest. The
    choice depends on content alone, because the order of rows may change between responses.
    """
    taken = {*loaded}
    repeated = []
    order = sorted(range(len(ids)), key=lambda row: (days[row] or date.max, digests[row]))
    for row in order:
        if ids[row] in taken:
            repeated.append(row)
        taken.add(ids[row])
    return sorted(repeated)
