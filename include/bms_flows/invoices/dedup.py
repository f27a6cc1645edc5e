"""Identifiers that a load has read: millions of them in eight bytes each."""

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

MOST = 1 << 63
FEW = 64
"""So many sorted arrays may stay unmerged where no identifier of one lies within another."""

IdArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class DedupIndex:
    """A set of identifiers, as few sorted arrays.

    An array is merged with those before it that are less than twice as long. So an identifier is
    moved a few times only, whatever the order in which identifiers come. A Python set takes ten times
    as much memory.
    """

    def __init__(self) -> None:
        self._sorted: list[IdArray] = []

    def add(self, ids: Collection[int] | pa.Array) -> None:
        """Add identifiers."""
        added = np.sort(_array(ids))
        if not len(added):
            return
        apart = len(self._sorted) < FEW
        merged = [added]
        rows = len(added)
        while self._sorted and len(self._sorted[-1]) < 2 * rows:
            last = self._sorted[-1]
            if apart and (last[-1] < added[0] or added[-1] < last[0]):
                break
            merged.append(self._sorted.pop())
            rows += len(last)
        if len(merged) > 1:
            # The stable sort finds what is sorted already, and merges.
            added = np.sort(np.concatenate(merged[::-1]), kind="stable")
        self._sorted.append(added)

    def among(self, ids: Collection[int] | pa.Array) -> set[int]:
        """Return those of `ids` that were added before."""
        asked = np.sort(_array(ids))  # neighbours are looked up in the same lines of memory
        if not len(asked):
            return set()
        found: set[int] = set()
        for stored in self._sorted:
            if stored[0] <= asked[-1] and asked[0] <= stored[-1]:
                places = np.searchsorted(stored, asked).clip(max=len(stored) - 1)
                found.update(asked[stored[places] == asked].tolist())
        return found


def _array(ids: Collection[int] | pa.Array) -> IdArray:
    """Leave out what no column can hold: such a row is quarantined by itself."""
    if isinstance(ids, pa.Array):
        array: IdArray = ids.to_numpy()
        return array
    return np.array([each for each in ids if -MOST <= each < MOST], np.int64)
