"""Which invoices a load has seen: millions of identifiers in eight bytes each."""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

MOST = 1 << 63


class Seen:
    """Identifiers, in the portions they came in; a portion is searched where its range may hold one.

    A set of Python's takes ten times as much memory, and is no faster: what comes together lies
    together.
    """

    def __init__(self) -> None:
        self._portions: list[tuple[int, int, pa.Array]] = []

    def add(self, ids: Collection[int] | pa.Array) -> None:
        """Take a portion in."""
        portion = _array(ids)
        if len(portion):
            ends = pc.min_max(portion)
            self._portions.append((ends["min"].as_py(), ends["max"].as_py(), portion))

    def among(self, ids: Collection[int] | pa.Array) -> set[int]:
        """Return those of `ids` that were taken in before."""
        asked = _array(ids)
        if not len(asked):
            return set()
        ends = pc.min_max(asked)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        found: set[int] = set()
        for first, last, portion in self._portions:
            if first <= high and low <= last:
                found.update(asked.filter(pc.is_in(asked, value_set=portion)).to_pylist())
        return found


def _array(ids: Collection[int] | pa.Array) -> pa.Array:
    """Leave out what no column can hold: such a row is set aside by itself."""
    if isinstance(ids, pa.Array):
        return ids
    return pa.array([each for each in ids if -MOST <= each < MOST], pa.int64())
