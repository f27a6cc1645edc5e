"""Group commit of ledger transitions that concurrent workers request.

Each request returns after its transition is committed. Requests that arrive during a commit, or within
`LINGER_S` of each other, share the next commit: at hundreds of rows per second, one commit per
transition would take longer than the creates.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Self

from bms_flows.onboarding.ledger.entry import Entry
from bms_flows.onboarding.ledger.store import NextTransition, PostgresLedger, RemoteIdConflict

LINGER_S: Final = 0.005
"""Seconds that a request waits for others, unless `enough` are waiting."""


class GroupCommit:
    """Commits transitions in groups; a row has at most one pending request.

    An async context manager: on exit no request or read is pending.
    """

    def __init__(self, ledger: PostgresLedger, enough: int) -> None:
        self._ledger = ledger
        self._enough = enough
        self._waiting: dict[int, tuple[NextTransition, asyncio.Future[Entry | None]]] = {}
        self._writer: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[datetime] | None = None
        self._reading = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            await asyncio.wait([self._writer])
        if self._reader is not None:
            await asyncio.wait([self._reader])
        async with self._reading:
            pass

    async def change(self, row: int, step: NextTransition) -> Entry | None:
        """Commit the transition `step` of a row; return the row, or None if the transition is not allowed.

        Raises `RemoteIdConflict` and the errors of the ledger.
        """
        done: asyncio.Future[Entry | None] = asyncio.get_running_loop().create_future()
        self._waiting[row] = (step, done)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return await done

    async def now(self) -> datetime:
        """Return the ledger's time, read after this call started; concurrent calls share a read."""
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_time())
            # Its callers may have been cancelled; asyncio would log the error with the server's own text.
            self._reader.add_done_callback(lambda read: read.cancelled() or read.exception())
        return await asyncio.shield(self._reader)

    async def _read_time(self) -> datetime:
        async with self._reading:
            self._reader = None  # later calls need a later read
            return await self._ledger.now()

    async def _write(self) -> None:
        while self._waiting:
            if len(self._waiting) < self._enough:
                await asyncio.sleep(LINGER_S)
            group, self._waiting = self._waiting, {}
            try:
                moved = await self._change(group)
            except BaseException as error:  # noqa: BLE001 - raised by the waiting callers
                for _, done in group.values():
                    if not done.done():
                        done.set_exception(error)
                continue
            for row, (_, done) in group.items():
                if done.done():
                    continue  # the caller was cancelled
                found = moved[row]
                if isinstance(found, RemoteIdConflict):
                    done.set_exception(found)
                else:
                    done.set_result(found)

    async def _change(
        self, group: Mapping[int, tuple[NextTransition, asyncio.Future[Entry | None]]]
    ) -> dict[int, Entry | RemoteIdConflict | None]:
        """Commit a group in one transaction; on a remote id conflict, each row in a separate transaction."""
        steps = {row: step for row, (step, _) in group.items()}
        try:
            moved = await self._ledger.change(
                list(steps), lambda entry, now: steps[entry.id](entry, now)
            )
        except RemoteIdConflict as claimed:
            if len(steps) == 1:
                return dict.fromkeys(steps, claimed)
            found: dict[int, Entry | RemoteIdConflict | None] = {}
            for row, each in group.items():
                found |= await self._change({row: each})
            return found
        return {row: moved.get(row) for row in steps}
