"""Pool of workers that send the rows of a chunk concurrently."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bms_flows.onboarding.sending.send import RowSender

PendingRows = Iterator[tuple[int, Mapping[str, Any]]]

QUICK_S: Final = 1.0
"""Duration of a send below which workers commit intents ahead."""
AHEAD: Final = 3
"""Maximum workers per concurrent create: one sends while the transitions of the others commit."""


class WorkerPool:
    """Sends rows with at most `concurrency` creates in progress.

    While the service is fast, additional workers commit intents ahead, so that a row is ready when a
    slot is free. While it is slow they don't: the time limit of a create starts at its intent.
    """

    def __init__(self, sender: RowSender, concurrency: int) -> None:
        self._sender = sender
        self._concurrency = concurrency
        self._workers: set[asyncio.Task[None]] = set()
        self._failures: list[Exception] = []

    async def send(self, rows: Mapping[int, Mapping[str, Any]]) -> Exception | None:
        """Send all `rows` (bodies by number); stop at the first error that concerns all rows."""
        todo = iter(rows.items())
        for _ in range(min(self._concurrency, len(rows))):
            self._begin(todo)
        try:
            while self._workers:
                done, _ = await asyncio.wait(self._workers, return_when=asyncio.FIRST_COMPLETED)
                self._workers -= done
                await asyncio.gather(*done)
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
        return self._failures[0] if self._failures else None

    def _begin(self, todo: PendingRows) -> None:
        self._workers.add(asyncio.create_task(self._work(todo)))

    async def _work(self, todo: PendingRows) -> None:
        for row, body in todo:
            started = self._sender.ticks()
            try:
                failure: Exception | None = await self._sender.send(row, body)
            except Exception as error:  # noqa: BLE001 - raised by `apply` after the other workers end
                failure = error
            if failure is not None:
                self._failures.append(failure)
            if self._failures:
                return
            quick = self._sender.ticks() - started <= QUICK_S
            if quick and len(self._workers) < AHEAD * self._concurrency:
                self._begin(todo)
            elif not quick and len(self._workers) > self._concurrency:
                return
