"""All pages of a list, from a function that fetches one (interface, "Paged list envelope")."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final, TypeVar

from bms.errors import Refused
from bms.responses import Page

R = TypeVar("R")

AHEAD: Final = 16
"""Pages asked for before their turn: keeps any concurrency of a client busy, and memory bounded."""


async def all_pages(fetch: Callable[[int], Awaitable[Page[R]]]) -> AsyncGenerator[Page[R], None]:
    """Yield every page in order: the first, then the rest fetched concurrently.

    `fetch` takes a page number from 1 and repeats what is worth repeating itself. An empty list
    has one page, whether `total_pages` says 0 or 1. When the total grows on the way, the new pages
    are fetched too; when it shrinks, what the service gives for a page past the end (nothing,
    a refusal, the last page again: not shown by the interface) is not yielded; a page refused that
    lies within the list is asked for once more. A list that changes on the way may still shift items
    between pages: the interface offers no snapshot, so a caller that needs one compares two passes.
    """
    first = await fetch(1)
    yield first
    total, asked = first.total_pages, 1
    waiting: deque[tuple[int, asyncio.Task[Page[R]]]] = deque()
    try:
        while True:
            while asked < total and len(waiting) < AHEAD:
                asked += 1
                waiting.append((asked, asyncio.ensure_future(fetch(asked))))
            if not waiting:
                return
            number, task = waiting.popleft()
            try:
                page = await task
            except Refused:
                page = await fetch(1)  # is the page past an end that has moved, or really refused?
                if page.total_pages >= number:
                    page = await fetch(number)  # there again: the list may have grown meanwhile
            if page.total_pages < number:
                total = page.total_pages
                continue
            total = max(total, page.total_pages)
            yield page
    finally:
        for _, task in waiting:
            task.cancel()
        await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)
