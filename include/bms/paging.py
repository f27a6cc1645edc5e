"""Concurrent reading of all pages of a list (interface, "Paged list envelope")."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Final, TypeVar

from bms.errors import BmsError, MalformedResponse, Refused, ServiceUnavailable
from bms.responses import Page, row_key

R = TypeVar("R")

AHEAD: Final = 16
"""Pages requested ahead: enough for the client's concurrency, few enough for the memory."""
IDLE: Final = 1_000
"""Pages in a row without rows of their own, after which `total_pages` counts as wrong."""
COMPARED: Final = 10
"""Rows from which two equal pages show that `page_number` has no effect; fewer rows may have shifted."""


async def all_pages(fetch: Callable[[int], Awaitable[Page[R]]]) -> AsyncGenerator[Page[R], None]:
    """Yield every page in order: the first, then the rest fetched concurrently.

    `fetch` takes a page number from 1 and retries failed requests. An empty list has one page,
    whether `total_pages` is 0 or 1. If the total grows during the read, the new pages are fetched
    as well. If it shrinks, the responses for pages past the end (empty, refused, or the last page
    again: not shown by the interface) are not yielded; a refused page within the list is requested
    once more. A full last page does not prove the end, because a service may round `total_pages`
    down, or count the remaining pages: the next page is requested, and yielded if most of its rows
    are not on the last page; some may be, because rows shift between pages. Raises `MalformedResponse`
    if the first two pages are equal, so that `page_number` has no effect, if many announced pages have
    no rows, and if rows are missing because the service counts pages from 0. A list that changes
    during the read may shift items between pages: the interface has no snapshot, so a caller that
    needs one compares two passes.
    """
    first: Page[R] | None = None
    before: Page[R] | None = None
    filled = 0  # number of the latest page with rows of its own
    async with aclosing(_in_order(fetch)) as pages:
        async for page in pages:
            given = page.records or page.rejected
            if before is None or (given and page.records != before.records):
                filled = page.number
            elif page.number == 2 and len(page) >= COMPARED:  # noqa: PLR2004
                text = "page 2 repeats page 1: the service or a proxy ignores page_number"
                raise MalformedResponse(page.endpoint, text)
            elif page.number - filled > IDLE:
                text = f"total_pages is {page.total_pages}, but no page after page {filled} has other rows"
                raise MalformedResponse(page.endpoint, text)
            yield page
            first, before = page if first is None else first, page
    if first is not None and before is not None and filled < first.total_pages:
        await _require_no_page_0(fetch, first, before)


async def _in_order(fetch: Callable[[int], Awaitable[Page[R]]]) -> AsyncGenerator[Page[R], None]:
    """Yield the pages up to the end of the list, which `total_pages` may not state."""
    before: Page[R] | None = None
    last: Page[R] | None = None
    async with aclosing(_announced(fetch)) as pages:
        async for page in pages:
            if last is not None:
                yield last
            before, last = page, page if page.number >= page.total_pages else None
            if last is None:
                yield page
    if last is None and before is not None:
        last = await _unannounced(fetch, before)
    while last is not None:
        more = await _unannounced(fetch, last)
        yield last if more is None else replace(last, total_pages=more.number)
        last = more


async def _announced(fetch: Callable[[int], Awaitable[Page[R]]]) -> AsyncGenerator[Page[R], None]:
    """Yield the pages up to the latest `total_pages`."""
    first = await fetch(1)
    yield first
    total, requested = first.total_pages, 1
    ahead: deque[tuple[int, asyncio.Task[Page[R]]]] = deque()
    try:
        while True:
            while requested < total and len(ahead) < AHEAD:
                requested += 1
                ahead.append((requested, asyncio.ensure_future(fetch(requested))))
            if not ahead:
                return
            number, task = ahead.popleft()
            try:
                page = await task
            except Refused:
                page = await fetch(1)  # shows whether the refused page is now past the end
                if page.total_pages >= number:
                    page = await fetch(number)  # the list may have grown again
            if page.total_pages < number:
                total = page.total_pages
                continue
            total = max(total, page.total_pages)
            yield page
    finally:
        for _, task in ahead:
            task.cancel()
        await asyncio.gather(*(task for _, task in ahead), return_exceptions=True)


async def _unannounced(fetch: Callable[[int], Awaitable[Page[R]]], last: Page[R]) -> Page[R] | None:
    """Return the page after the last one, None if the last page is not full or the next repeats it."""
    full = last.endpoint.paged and len(last) + len(last.rejected) >= last.size
    if not full and last.total_pages <= last.number:
        return None
    try:
        page = await fetch(last.number + 1)
    except (Refused, ServiceUnavailable):  # a service may fail past the end
        return None
    before = {*map(row_key, last.records)}
    repeated = sum(row_key(each) in before for each in page.records)
    if 2 * repeated > len(page) or not len(page):  # the last page again, perhaps after a change
        return None
    return replace(page, total_pages=max(page.total_pages, page.number))


async def _require_no_page_0(
    fetch: Callable[[int], Awaitable[Page[R]]], first: Page[R], latest: Page[R]
) -> None:
    """Raise `MalformedResponse` if page 0 has rows of its own, so that it is the first page."""
    try:
        page = await fetch(0)
    except BmsError:
        return
    known = {*map(row_key, first.records), *map(row_key, latest.records)}
    others = sum(row_key(each) not in known for each in page.records)
    if 2 * others > len(page) and len(page) <= first.size:
        text = "page 0 has rows that no other page has: the service counts pages from 0"
        raise MalformedResponse(page.endpoint, text)
