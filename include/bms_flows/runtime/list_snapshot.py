"""Snapshot of a list: the rows that a read showed, and where the list shows new rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal

from bms.responses import Page
from bms_flows.runtime.coverage import Key

End = Literal["start", "end"]

KeyedRow = tuple[Key, Any]
"""Key and digest of a row."""
KeyedRows = Sequence[KeyedRow]
"""Rows in the order of the list."""

ORDERS: Final = ("id", "created_on", "modified_on")
"""Fields with the highest value in a new record."""


@dataclass
class ListSnapshot:
    """Rows that one read of a list showed: a digest by key."""

    rows: dict[Key, Any] = field(default_factory=dict)
    page_size: int = 0
    """Rows of a full page: the requested size, or less if the service returns less."""
    newest: End | None = None
    """The end of the list at which new rows appear, None if unknown."""
    repeated: set[Key] = field(default_factory=set)
    """Rows that appeared more than once."""
    received: int = 0
    """Number of rows on the pages, decodable or not."""
    totals: set[int] = field(default_factory=set)
    """Every total of pages that the responses stated."""

    def add(self, page: Page[Any], rows: KeyedRows) -> None:
        """Add the rows of a page."""
        new = dict(rows)
        self.repeated |= self.rows.keys() & new.keys()
        if len(new) < len(rows):
            self.repeated.update(key for key, n in Counter(key for key, _ in rows).items() if n > 1)
        self.rows.update(new)
        self.received += len(page) + len(page.rejected)

    @property
    def total_pages(self) -> int:
        """The highest total of pages."""
        return max(self.totals, default=0)

    @property
    def steady(self) -> bool:
        """Whether no row appeared twice and the total stayed constant."""
        return not self.repeated and len(self.totals) <= 1

    def shows(self, key: Key, digest: Any) -> bool:
        """Return whether the list contained an equal row."""
        return bool(self.rows.get(key) == digest)


class ListOrder:
    """Detects fields that only rise or only fall within a read of a whole list."""

    def __init__(self) -> None:
        self._rises, self._falls = set(ORDERS), set(ORDERS)
        self._before: list[Any] = []
        self._page = (0, 0)

    def note(self, page: Page[Any]) -> None:
        """Add a page; ignore the previous page if the page does not follow it."""
        if (page.number, page.size) != self._page:
            self._before = []
        self._page = (page.number + 1, page.size)
        items = [*self._before, *page]
        for name in self._rises | self._falls:
            values = [getattr(item, name, None) for item in items]
            if not _sorted(values):
                self._rises.discard(name)
            if not _sorted(values[::-1]):
                self._falls.discard(name)
        self._before = items[-1:]

    @property
    def newest(self) -> End | None:
        """The end at which new rows appear, None if unknown."""
        for name in ORDERS:
            if (name in self._rises) != (name in self._falls):
                return "end" if name in self._rises else "start"
        return None


def _sorted(values: Iterable[Any]) -> bool:
    values = list(values)
    return None not in values and all(one <= other for one, other in pairwise(values))
