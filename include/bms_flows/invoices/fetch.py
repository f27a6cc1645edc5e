"""Fetching of invoice windows: several requests in advance, in order, within memory bounds."""

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
"""Limits for one response and for all responses that wait; columns take twice as much memory."""


async def fetch(
    client: Client,
    id_entity: int,
    windows: Iterable[Window],
    *,
    language: Literal["EN", "FR"],
    ahead: int,
) -> AsyncIterator[WindowResponse]:
    """Yield the windows' responses in the windows' order, with at most `ahead` open requests.

    The largest response so far gives the size of a day. Windows are cut so that a response stays
    below `MAX_RESPONSE_BYTES`, and fewer requests are open if responses would exceed
    `MAX_WAITING_BYTES`. A range that the service refuses is halved, down to one day.
    """
    todo = deque(windows)
    reader = ResponseReader()
    open_requests: deque[tuple[Window, asyncio.Task[list[WindowResponse]]]] = deque()
    day_bytes = 0.0

    def next_window() -> Window | None:
        """Return the next window to request, None if there is no room for its response."""
        if not todo or len(open_requests) >= (ahead if day_bytes else min(ahead, 2)):
            return None
        fitting = max(1, int(MAX_RESPONSE_BYTES / day_bytes)) if day_bytes else todo[0].days
        first, *rest = todo[0].cut(min(fitting, todo[0].days))
        waiting = sum(window.days for window, _ in open_requests)
        if open_requests and day_bytes * (waiting + first.days) > MAX_WAITING_BYTES:
            return None
        todo.popleft()
        todo.extendleft(reversed(rest))
        return first

    def request() -> None:
        while window := next_window():
            task = asyncio.create_task(_responses(client, reader, id_entity, window, language))
            open_requests.append((window, task))

    try:
        while todo or open_requests:
            request()
            responses = await open_requests.popleft()[1]
            day_bytes = max(
                day_bytes, *(len(each.body) / window.days for window, each in responses)
            )
            request()  # a single allowed request runs while the loader works
            while responses:
                yield responses.pop(0)  # freed here before the loader works on it
    finally:
        for _, task in open_requests:
            task.cancel()
        await asyncio.gather(*(task for _, task in open_requests), return_exceptions=True)


async def _responses(
    client: Client,
    reader: ResponseReader,
    id_entity: int,
    window: Window,
    language: Literal["EN", "FR"],
) -> list[WindowResponse]:
    try:
        response = await client.client_invoices(
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
            await _responses(client, reader, id_entity, half, language) for half in window.halves()
        ]
        return [each for half in halves for each in half]
    return [(window, response)]
