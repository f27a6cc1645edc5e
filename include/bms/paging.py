"""Concurrent reading of all pages of a list (interface, "Paged list envelope")."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final, TypeVar

from bms.errors import Refused
from bms.responses import Page

R = TypeVar("R")

AHEAD: Final = 16
"""Pages requested ahead: enough for the client's concurrency, few enough for the memory."""


async def all_pages(fetch: Callable[[int], Awaitable[Page[R]]]) -> AsyncGenerator[Page[R], None]:
    """Yield every page in order: the first, then the rest fetched concurrently.

    `fetch` takes a page number from 1 and retries failed requests. An empty list has one page,
    whether `total_pages` is 0 or 1. If the total grows during the read, the new pages are fetched
    as well. If it shrinks, the responses for pages past the end (empty, refused, or the last page
    again: not shown by the interface) are not yielded; a refused page within the list is requested
    once more. A list that changes during the read may shift items between pages: the interface
    has no snapshot, so a caller that needs one compares two passes.
    """
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
