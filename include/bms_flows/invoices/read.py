"""Reading windows of invoices: several requests ahead of the loader, in order, within bounds."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Literal

from bms.answers import Rows
from bms.client import Client
from bms.errors import RangeRefused
from bms.records import ClientInvoice
from bms_flows.invoices.window import Window

Answer = tuple[Window, Rows[ClientInvoice]]

LARGEST, HELD = 2_000_000, 8_000_000
"""Bytes: of one answer, and of all that wait for the loader; as records they take four times as much."""


async def read(
    client: Client,
    id_entity: int,
    windows: Iterable[Window],
    *,
    language: Literal["EN", "FR"],
    ahead: int,
) -> AsyncIterator[Answer]:
    """Yield the windows' answers in the windows' order, `ahead` requests under way at most.

    What came so far tells how big a day is: windows are cut so that their answers stay below
    `LARGEST`, and fewer requests are under way than allowed where answers would fill `HELD`.
    A range that the service refuses is halved, down to a day.
    """
    todo = deque(windows)
    under_way: deque[tuple[Window, asyncio.Task[list[Answer]]]] = deque()
    day = 0.0  # bytes, by the biggest answer

    def next_window() -> Window | None:
        """Return the next window to ask for, if there is room for its answer."""
        if not todo or len(under_way) >= (ahead if day else min(ahead, 2)):
            return None
        fitting = max(1, int(LARGEST / day)) if day else todo[0].days
        first, *rest = todo[0].cut(min(fitting, todo[0].days))
        waiting = sum(window.days for window, _ in under_way)
        if under_way and day * (waiting + first.days) > HELD:
            return None
        todo.popleft()
        todo.extendleft(reversed(rest))
        return first

    try:
        while todo or under_way:
            while window := next_window():
                answer = asyncio.create_task(_answers(client, id_entity, window, language))
                under_way.append((window, answer))
            answers = await under_way.popleft()[1]
            day = max(day, *(len(rows.body) / window.days for window, rows in answers))
            while answers:
                yield answers.pop(0)  # not kept here while the loader works on it
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)


async def _answers(
    client: Client, id_entity: int, window: Window, language: Literal["EN", "FR"]
) -> list[Answer]:
    try:
        rows = await client.list_client_invoices(
            id_entity=id_entity, start_date=window.start, end_date=window.end, language=language
        )
    except RangeRefused:
        if window.days == 1:
            raise
        halves = [await _answers(client, id_entity, half, language) for half in window.halves()]
        return [answer for half in halves for answer in half]
    return [(window, rows)]
