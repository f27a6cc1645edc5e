"""Bounded concurrency: a fixed number of workers for any number of items."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def gather_bounded(
    work: Callable[[T], Awaitable[R]], items: Iterable[T], *, at_once: int
) -> list[R]:
    """Return the results of `work` for `items` in order, with at most `at_once` calls at a time.

    The first error cancels all other calls and is raised.
    """
    todo, found = iter(enumerate(items)), dict[int, R]()

    async def worker_loop() -> None:
        for position, item in todo:
            found[position] = await work(item)

    workers = [asyncio.create_task(worker_loop()) for _ in range(at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [found[position] for position in range(len(found))]
