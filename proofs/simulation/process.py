"""A simulated worker between ledger and service that can be killed or paused at any step."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from bms.transport import BeforeSend
from bms_flows.onboarding.ledger.entry import BootTime, Entry
from bms_flows.onboarding.ledger.store import NextTransition
from bms_flows.onboarding.resources.evidence import RecordIds
from bms_flows.onboarding.resources.remote import OnId
from bms_flows.onboarding.resources.snapshot import ServiceLists
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.service import SimulatedService, SlowReadBack

HANGS_S = 3600.0
"""Seconds of a read that ends later than any create may."""


class Killed(BaseException):
    """The process is gone; nothing of it runs any more."""


class Process:
    """One worker's view of ledger and service: it can be killed at any step, or stopped for a while.

    With `clock_stops` its machine is paused, including its clock.
    """

    def __init__(
        self,
        ledger: MemoryLedger,
        service: SimulatedService,
        *,
        kill_at: int | None = None,
        stop_at: int | None = None,
        stop_for: float = 0.0,
        clock_stops: bool = False,
        boot: str = "boot",
    ) -> None:
        self.boot = boot
        self._ledger, self._service = ledger, service
        self._kill_at, self._stop_at, self._stop_for = kill_at, stop_at, stop_for
        self.steps = 0
        self.dead = False
        self._stopped_until = 0.0
        self._clock_stops = clock_stops
        self._stood = 0.0
        self.resource, self.identity = service.resource, service.identity
        self.create_endpoint = service.create_endpoint
        # Reads at which a process need not end: they change nothing, and others follow at once.
        self.now, self.by_key, self.bodies = ledger.now, ledger.by_key, ledger.bodies
        self.owners, self.confirmed, self.snapshots = (
            ledger.owners,
            ledger.confirmed,
            ledger.snapshots,
        )
        self.read, self.known, self.list_of = service.read, service.known, service.list_of

    async def _step(self, *, timers_stop: bool = False) -> None:
        self.steps += 1
        if self.steps == self._kill_at:
            self.dead = True
        loop = asyncio.get_running_loop()
        if self.steps == self._stop_at:
            self._stopped_until = loop.time() + self._stop_for
            self._stood = self._stop_for if self._clock_stops else 0.0
        if self.dead:
            raise Killed
        cancelled = False
        while (left := self._stopped_until - loop.time()) > 0:
            # A paused process does nothing; its timers fire when it resumes.
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled and not timers_stop:
            raise asyncio.CancelledError

    def clock(self) -> BootTime:
        """Return this machine's seconds since its boot, without those of a stopped clock."""
        return BootTime(self.boot, asyncio.get_running_loop().time() - self._stood)

    async def sleep(self, seconds: float) -> None:
        """Let time pass for this process; a dead one does not wake."""
        await asyncio.sleep(seconds)
        if self.dead:
            raise Killed

    async def change(self, ids: Collection[int], step: NextTransition) -> dict[int, Entry]:
        """Move rows; it may end before or after the commit."""
        await self._step()
        done = await self._ledger.change(ids, step)
        await self._step()
        return done

    async def entries(self, ids: Collection[int]) -> list[Entry]:
        """Return rows by number."""
        await self._step()
        return await self._ledger.entries(ids)

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        """Return what the service lists."""
        await self._step()
        return await self._service.read_all(scopes, at)

    async def refresh(self, *given: Any) -> ServiceLists:
        """Return what the service lists now."""
        await self._step()
        return await self._service.refresh(*given)

    async def create(
        self, body: Mapping[str, Any], before_send: BeforeSend, on_id: OnId
    ) -> RecordIds:
        """Send a create that continues after this process ends."""
        # A paused machine finds its timers and its clock unchanged.
        await self._step(timers_stop=self._clock_stops)
        await before_send()
        under_way = asyncio.create_task(self._service.create(body))
        under_way.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.sleep(0)
        await self._step()  # killed or stopped here, the request is on its way
        try:
            return await under_way
        except SlowReadBack as slow:
            await on_id(slow.remote_id)
            await asyncio.sleep(HANGS_S)
            raise
        finally:
            await self._step()
