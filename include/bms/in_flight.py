"""Requests in flight, held back to what the pace allows."""

import asyncio
from types import TracebackType

from bms.pace import Pace


class InFlight:
    """A place for each request in flight: `async with in_flight:` waits for one and gives it back.

    Clients that share it share its places. Places are given in the order in which they were asked
    for; when the pace is cut, places that come back are withheld until it rises.
    """

    def __init__(self, most: int) -> None:
        self.pace = Pace(most)
        self._places = asyncio.Semaphore(most)
        self._withheld = 0

    async def __aenter__(self) -> None:
        await self._places.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        to_withhold = self.pace.most - self.pace.limit
        if self._withheld < to_withhold:
            self._withheld += 1
            return
        self._places.release()
        while self._withheld > to_withhold:
            self._withheld -= 1
            self._places.release()
