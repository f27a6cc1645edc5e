"""Proof that the pages read from a changing list cover the whole list; pure.

The interface offers no cursor, sort or snapshot: rows are added and removed between two requests, and
the rows behind them move to other pages. But one page shows one moment: it is a segment of the list
without gaps. Two segments that share a row overlap. If overlapping segments lead from the list's first
row to its last, they contain every row that was in the list all the time, in whatever order the pages
were read.

The proof needs a stable order of the list, whatever the order is. An edited row may have moved, so only
rows with equal digests count as shared. Rows that appear in different orders show that the list has no
stable order; then nothing is covered.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Key = int | str


@dataclass(frozen=True)
class Segment:
    """One page: key and digest of each row in order, and the page's expected position in the list."""

    rows: Sequence[tuple[Key, bytes]]
    start: int
    """Rows before the page, if all pages before it are full."""
    first: bool = False
    """Whether no row came before it."""
    last: bool = False
    """Whether no row came after it."""


class Coverage:
    """The coverage of a list by the segments added so far."""

    def __init__(self) -> None:
        self.disordered = False
        """Whether rows appeared in different orders."""
        self.edited = False
        """Whether a row appeared with two digests."""
        self._places: dict[Key, int] = {}
        """Where each row was first read with its latest digest, counted through all segments."""
        self._digests: list[bytes] = []
        """Digest at each place."""
        self._starts: list[int] = []
        """First place of each segment."""
        self._parents: list[int] = []
        """For each segment an overlapping segment or itself: a forest with a tree per component."""
        self._ends: list[int] = []
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, segment: Segment) -> int:
        """Add one segment; return the number of rows that no segment had with this digest."""
        number, start = len(self._parents), len(self._digests)
        self._parents.append(number)
        self._starts.append(start)
        self._ends.append(segment.start + len(segment.rows))
        if segment.first:
            self._firsts.append(number)
        if segment.last:
            self._lasts.append(number)
        keys = [key for key, _ in segment.rows]
        self._digests += [digest for _, digest in segment.rows]
        if self._places.keys().isdisjoint(keys) and len({*keys}) == len(keys):
            self._places |= {key: place for place, key in enumerate(keys, start)}
            return len(keys)
        first = self._places.get(keys[0], start)
        same = range(first, first + len(keys))
        if [*map(self._places.get, keys)] == [*same] and (
            self._digests[first : same.stop] == self._digests[start:]
        ):  # the usual page of a second pass: rows that pages before it listed in this order
            self._connect(number, {bisect_right(self._starts, place) - 1 for place in same})
            return 0
        # A page shows one moment: a row that it lists twice says nothing about the order.
        repeated = {key for key, times in Counter(keys).items() if times > 1}
        reached: dict[int, int] = {}
        new_rows = 0
        for position, (key, digest) in enumerate(segment.rows, start):
            place = self._places.get(key)
            if place is None or self._digests[place] != digest:
                new_rows += 1
                self.edited |= place is not None
                self._places[key] = position
            elif key not in repeated:
                other = bisect_right(self._starts, place) - 1
                self.disordered |= reached.get(other, -1) > place
                reached[other] = place
        self._connect(number, reached)
        return new_rows

    def _connect(self, number: int, others: Iterable[int]) -> None:
        for other in others:
            self._parents[self._component(number)] = self._component(other)

    @property
    def complete(self) -> bool:
        """Whether the segments contain every row that was in the list all the time."""
        return not self.disordered and not self._components(self._firsts).isdisjoint(
            self._components(self._lasts)
        )

    @property
    def gap(self) -> int:
        """The approximate number of rows before the first gap."""
        first = self._components(self._firsts)
        ends = (end for n, end in enumerate(self._ends) if self._component(n) in first)
        return max(ends, default=0)

    def _components(self, segments: Iterable[int]) -> set[int]:
        return {self._component(number) for number in segments}

    def _component(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number


def page_across(position: int, size: int) -> tuple[int, int]:
    """Return number and size of a page, at most `size` rows, with `position` well inside the page.

    If there is no such page (tiny sizes), return the page of `size` rows that contains `position`.
    """
    for smaller in range(size, size // 2, -1):
        before, inside = divmod(position, smaller)
        if smaller // 4 <= inside <= smaller - smaller // 4:
            return before + 1, smaller
    return position // size + 1, size
