"""List reader: reads pages until they cover the whole list, within a call budget."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from bms.endpoints import BY_NAME
from bms.errors import BmsError, Forbidden, Refused
from bms.paging import all_pages
from bms.responses import Page, Rows, row_key
from bms_flows.runtime.coverage import Coverage, Segment, page_across
from bms_flows.runtime.list_snapshot import KeyedRows, ListSnapshot

LOG = logging.getLogger(__name__)

CALL_BUDGET = 2.2
"""Maximum calls of two passes and the gap search, as a multiple of one pass; small pages cost more."""
LARGE_PAGE = 1_000
"""Rows per page that a longer list is requested with, if the service gives as many."""


FetchPage = Callable[[int, int], Awaitable[Page[Any]]]
"""Returns the page of a number, from 1, and a size."""
ProcessPage = Callable[[Page[Any]], Awaitable[KeyedRows]]
"""Processes a page's rows; returns key and digest of each row."""


@dataclass
class ListReader:
    """Reads a list in passes, and decides whether the passes cover the whole list."""

    fetch: FetchPage
    take: ProcessPage
    size: int
    name: str = "list"
    """The list's name in the log."""
    least: int = 2
    """Minimum passes; with 1, a list of one page is read once."""
    largest: int = 0
    """Rows per page to try for a list that has more rows."""
    calls: int = 0
    abandoned: int = 0
    """Calls of passes that failed; a pass with large pages begins again with smaller ones."""
    passes: list[ListSnapshot] = field(default_factory=list)
    """What each pass over all pages, first to last, showed."""
    longest_pass: int = 0
    """Maximum calls of one of the first two passes, without those of a gap search after it."""
    coverage: Coverage = field(default_factory=Coverage)
    full_page: int = 0
    """Rows of a full page in the first pass, or of the smaller pages that replaced its pages."""

    def __post_init__(self) -> None:
        self.full_page = self.size

    @property
    def agreed(self) -> bool:
        """Whether the passes cover the list.

        If the service ignores the page size or has no stable order, coverage can't be proven. Then
        two passes must return the same rows. This alone is no proof: both passes can miss a row that
        moves between pages while another row is added and a third is removed.
        """
        if len(self.passes) < self.least:
            return False
        if self.coverage.complete:
            return True
        if len(self.passes) < 2:  # noqa: PLR2004 - two passes are compared
            return False
        one, other = self.passes[-2:]
        same = one.rows.keys() == other.rows.keys() and one.steady and other.steady
        unprovable = one.page_size == other.page_size or self.coverage.disordered
        return same and (unprovable or len(self.passes) > 2)  # noqa: PLR2004 - a third pass agrees

    @property
    def calm(self) -> bool:
        """Whether no row was added, removed, moved or edited during the passes."""
        first = self.passes[0].rows
        same = all(
            each.steady and (each.rows is first or each.rows.keys() == first.keys())
            for each in self.passes
        )
        return same and not self.coverage.edited

    @property
    def summary(self) -> str:
        """The result of the passes for the log."""
        if not self.agreed:
            return "no two passes agree"
        return "no changes" if self.calm else "rows changed, and the pages cover all rows"

    async def until_agreed(self, passes: int) -> None:
        """Read up to `passes` passes until the list is covered; search the gaps between passes."""
        while len(self.passes) < passes and not self.agreed:
            await self.one_pass()
            if len(self.passes) > 1 and not self.agreed:
                await self._with_smaller_pages(self._search_gaps)
        if self.agreed and not self.calm:
            await self._with_smaller_pages(self._read_ends)
        LOG.info(
            "%s: %s after %d passes and %d calls",
            *(self.name, self.summary, len(self.passes), self.calls),
        )

    async def one_pass(self) -> None:
        """Read all pages once, in each pass with another size, so that page borders differ."""
        await self._with_smaller_pages(self._pass)

    async def _with_smaller_pages(self, read: Callable[[], Awaitable[None]]) -> None:
        """Call `read`; if it fails on a large page, use pages of the configured size from then on."""
        try:
            await read()
        except BmsError as error:
            if self.full_page <= self.size or isinstance(error, Forbidden):
                raise
            LOG.warning(
                "%s: %s on a page of about %d rows; these rows are read again with pages of %d rows",
                *(self.name, type(error).__name__, self.full_page, self.size),
            )
            self.full_page, self.largest = self.size, 0
            await read()

    async def _pass(self) -> None:
        before = self.calls
        self.passes.append(ListSnapshot(page_size=max(self.full_page - len(self.passes), 1)))
        try:
            await self._read_pages(self.passes[-1])
        except BmsError:
            self.abandoned += self.calls - before
            self.passes.pop()
            raise
        if len(self.passes) > 1 and self.passes[-1].rows == self.passes[-2].rows:
            self.passes[-1].rows = self.passes[-2].rows  # once in memory
        if len(self.passes) <= 2:  # noqa: PLR2004 - the budget is for two passes
            self.longest_pass = max(self.longest_pass, self.calls - before)

    async def _read_pages(self, this: ListSnapshot) -> None:
        """Read all pages of a pass."""
        started, before = time.monotonic(), self.calls
        first = await self._first_page(this)
        if len(self.passes) == 1:
            if (first.total_pages - 1) * this.page_size >= self.largest > this.page_size:
                first = await self._larger(first)
            first = await self._given(first)
            this.page_size = self.full_page = first.size
        size, waiting = this.page_size, [first]

        async def fetch(number: int) -> Page[Any]:
            page = waiting.pop() if waiting else await self._call(number, size=size)
            # A refused page says that the list ended before it; `all_pages` doesn't yield such a page.
            if number:  # page 0 only shows how the service counts
                this.totals.add(page.total_pages)
            return page

        async for page in all_pages(fetch):
            if page.number == 1 and page.total_pages > 1:
                this.page_size = len(page) + len(page.rejected) or size
            this.add(page, (await self._add(page, this.page_size, followed=True))[0])
        if len(self.passes) == 1:
            self.full_page = this.page_size
        LOG.info(
            "%s, pass %d: %d pages of %d, %d rows with %d ids; %.1f s",
            *(self.name, len(self.passes), self.calls - before, this.page_size, this.received),
            *(len(this.rows), time.monotonic() - started),
        )

    async def _first_page(self, this: ListSnapshot) -> Page[Any]:
        """Return the first page, of the size of the first pass if the service refuses other sizes."""
        try:
            return await self._call(1, size=this.page_size)
        except Refused as error:
            if this.page_size == self.full_page or isinstance(error, Forbidden):
                raise
        this.page_size = self.full_page
        return await self._call(1, size=this.page_size)

    async def _larger(self, first: Page[Any]) -> Page[Any]:
        """Return the first page with as many rows as the service gives, or `first`.

        A service may refuse a large page, fail to make one, or return fewer rows. If it returns
        fewer, its total may still count large pages; so the page is requested again with the size
        that it has.
        """
        try:
            page = await self._call(1, size=self.largest)
        except BmsError:
            return first
        rows = len(page) + len(page.rejected)
        if rows >= self.largest:
            return page
        return await self._call(1, size=rows) if rows > first.size else first

    async def _given(self, first: Page[Any]) -> Page[Any]:
        """Return the first page with the size that the service really gives.

        A service that returns fewer rows than requested may still compute `total_pages` from the
        request, so the total counts only for the size of a page that was given. A list of one page
        is shorter than requested, too: only its next page shows the difference.
        """
        rows = len(first) + len(first.rejected)
        if not first.endpoint.paged or not 0 < rows < first.size:
            return first
        if first.total_pages <= 1:
            try:
                after = await self._call(2, size=rows)
            except BmsError:
                return first
            if {*map(row_key, after.records)} <= {*map(row_key, first.records)}:
                return first
        page = await self._call(1, size=rows)
        return page if len(page) + len(page.rejected) == rows else first

    async def _call(self, number: int, *, size: int) -> Page[Any]:
        self.calls += 1
        try:
            return await self.fetch(number, size)
        except Refused as error:
            # Of its size, no page past the end is refused.
            large = size > self.size or error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            if number == 1 or large or isinstance(error, Forbidden):
                raise
            # Not shown by the interface: our assumption is that a page past the end may be refused.
            # If the page was refused for another reason, the list stays uncovered.
            nothing = Rows[Any](endpoint=BY_NAME["list_contacts"], body=b"")
            return nothing.as_page(number, size, total_pages=number - 1)

    async def _add(
        self, page: Page[Any], size: int, *, followed: bool = False
    ) -> tuple[KeyedRows, int]:
        """Process a page; return its rows, and the number of new rows.

        A full page is the last one only if the next page was requested (`followed`).
        """
        rows = await self.take(page)
        number = min(page.number, max(page.total_pages, 1))
        last = page.number >= page.total_pages and (followed or len(page) < size)
        news = self.coverage.add(Segment(rows, (number - 1) * size, page.number == 1, last))
        return rows, news

    async def _search_gaps(self) -> None:
        """Read a page across each gap between two pages.

        Rows added or removed before a gap have shifted it. So the search tries the gap's position,
        half a page before it, half a page behind it, and so on.
        """
        size, once = self.full_page, self.longest_pass
        gap, tries = -1, 0
        while not self.coverage.complete and not self.coverage.disordered:
            if self.calls - self.abandoned >= self._budget(size, once):
                return
            tries = tries + 1 if self.coverage.gap == gap else 0
            gap = self.coverage.gap
            offset = (tries + 1) // 2 * (size // 2) * (-1) ** (tries % 2)
            await self._across(*page_across(max(gap + offset, 0), size))

    @staticmethod
    def _budget(size: int, once: int) -> int:
        """Return the maximum calls of two passes and the gap search.

        Even an unchanged list needs one more call for each border between small pages.
        """
        unchanged = 1 + (size + 1) / max(size - 1, 1)
        return max(int(CALL_BUDGET * once), int(unchanged * once) + 2)

    async def _read_ends(self) -> None:
        """Read from both ends while pages have new rows: lists put new and edited rows there."""
        size = self.full_page
        number, total = 1, 1
        while number <= total:
            page = await self._call(number, size=size)
            number, total = number + 1, page.total_pages
            if not (await self._add(page, size))[1]:
                break
        for number in range(total, 0, -1):
            rows, news = await self._add(await self._call(number, size=size), size)
            if not news and len(rows) >= size:
                return

    async def _across(self, number: int, size: int) -> None:
        """Read a page, and the last page if the list has become shorter."""
        page = await self._call(number, size=size)
        await self._add(page, size)
        if 0 < page.total_pages < number:
            await self._add(await self._call(page.total_pages, size=size), size)
