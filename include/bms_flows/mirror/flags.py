"""Flags of rows: whether a filtered list has a row, as far as a run can tell."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from bms.responses import Page
from bms_flows.mirror.rows import digest_of
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import FetchPage, KeyedRows, ListReader

Flag = Callable[[Key], bool | None]
"""Returns a row's flag; None where no list was read that says."""


def always(_: Key) -> bool:
    """Return true: the run reads the list of the rows for which the flag is true."""
    return True


@dataclass
class FlagList:
    """A filtered list: the rows that it has carry the flag."""

    reading: ListReader
    had: Collection[Key]
    """The present rows that carried the flag before this run."""
    seen: set[Key] = field(default_factory=set)
    proven: bool = False
    """Whether `seen` is known to be all of the list."""
    corrected: set[Key] = field(default_factory=set)
    """Rows whose flag was another before the list was proven."""

    @classmethod
    def of(cls, fetch: FetchPage, size: int, name: str, had: Collection[Key]) -> "FlagList":
        """Return the list that `fetch` asks for, on pages of `size` rows, before it is read."""
        seen: set[Key] = set()

        async def take(page: Page[Any]) -> KeyedRows:
            rows = [(record.key, digest_of(record, None, b"")) for record in page.records]
            seen.update(key for key, _ in rows)
            return rows

        return cls(ListReader(fetch, take, size, name, least=1), had, seen)

    def __call__(self, key: Key) -> bool:
        """Return a row's flag; a row keeps its flag while nothing proves that the list lacks the row."""
        return key in self.seen or (not self.proven and key in self.had)

    def tells(self, changed: Iterable[Key]) -> bool:
        """Return whether the list says of every row whether it has the row.

        One pass may have missed rows, unless all of the list is one page. Then it can't tell the flag of
        a row that had it before, or that is new or `changed`; others keep the flag that they have.
        """
        if self.reading.agreed:
            return True
        return self.seen.issuperset(self.had) and self.seen.issuperset(changed)

    async def prove(self, changed: Iterable[Key], passes: int) -> None:
        """Read the list again until passes agree, where it can't tell the flag of every row."""
        before = self._flagged
        if not self.tells(changed):
            await self.reading.until_agreed(passes)
        self.proven = self.tells(changed)
        self.corrected |= before ^ self._flagged

    @property
    def _flagged(self) -> set[Key]:
        return set(self.seen) if self.proven else self.seen.union(self.had)
