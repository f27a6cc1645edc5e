"""Whether the answers of a list that moved meanwhile cover all of it; pure.

The interface offers no cursor, no sort and no snapshot: rows come and go between two requests, and
those behind them move to other pages. But one answer is one moment: it is a stretch of the list with
nothing left out between its first row and its last. Two stretches that share a row overlap. Where
overlapping stretches lead from the list's beginning to its end, every row that was there all the time
is in one of them, whatever came and went, and in whatever order the pages were asked for.

That holds for any order of the list as long as there is one. A row that was edited may have moved, so
only rows seen alike in both stretches count as shared; rows that come in one order here and in another
there say that there is no order, and then nothing is covered.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

Key = int | str


@dataclass(frozen=True)
class Segment:
    """One answer: each row's key and digest in their order, and where in the list it should stand."""

    rows: Sequence[tuple[Key, bytes]]
    start: int
    """Rows before it, if all pages before it are full."""
    first: bool = False
    """Whether nothing stood before it."""
    last: bool = False
    """Whether nothing stood behind it."""


class _Sighting(msgspec.Struct, frozen=True, gc=False):
    stretch: int
    place: int
    digest: bytes


class Coverage:
    """What the stretches seen so far cover."""

    def __init__(self) -> None:
        self.disordered = False
        """Whether rows came in different orders."""
        self.edited = False
        """Whether a row came in two states."""
        self._sightings: dict[Key, _Sighting] = {}
        self._above: list[int] = []
        """Of each stretch, one it overlaps with, or itself: a forest, one tree for each piece."""
        self._ends: list[int] = []
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, stretch: Segment) -> int:
        """Take one answer in; return how many of its rows were not seen alike before."""
        number = len(self._above)
        self._above.append(number)
        self._ends.append(stretch.start + len(stretch.rows))
        if stretch.first:
            self._firsts.append(number)
        if stretch.last:
            self._lasts.append(number)
        reached: dict[int, int] = {}
        news = 0
        for place, (key, digest) in enumerate(stretch.rows):
            seen = self._sightings.get(key)
            if seen is None or seen.digest != digest:
                news += 1
                self.edited |= seen is not None
                self._sightings[key] = _Sighting(number, place, digest)
            elif seen.stretch != number:
                self.disordered |= reached.get(seen.stretch, -1) > seen.place
                reached[seen.stretch] = seen.place
                self._above[self._piece(number)] = self._piece(seen.stretch)
        return news

    @property
    def complete(self) -> bool:
        """Whether nothing that was there all the time is missing."""
        return not self.disordered and not self._pieces(self._firsts).isdisjoint(
            self._pieces(self._lasts)
        )

    @property
    def gap(self) -> int:
        """About how many rows stand before the first place that is not covered."""
        begun = self._pieces(self._firsts)
        return max((end for n, end in enumerate(self._ends) if self._piece(n) in begun), default=0)

    def _pieces(self, stretches: Iterable[int]) -> set[int]:
        return {self._piece(number) for number in stretches}

    def _piece(self, number: int) -> int:
        while self._above[number] != number:
            self._above[number] = self._above[self._above[number]]
            number = self._above[number]
        return number


def page_across(position: int, size: int) -> tuple[int, int]:
    """Return number and size of a page, at most `size`, that holds `position` well inside it.

    Where there is none (tiny pages), the page of that `size` itself.
    """
    for smaller in range(size, size // 2, -1):
        before, inside = divmod(position, smaller)
        if smaller // 4 <= inside <= smaller - smaller // 4:
            return before + 1, smaller
    return position // size + 1, size
