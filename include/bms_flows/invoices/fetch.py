"""Reading windows of invoices: several requests ahead of the loader, in order, within bounds."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Literal

from bms.client import Client
from bms.errors import RangeRefused
from bms_flows.invoices.decode import Response, ResponseReader
from bms_flows.runtime.windows import Window

WindowResponse = tuple[Window, Response]

MAX_RESPONSE_BYTES, MAX_WAITING_BYTES = 3_000_000, 9_000_000
"""Bytes: of one answer, and of all that wait for the loader; as columns they take twice as much."""


async def fetch(
    client: Client,
    id_entity: int,
    windows: Iterable[Window],
    *,
    language: Literal["EN", "FR"],
    ahead: int,
) -> AsyncIterator[WindowResponse]:
    """Yield the windows' answers in the windows' order, `ahead` requests under way at most.

    What came so far tells how big a day is: windows are cut so that their answers stay below
    `MAX_RESPONSE_BYTES`, and fewer requests are under way than allowed where answers would fill `MAX_WAITING_BYTES`.
    A range that the service refuses is halved, down to a day.
    """
    todo = deque(windows)
    reader = ResponseReader()
    under_way: deque[tuple[Window, asyncio.Task[list[WindowResponse]]]] = deque()
    day = 0.0  # bytes, by the biggest answer

    def next_window() -> Window | None:
        """Return the next window to ask for, if there is room for its answer."""
        if not todo or len(under_way) >= (ahead if day else min(ahead, 2)):
            return None
        fitting = max(1, int(MAX_RESPONSE_BYTES / day)) if day else todo[0].days
        first, *rest = todo[0].cut(min(fitting, todo[0].days))
        waiting = sum(window.days for window, _ in under_way)
        if under_way and day * (waiting + first.days) > MAX_WAITING_BYTES:
            return None
        todo.popleft()
        todo.extendleft(reversed(rest))
        return first

    def ask() -> None:
        while window := next_window():
            answer = asyncio.create_task(_answers(client, reader, id_entity, window, language))
            under_way.append((window, answer))

    try:
        while todo or under_way:
            ask()
            answers = await under_way.popleft()[1]
            day = max(day, *(len(rows.body) / window.days for window, rows in answers))
            ask()  # where one request is allowed, it is under way while the loader works
            while answers:
                yield answers.pop(0)  # not kept here while the loader works on it
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)


async def _answers(
    client: Client,
    reader: ResponseReader,
    id_entity: int,
    window: Window,
    language: Literal["EN", "FR"],
) -> list[WindowResponse]:
    try:
        answer = await client.client_invoices(
            reader.read,
            id_entity=id_entity,
            start_date=window.start,
            end_date=window.end,
            language=language,
        )
    except RangeRefused:
        if window.days == 1:
            raise
        halves = [
            await _answers(client, reader, id_entity, half, language) for half in window.halves()
        ]
        return [answered for half in halves for answered in half]
    return [(window, answer)]
