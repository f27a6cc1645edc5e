"""Details read several at a time, no more, in the order asked for."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Any

from bms.answers import Detail
from bms.errors import InvalidRecords, Refused
from bms_flows.mirror.coverage import Key

Found = Detail[Any] | InvalidRecords | None
"""A detail, what is wrong with it, or nothing: the service has no such row."""


async def read_each(
    keys: Iterable[Key], read: Callable[[Any], Awaitable[Detail[Any]]], ahead: int
) -> AsyncIterator[tuple[Key, Found]]:
    """Yield each key with what the service answers for it, `ahead` requests under way at most."""
    todo = iter(keys)
    under_way: deque[asyncio.Task[tuple[Key, Found]]] = deque()
    try:
        while True:
            while len(under_way) < ahead and (key := next(todo, None)) is not None:
                under_way.append(asyncio.create_task(_read(key, read)))
            if not under_way:
                return
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _read(key: Key, read: Callable[[Any], Awaitable[Detail[Any]]]) -> tuple[Key, Found]:
    try:
        return key, await read(key)
    except InvalidRecords as error:
        return key, error
    except Refused as error:
        # How a row that is gone is answered isn't shown by the interface: our assumption.
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            return key, None
        raise
