"""A list read on pages of two sizes, and details beside it; each twice where they differ."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bms.dates import parse_datetime
from bms.errors import InvalidRecords, NotFound
from bms.paging import all_pages
from bms.records import Record
from bms.responses import Detail, Page
from bms_flows.audit.compare import Key, Rows, Tally, differing, digest, doubled, standing
from bms_flows.mirror.resource import Resource
from bms_flows.mirror.rows import rename
from bms_flows.runtime import quarantine

PageOf = Callable[[int, int], Awaitable[Page[Any]]]
"""Asks for a page by its number and size."""
DetailOf = Callable[[Any], Awaitable[Detail[Any]]]


PartOf = Callable[[int], int]
"""Returns the number of the part to read, from 1, by how many parts the list has."""


@dataclass(frozen=True)
class Plan:
    """Pages that hold the same rows, large and small, as (number, size)."""

    large: Sequence[tuple[int, int]]
    small: Sequence[tuple[int, int]]
    part: int = 1
    parts: int = 1

    @property
    def whole(self) -> bool:
        """Whether these are all pages of the list."""
        return self.parts == 1


@dataclass(frozen=True)
class Listed:
    """Rows of some pages: records by key, digests, what came twice, and the page of each."""

    records: Mapping[Key, Record]
    rows: Rows
    doubled: frozenset[Key]
    page: Mapping[Key, tuple[int, int]]
    rejected: frozenset[Key]
    """Keys of rows that no record can hold, as `bms.quarantine` names them."""
    received: int
    """Rows of all these pages, readable or not."""
    total_pages: int


@dataclass
class ListAudit:
    """Compares one part of a list with itself and with its details."""

    resource: Resource
    page_of: PageOf
    detail_of: DetailOf
    zone: str
    tally: Tally = field(default_factory=Tally)
    plan: Plan = Plan([(1, 1)], [])
    """The pages that are read."""
    detailed: set[Key] = field(default_factory=set)
    """Rows whose detail was compared."""
    unsure: set[Key] = field(default_factory=set)
    """Rows that changed while pages of both sizes were read."""
    gone: set[Key] = field(default_factory=set)
    """Rows that the service no longer has."""

    async def whole(self) -> Listed:
        """Read a list that has no pages."""
        listed = await self._listed([(1, 1)])
        self.tally.compared = len(listed.rows)
        return listed

    async def pages(self, size: int, most: int, part_of: PartOf) -> Listed:
        """Read the list on pages of `size` rows and of half of it, `most` requests for both.

        Of a longer list, read the part that `part_of` chooses. Returns the rows of the large pages.
        """
        size = max(2, size - size % 2)
        large, small = await self._both(size, most, part_of)
        self.tally.compared = len(large.rows)
        if self.plan.small and _contradict(large, small):
            # Planned anew: by pages that were counted before, a list that grew would lack its end.
            part = self.plan.part
            larger, smaller = await self._both(size, most, lambda parts: min(part, parts))
            stands = standing([large.rows, larger.rows], [small.rows, smaller.rows])
            twice = large.doubled & larger.doubled | small.doubled & smaller.doubled
            self._count("page_sizes_differ", stands)
            self._count("doubled", twice - stands)
            self.unsure = {*large.doubled, *larger.doubled, *small.doubled, *smaller.doubled}
            for one, other in ((large, small), (larger, smaller)):
                self.unsure |= differing(one.rows, other.rows)
            self.unsure -= stands
            self.tally.changed += len(differing(large.rows, small.rows) - stands)
            large = larger
        return large

    async def _both(self, size: int, most: int, part_of: PartOf) -> tuple[Listed, Listed]:
        first = [await self._listed([(1, each)]) for each in (size, size // 2)]
        self.plan = plan = planned(size, first, most, part_of)
        if plan.whole:
            return await self._all(size), await self._all(size // 2)
        return await self._listed(plan.large), await self._listed(plan.small)

    async def _all(self, size: int) -> Listed:
        """Read a list to its end, wherever that has moved meanwhile."""
        pages = all_pages(lambda number: self.page_of(number, size))
        return self._collected([((page.number, size), page) async for page in pages])

    async def details(self, listed: Listed, keys: Sequence[Key]) -> None:
        """Read details of some rows and compare what they share with their list.

        Of a row that the list does not have where it was read, learn whether the service has it.
        """
        for key in keys:
            item = listed.records.get(key)
            try:
                detail = await self._detail(key)
            except InvalidRecords:
                self.detailed.add(key)
                self.tally.add("detail_unreadable", key)
                continue
            if item is None:
                if detail is None:
                    self.gone.add(key)
                continue
            if self.shared_differ(item, detail):
                again = await self._listed([listed.page[key]])
                second = await self._detail(key)
                same_item = again.rows.get(key) == listed.rows[key]
                if not same_item or second != detail:
                    self.tally.changed += 1
                    continue
                self._count("detail_differs", {key})
            self.detailed.add(key)

    async def _detail(self, key: Key) -> dict[str, Any] | None:
        try:
            found = await self.detail_of(key)
        except NotFound:
            return None
        rename(found.record, found.extra, self.resource.aliases)
        return msgspec.structs.asdict(found.record)

    def shared_differ(self, item: Record, detail: Mapping[str, Any] | None) -> bool:
        """Tell whether a list item and a detail differ in a field that both have."""
        if detail is None:
            return True
        aliases = self.resource.aliases
        for name, value in msgspec.structs.asdict(item).items():
            same = name if name in detail else aliases.get(name, name)
            if same in detail and not self._alike(value, detail[same]):
                return True
        return False

    def _alike(self, one: Any, other: Any) -> bool:
        """Tell whether two values are the same, a moment written in two ways included."""
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
            self.tally.add(code, key)

    async def _listed(self, pages: Sequence[tuple[int, int]]) -> Listed:
        answers = await asyncio.gather(*(self.page_of(number, size) for number, size in pages))
        return self._collected([*zip(pages, answers, strict=True)])

    def _collected(self, answers: Sequence[tuple[tuple[int, int], Page[Any]]]) -> Listed:
        records: dict[Key, Record] = {}
        page: dict[Key, tuple[int, int]] = {}
        keys: list[Key] = []
        rejected: set[Key] = set()
        for place, answer in answers:
            for row in answer.rejected:
                rejected.add(quarantine.row_key(row.key, self.resource.public(row.raw)))
            for index, record in enumerate(answer.records):
                if index in answer.extra:
                    rename(record, answer.extra[index], self.resource.aliases)
                keys.append(record.key)
                records[record.key] = record
                page[record.key] = place
        rows = {key: digest(msgspec.structs.asdict(each)) for key, each in records.items()}
        total = max((answer.total_pages for _, answer in answers), default=0)
        received = len(keys) + sum(len(answer.rejected) for _, answer in answers)
        return Listed(
            records, rows, frozenset(doubled(keys)), page, frozenset(rejected), received, total
        )


def planned(size: int, first: Sequence[Listed], most: int, part_of: PartOf) -> Plan:
    """Return the pages to read, by the first large and the first small one; pure.

    In parts, pages of two sizes hold the same rows only where the service gives as many rows as
    it is asked for; where it cuts large pages, the small ones are left out.
    """
    large, small = first
    if large.total_pages + small.total_pages <= most:
        return Plan(
            [(number, size) for number in range(1, large.total_pages + 1)],
            [(number, size // 2) for number in range(1, small.total_pages + 1)],
        )
    length = max(1, most // 3)
    parts = -(-large.total_pages // length)
    part = part_of(parts)
    start, end = length * (part - 1) + 1, min(length * part, large.total_pages)
    full = large.received == size
    small_end = small.total_pages if part == parts else 2 * end
    return Plan(
        [(number, size) for number in range(start, end + 1)],
        [(number, size // 2) for number in range(2 * start - 1, small_end + 1)] if full else [],
        part,
        parts,
    )


def _contradict(large: Listed, small: Listed) -> bool:
    return bool(differing(large.rows, small.rows) or large.doubled or small.doubled)
