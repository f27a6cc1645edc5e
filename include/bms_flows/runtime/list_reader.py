"""Reading a list page by page until what was read covers all of it, within a budget of calls."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from bms.endpoints import BY_NAME
from bms.errors import Forbidden, Refused
from bms.paging import all_pages
from bms.responses import Page
from bms_flows.runtime.coverage import Coverage, Key, Segment, page_across

LOG = logging.getLogger(__name__)

CALL_BUDGET = 2.2
"""Two passes and what lies between them cost so many times the calls of one; small ones a little more."""


class FetchPage(Protocol):
    """One page of a list."""

    def __call__(self, number: int, size: int) -> Awaitable[Page[Any]]:
        """Return page `number`, from 1, of `size` rows."""
        ...


KeyedRows = Sequence[tuple[Key, bytes]]
ProcessPage = Callable[[Page[Any]], Awaitable[KeyedRows]]
"""Takes a page's rows in; returns key and digest of each."""


@dataclass
class Pass:
    """One reading of all pages, first to last."""

    keys: set[Key] = field(default_factory=set)
    rows: int = 0
    calls: int = 0
    size: int = 0
    """Rows of a full page: what was asked for, or less where the service gives less."""
    totals: set[int] = field(default_factory=set)

    @property
    def steady(self) -> bool:
        """Whether it shows no sign of rows that moved: none came twice, the total stayed."""
        return self.rows == len(self.keys) and len(self.totals) <= 1


@dataclass
class ListReader:
    """All that was read of a list, and whether it can be believed to be all."""

    fetch: FetchPage
    take: ProcessPage
    size: int
    name: str = "list"
    """What the log calls it."""
    least: int = 2
    """Passes that are read whatever they show; with 1, a list of one page is read once."""
    calls: int = 0
    passes: list[Pass] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def agreed(self) -> bool:
        """Whether the passes cover the list: one page does alone, two passes do where they agree.

        Where a service has a page size of its own, or no order, nothing can be covered: then both
        must have seen the very same rows. (That alone is no proof: a row that slipped from page to
        page is missed twice when one that came is made up for by one that went.)
        """
        if len(self.passes) < self.least:
            return False
        if self.coverage.complete:
            return True
        if len(self.passes) < 2:  # noqa: PLR2004 - two, as it says
            return False
        one, other = self.passes[-2:]
        same = one.keys == other.keys and one.steady and other.steady
        hopeless = one.size == other.size or self.coverage.disordered
        return same and (hopeless or len(self.passes) > 2)  # noqa: PLR2004 - three that agree

    @property
    def calm(self) -> bool:
        """Whether nothing at all was seen to move."""
        same = all(each.steady and each.keys == self.passes[0].keys for each in self.passes)
        return same and not self.coverage.edited

    @property
    def told(self) -> str:
        """What a person reads of the passes."""
        if not self.agreed:
            return "no two passes agree"
        return "nothing moved" if self.calm else "rows moved, and all were seen"

    async def until_agreed(self, passes: int) -> None:
        """Read passes until two agree, `passes` at most; between them, look where rows may be missing."""
        while len(self.passes) < passes and not self.agreed:
            await self.one_pass()
            if len(self.passes) > 1 and not self.agreed:
                await self._look_into_gaps()
        if self.agreed and not self.calm:
            await self._look_at_ends()
        LOG.info(
            "%s: %s after %d passes and %d calls in all",
            *(self.name, self.told, len(self.passes), self.calls),
        )

    async def one_pass(self) -> None:
        """Read all pages once, each time of another size, so that their borders differ."""
        size = self.size
        if self.passes:
            size = max(self.passes[0].size - len(self.passes), 1)
        this = Pass(size=size)
        self.passes.append(this)
        started = time.monotonic()
        pages = all_pages(partial(self._call, size=size))
        async for page in pages:
            if page.number == 1 and page.total_pages > 1:
                this.size = len(page) + len(page.rejected) or size
            rows, _ = await self._add(page, this.size)
            this.keys.update([key for key, _ in rows])
            this.rows += len(rows)
            this.totals.add(page.total_pages)
        LOG.info(
            "%s, pass %d: %d pages of %d, %d rows with %d ids; %.1f s",
            *(self.name, len(self.passes), this.calls, this.size, this.rows, len(this.keys)),
            time.monotonic() - started,
        )

    async def _call(self, number: int, *, size: int) -> Page[Any]:
        self.calls += 1
        self.passes[-1].calls += 1
        try:
            return await self.fetch(number, size)
        except Refused as error:
            if number == 1 or isinstance(error, Forbidden):
                raise
            # Not shown by the interface: our assumption is that a page past the end may be refused.
            # If it was refused for another reason, the list is not covered, and that is told.
            return _nothing(number, size)

    async def _add(self, page: Page[Any], size: int) -> tuple[KeyedRows, int]:
        """Take a page in; return its rows, and how many of them are news."""
        rows = await self.take(page)
        number = min(page.number, max(page.total_pages, 1))
        last = page.number >= page.total_pages
        news = self.coverage.add(Segment(rows, (number - 1) * size, page.number == 1, last))
        return rows, news

    async def _look_into_gaps(self) -> None:
        """Read a page across each place where two pages may have met while rows moved.

        Rows that came or went before the place have moved it: tried are the place itself, half a
        page before it, half a page behind it, and so on.
        """
        size, once = self.passes[0].size, self.passes[0].calls
        gap, tries = -1, 0
        while not self.coverage.complete and not self.coverage.disordered:
            if self.calls >= self._most(size, once):
                return
            tries = tries + 1 if self.coverage.gap == gap else 0
            gap = self.coverage.gap
            aside = (tries + 1) // 2 * (size // 2) * (-1) ** (tries % 2)
            await self._across(*page_across(max(gap + aside, 0), size))

    @staticmethod
    def _most(size: int, once: int) -> int:
        """Return how many calls two passes and what lies between them may cost.

        Small pages meet more often: a list at rest needs a page more for each time that they do.
        """
        at_rest = 1 + (size + 1) / max(size - 1, 1)
        return max(int(CALL_BUDGET * once), int(at_rest * once) + 2)

    async def _look_at_ends(self) -> None:
        """Read from both ends on while that brings news: where a list puts what is new or edited."""
        size = self.passes[0].size
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
        """Read a page; where the list has become shorter meanwhile, its last page too."""
        page = await self._call(number, size=size)
        await self._add(page, size)
        if 0 < page.total_pages < number:
            await self._add(await self._call(page.total_pages, size=size), size)


def _nothing(number: int, size: int) -> Page[Any]:
    return Page(
        endpoint=BY_NAME["list_contacts"],
        records=[],
        rejected=[],
        extra={},
        body=b"",
        number=number,
        size=size,
        total_pages=number - 1,
    )
