"""Concurrent work with a bound: as many tasks as may be under way, not one for each item."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def gather_bounded(
    work: Callable[[T], Awaitable[R]], items: Iterable[T], *, at_once: int
) -> list[R]:
    """Return what `work` makes of each of `items`, in their order, with `at_once` under way.

    The first error cancels the others and is raised.
    """
    todo, found = iter(enumerate(items)), dict[int, R]()

    async def go_on() -> None:
        for place, item in todo:
            found[place] = await work(item)

    workers = [asyncio.create_task(go_on()) for _ in range(at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [found[place] for place in range(len(found))]
