"""Comparison of a list with itself on pages of two sizes, and with its details."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bms.dates import parse_datetime
from bms.errors import BmsError, Refused
from bms.paging import all_pages
from bms.records import Record
from bms.responses import Detail, Page
from bms_flows.audit.compare import (
    Comparison,
    Key,
    differing,
    digest,
    persistent_differences,
)
from bms_flows.mirror.details import RECORD_ERRORS, read_detail
from bms_flows.mirror.resource import MirroredResource
from bms_flows.mirror.rows import rename
from bms_flows.runtime import quarantine
from bms_flows.runtime.list_snapshot import ListSnapshot

PageOf = Callable[[int, int], Awaitable[Page[Any]]]
"""Requests a page by number and size."""
DetailOf = Callable[[Any], Awaitable[Detail[Any]]]


PartOf = Callable[[int], int]
"""Returns the number of the part to read, from 1, given the number of parts."""


@dataclass(frozen=True)
class PagePlan:
    """Large and small pages of the same rows, as (number, size)."""

    large: Sequence[tuple[int, int]]
    small: Sequence[tuple[int, int]]
    part: int = 1
    parts: int = 1

    @property
    def whole(self) -> bool:
        """Whether the plan covers the whole list."""
        return self.parts == 1


@dataclass
class ListedRows(ListSnapshot):
    """Rows of some pages, with their records and the page of each row."""

    records: dict[Key, Record] = field(default_factory=dict)
    page: dict[Key, tuple[int, int]] = field(default_factory=dict)
    rejected: set[Key] = field(default_factory=set)
    """Keys of undecodable rows, as in `bms.quarantine`."""


@dataclass
class ListComparison:
    """Compares one part of a list with itself and with its details."""

    resource: MirroredResource
    page_of: PageOf
    detail_of: DetailOf | None
    zone: str
    comparison: Comparison = field(default_factory=Comparison)
    plan: PagePlan = PagePlan([(1, 1)], [])
    """Pages to read."""
    detailed: set[Key] = field(default_factory=set)
    """Rows whose detail was compared."""
    unsure: set[Key] = field(default_factory=set)
    """Rows that changed during the audit."""
    removed: set[Key] = field(default_factory=set)
    """Rows that the service no longer has."""
    outage: BmsError | None = None
    """Why no detail could be read, if the cause may pass."""

    async def whole(self) -> ListedRows:
        """Read a list that has no pages."""
        listed = await self._listed([(1, 1)])
        self.comparison.compared = len(listed.rows)
        return listed

    async def pages(self, size: int, most: int, part_of: PartOf) -> ListedRows:
        """Read the list on pages of `size` and of half that size, with at most `most` requests.

        If the list is too long, read only the part that `part_of` returns. Returns the rows of the
        large pages.
        """
        large, small = await self._both(size, most, part_of)
        self.comparison.compared = len(large.rows)
        contradict = differing(large.rows, small.rows) or large.repeated or small.repeated
        if self.plan.small and contradict:
            # Plan again: with the previous number of pages, the end of a growing list would be missed.
            part = self.plan.part
            larger, smaller = await self._both(size, most, lambda parts: min(part, parts))
            persistent = persistent_differences(
                [large.rows, larger.rows], [small.rows, smaller.rows]
            )
            twice = large.repeated & larger.repeated | small.repeated & smaller.repeated
            self._count("page_sizes_differ", persistent)
            self._count("doubled", twice - persistent)
            self.unsure = {*large.repeated, *larger.repeated, *small.repeated, *smaller.repeated}
            for one, other in ((large, small), (larger, smaller)):
                self.unsure |= differing(one.rows, other.rows)
            self.unsure -= persistent
            self.comparison.changed += len(differing(large.rows, small.rows) - persistent)
            large = larger
        return large

    async def _both(self, size: int, most: int, part_of: PartOf) -> tuple[ListedRows, ListedRows]:
        large = max(2, size - size % 2)
        small = large // 2
        try:
            first = [await self._listed([(1, each)]) for each in (large, small)]
        except Refused:  # a service may have one page size only
            large = small = size
            first = [await self._listed([(1, size)])] * 2
        self.plan = plan = planned(large, first, most, part_of)
        if plan.whole:
            return await self._all(large), await self._all(small)
        return await self._listed(plan.large), await self._listed(plan.small)

    async def _all(self, size: int) -> ListedRows:
        """Read a list to its current end."""
        found = ListedRows()
        async for page in all_pages(lambda number: self.page_of(number, size)):
            self._add(found, (page.number, size), page)
        return found

    async def details(self, listed: ListedRows, keys: Sequence[Key]) -> None:
        """Read the details of some rows and compare them with the list items.

        If the read part lacks a row, record whether the service still has the row.
        """
        if (read := self.detail_of) is None:
            return
        unreadable: dict[Key, BmsError] = {}
        for key in keys:
            item = listed.records.get(key)
            try:
                detail = await self._detail(read, key)
            except RECORD_ERRORS as error:
                unreadable[key] = error
                continue
            if item is None:
                # The detail of a merged record shows the record into which it was merged.
                if detail is None or detail[self.resource.key] != key:
                    self.removed.add(key)
                continue
            if self.shared_differ(item, detail):
                again = await self._listed([listed.page[key]])
                second = await self._detail(read, key)
                same_item = again.rows.get(key) == listed.rows[key]
                if not same_item or second != detail:
                    self.comparison.changed += 1
                    continue
                self._count("detail_differs", {key})
            self.detailed.add(key)
        if len(unreadable) == len(keys) > 1 and unreadable[keys[-1]].retriable:
            self.outage = unreadable[keys[-1]]
            return
        self.detailed |= unreadable.keys()
        self._count("detail_unreadable", unreadable)

    async def _detail(self, read: DetailOf, key: Key) -> dict[str, Any] | None:
        _, found = await read_detail(key, read)
        if isinstance(found, Exception):
            raise found
        if found is None:
            return None
        rename(found.record, found.extra, self.resource.aliases)
        return msgspec.structs.asdict(found.record)

    def shared_differ(self, item: Record, detail: Mapping[str, Any] | None) -> bool:
        """Return whether a list item and a detail differ in a common field."""
        if detail is None:
            return True
        aliases = self.resource.aliases
        for name, value in msgspec.structs.asdict(item).items():
            same = name if name in detail else aliases.get(name, name)
            if same in detail and not self._equal(value, detail[same]):
                return True
        return False

    def _equal(self, one: Any, other: Any) -> bool:
        """Return whether two values are equal; formats of the same time count as equal."""
        if one == other:
            return True
        if not isinstance(one, str) or not isinstance(other, str):
            return False
        try:
            return parse_datetime(one, self.zone) == parse_datetime(other, self.zone)
        except ValueError:
            return False

    def _count(self, code: str, keys: Collection[Key]) -> None:
        for key in keys:
            self.comparison.add(code, key)

    async def _listed(self, pages: Sequence[tuple[int, int]]) -> ListedRows:
        found = ListedRows()
        responses = await asyncio.gather(*(self.page_of(number, size) for number, size in pages))
        for number_and_size, response in zip(pages, responses, strict=True):
            self._add(found, number_and_size, response)
        return found

    def _add(
        self, found: ListedRows, number_and_size: tuple[int, int], response: Page[Any]
    ) -> None:
        for row in response.rejected:
            found.rejected.add(quarantine.row_key(row.key, self.resource.public(row.raw)))
        for index, record in enumerate(response.records):
            if index in response.extra:
                rename(record, response.extra[index], self.resource.aliases)
            found.records[record.key] = record
            found.page[record.key] = number_and_size
        rows = [(each.key, digest(msgspec.structs.asdict(each))) for each in response.records]
        found.add(response, rows)
        found.totals.add(response.total_pages)


def planned(size: int, first: Sequence[ListedRows], most: int, part_of: PartOf) -> PagePlan:
    """Return the pages to read, given the first page of each size. Pure.

    In parts, pages of two sizes contain the same rows only if the service returns pages of the requested
    size; if it doesn't, the plan omits the small pages. A small page that lacks rows has the requested
    size if there are twice as many of them: what it lacks is a finding.
    """
    large, small = first
    if large.total_pages + small.total_pages <= most:
        return PagePlan(
            [(number, size) for number in range(1, large.total_pages + 1)],
            [(number, size // 2) for number in range(1, small.total_pages + 1)],
        )
    length = max(1, most // 3)
    parts = -(-large.total_pages // length)
    part = part_of(parts)
    start, end = length * (part - 1) + 1, min(length * part, large.total_pages)
    twice = abs(small.total_pages - 2 * large.total_pages) <= 1
    full = large.received == size and (
        small.received == size // 2 or (small.received < size // 2 and twice)
    )
    small_end = small.total_pages if part == parts else 2 * end
    return PagePlan(
        [(number, size) for number in range(start, end + 1)],
        [(number, size // 2) for number in range(2 * start - 1, small_end + 1)] if full else [],
        part,
        parts,
    )
