"""All pages of a list, from a function that fetches one (interface, "Paged list envelope")."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

from bms.answers import Page
from bms.errors import Refused

R = TypeVar("R")

AHEAD: Final = 16
"""Pages asked for before their turn: keeps any concurrency of a client busy, and memory bounded."""


async def all_pages(fetch: Callable[[int], Awaitable[Page[R]]]) -> AsyncIterator[Page[R]]:
    """Yield every page in order: the first, then the rest fetched concurrently.

    `fetch` takes a page number from 1 and repeats what is worth repeating itself. An empty list
    has one page, whether `total_pages` says 0 or 1. When the total grows on the way, the new pages
    are fetched too; when it shrinks and a page past the end is refused, that is the end.
    A list that changes on the way may still shift items between pages: the interface offers no
    snapshot, so a caller that needs one compares two passes.
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
                if (await fetch(1)).total_pages >= number:
                    raise
                return
            yield page
            total = max(total, page.total_pages)
    finally:
        for _, task in waiting:
            task.cancel()
        await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)
