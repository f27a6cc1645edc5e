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

HELD = 24_000_000
"""Bytes of answers that may wait for the loader; as records they take three times as much."""


async def read(
    client: Client,
    id_entity: int,
    windows: Iterable[Window],
    *,
    language: Literal["EN", "FR"],
    ahead: int,
) -> AsyncIterator[Answer]:
    """Yield each window's answer in the windows' order, `ahead` requests under way at most.

    Fewer where answers are big: two go first, then as many as fit into `HELD` by the
    biggest so far. A range that the service refuses is halved, down to a day.
    """
    todo = iter(windows)
    under_way: deque[asyncio.Task[list[Answer]]] = deque()
    room, biggest = min(ahead, 2), 1
    try:
        while True:
            while len(under_way) < room and (window := next(todo, None)) is not None:
                under_way.append(asyncio.create_task(_answers(client, id_entity, window, language)))
            if not under_way:
                return
            answers = await under_way.popleft()
            biggest = max(biggest, sum(len(rows.body) for _, rows in answers))
            room = min(ahead, max(1, HELD // biggest))
            while answers:
                yield answers.pop(0)  # not kept here while the loader works on it
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


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
