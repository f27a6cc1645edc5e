"""The crew: workers that send a chunk's rows side by side."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bms_flows.onboarding.sending.send import RowSender

Rows = Iterator[tuple[int, Mapping[str, Any]]]

QUICK_S: Final = 1.0
"""Seconds of a send within which more rows may be intended ahead."""
AHEAD: Final = 3
"""Workers for each create under way, at most: one sends, the others' moves are being committed."""


class WorkerPool:
    """Sends rows with `at_once` creates under way.

    While the service answers quickly, more rows are intended ahead of their turn, so that their
    commits are done by the time a slot is free. A slow service has no row wait for its turn: the
    time that a create may take counts from its intent.
    """

    def __init__(self, sender: RowSender, at_once: int) -> None:
        self._sender = sender
        self._at_once = at_once
        self._workers: set[asyncio.Task[None]] = set()
        self._failures: list[Exception] = []

    async def send(self, rows: Mapping[int, Mapping[str, Any]]) -> Exception | None:
        """Send all of `rows`, bodies by number; stop at the first error that concerns all."""
        todo = iter(rows.items())
        for _ in range(min(self._at_once, len(rows))):
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

    def _begin(self, todo: Rows) -> None:
        self._workers.add(asyncio.create_task(self._work(todo)))

    async def _work(self, todo: Rows) -> None:
        for row, body in todo:
            started = self._sender.ticks()
            try:
                failure: Exception | None = await self._sender.send(row, body)
            except Exception as error:  # noqa: BLE001 - raised by `apply` once the others are done
                failure = error
            if failure is not None:
                self._failures.append(failure)
            if self._failures:
                return
            quick = self._sender.ticks() - started <= QUICK_S
            if quick and len(self._workers) < AHEAD * self._at_once:
                self._begin(todo)
            elif not quick and len(self._workers) > self._at_once:
                return
