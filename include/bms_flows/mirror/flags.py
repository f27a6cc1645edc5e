"""Flags of rows: whether a filtered list contains a row, as far as a run can prove it."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from bms.responses import Page
from bms_flows.mirror.resource import FetchRows
from bms_flows.mirror.rows import as_lines
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import ListReader
from bms_flows.runtime.list_snapshot import KeyedRows

FlagOf = Callable[[Key], bool | None]
"""Returns the flag of a row; None if the run reads no list that determines it."""


def always(_: Key) -> bool:
    """Return true: the main list contains only rows for which the flag is true."""
    return True


@dataclass
class FlagList:
    """A filtered list; the flag is true for its rows."""

    reading: ListReader
    before: Collection[Key]
    """Current rows whose flag was true before this run."""
    seen: set[Key] = field(default_factory=set)
    proven: bool = False
    """Whether `seen` is known to be the whole list."""
    corrected: set[Key] = field(default_factory=set)
    """Rows whose flag changed when the list was proven."""

    @classmethod
    def of(
        cls, fetch: FetchRows, size: int, name: str, before: Collection[Key], largest: int = 0
    ) -> "FlagList":
        """Return an unread list that `fetch` requests on pages of `size` rows, or of `largest`."""
        seen: set[Key] = set()

        async def take(page: Page[Any]) -> KeyedRows:
            keys = [record.key for record in page.records]
            seen.update(keys)
            return [*zip(keys, map(hash, as_lines(page.records)), strict=True)]

        reading = ListReader(fetch, take, size, name, least=1, largest=largest)
        return cls(reading, before, seen)

    def __call__(self, key: Key) -> bool:
        """Return a row's flag; a true flag stays true until the list is proven to lack the row."""
        return key in self.seen or (not self.proven and key in self.before)

    def determines_all(self, changed: Iterable[Key]) -> bool:
        """Return whether the list determines the flag of every row.

        A pass over several pages may miss rows. Such a pass leaves the flag undetermined for missed rows
        whose flag was true before, or that are new or `changed`; the flags of all others stay.
        """
        if self.reading.agreed:
            return True
        return self.seen.issuperset(self.before) and self.seen.issuperset(changed)

    async def prove(self, changed: Iterable[Key], passes: int) -> None:
        """Read the list again until passes agree, if it does not determine the flag of every row."""
        flagged = self._flagged
        if not self.determines_all(changed):
            await self.reading.until_agreed(passes)
        self.proven = self.determines_all(changed)
        self.corrected |= flagged ^ self._flagged

    @property
    def _flagged(self) -> set[Key]:
        return set(self.seen) if self.proven else self.seen.union(self.before)
