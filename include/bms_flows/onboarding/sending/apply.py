"""Applying a chunk: every row of the ledger it names is brought to an end, or left where the next can go on.

A loop without memory of its own: it reads where the rows stand and does the next lawful thing. A
crash therefore leaves nothing to repair; whoever calls it next (a retry, a cleared task, the same
file dropped again, a new version of the DAG) goes on from the same states.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from bms_flows.onboarding.ledger import transitions
from bms_flows.onboarding.ledger.entry import HERE, OPEN, Entry, State
from bms_flows.onboarding.ledger.store import Ledger
from bms_flows.onboarding.ledger.transitions import lookup_due_at
from bms_flows.onboarding.resources.remote import Remote
from bms_flows.onboarding.sending.breaker import CircuitBreaker, CreatesPaused
from bms_flows.onboarding.sending.group_commit import GroupCommit
from bms_flows.onboarding.sending.send import RowSender
from bms_flows.onboarding.sending.send import ticks as real_ticks
from bms_flows.onboarding.sending.service_check import ServiceCheck
from bms_flows.onboarding.sending.worker_pool import WorkerPool
from bms_flows.onboarding.settings import OnboardingSettings


class RowsHeld(Exception):
    """Another task works on some of these rows; a later try finds them done, or free."""

    retriable = True
    retry_for_hours = True

    def __init__(self, rows: int, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(f"{rows} rows are being worked on by another task")


class NothingSent(Exception):
    """Time after time no create got as far as being sent; a later try may find the service quicker."""

    retriable = True
    retry_for_hours = True

    def __init__(self, rows: int, within: float) -> None:
        super().__init__(
            f"none of {rows} rows could be sent within {within:g} s of its turn: the service or its"
            " token endpoint is too slow, or this machine is; nothing is in doubt"
        )


MAX_IDLE_ROUNDS: Final = 3
"""Times in a row that all rows may be sent and come back unsent."""


@dataclass(frozen=True)
class Applier:
    """Applies rows of one resource; `sleep` and `ticks` are replaced in simulations."""

    ledger: Ledger
    remote: Remote
    settings: OnboardingSettings
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ticks: Callable[[], float] = real_ticks
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)

    async def apply(self, rows: Sequence[int]) -> dict[State, int]:
        """Bring `rows` to an end, in order; return how many stand where.

        Rows whose manager isn't there yet stay READY. Raises `RowsHeld` when another task has
        some, and the client's error when the service can't be asked at all.
        """
        async with self._leased(rows):
            failure = await self._work(rows)
        if failure is not None:
            raise failure
        return await self._standing(rows)

    async def _work(self, rows: Sequence[int]) -> Exception | None:
        in_vain, before = 0, (frozenset[int](), 0)
        service = ServiceCheck(self.ledger, self.remote, self.settings, self.owner)
        breaker: CircuitBreaker | None = None
        while True:
            await self._renew(rows)  # this process may have stood still
            mine = [
                entry
                for entry in await self.ledger.entries(rows)
                if entry.owner == self.owner and entry.state in OPEN
            ]
            breaker = breaker or self._breaker(mine)
            bodies = await self.ledger.bodies([entry.id for entry in mine])
            sendable = await self._sendable(mine, bodies)
            now = await self.ledger.now()
            pauses = {entry.id: _pause(entry, now) for entry in mine if entry.id in sendable}
            ready = {row: body for row, body in sendable.items() if not pauses[row]}
            stale = self._stale(mine, now)
            if not stale.isdisjoint(ready):
                await service.before_sending(
                    {e.id: (e, bodies[e.id]) for e in mine if e.id in stale}
                )
                continue
            standing = (frozenset(ready), breaker.refusals)
            in_vain, before = in_vain + 1 if standing == before else 0, standing
            if ready:
                if in_vain == MAX_IDLE_ROUNDS:
                    return NothingSent(len(ready), self.settings.send_within_s)
                failure = await self._send(ready, breaker)
                if failure is not None:
                    return failure
                continue
            unknown = {e.id: (e, bodies[e.id]) for e in mine if e.state is State.UNKNOWN}
            if unknown:
                left = await service.by_returned_ids(unknown)
                if left:
                    await self._wait_for([entry for entry, _ in left.values()])
                    await service.after_sending(left)
            elif pauses:
                pause = min(pauses.values())
                if pause > self.settings.outage_wait_s:
                    return CreatesPaused(pause)
                await self.sleep(pause)
            else:
                return None

    def _stale(self, mine: Sequence[Entry], now: datetime) -> AbstractSet[int]:
        """Return the READY rows that must be checked before they may be sent."""
        max_age = self.settings.check_max_age
        return {
            entry.id
            for entry in mine
            if entry.state is State.READY
            and not transitions.recently_checked(entry, now=now, max_age=max_age)
        }

    def _breaker(self, mine: Sequence[Entry]) -> CircuitBreaker:
        """Return the breaker of this run; it begins with a probe where the last one met an outage."""
        return CircuitBreaker(
            longest_wait=self.settings.outage_wait_s,
            ticks=self.ticks,
            sleep=self.sleep,
            suspected=any(entry.reason == transitions.OUTAGE for entry in mine),
        )

    async def _sendable(
        self, mine: Sequence[Entry], bodies: Mapping[int, Mapping[str, Any]]
    ) -> dict[int, Mapping[str, Any]]:
        """Return what can be sent now, with its manager; reject what never can."""
        ready = [entry for entry in mine if entry.state is State.READY]
        keys = {entry.manager_key for entry in ready if entry.manager_key}
        managers = await self.ledger.by_key(keys) if keys else {}
        sendable: dict[int, Mapping[str, Any]] = {}
        for entry in ready:
            if entry.manager_key is None:
                sendable[entry.id] = bodies[entry.id]
                continue
            manager = managers.get(entry.manager_key)
            if manager is None or manager.state in {State.REJECTED, State.GIVEN_UP}:
                await self._reject_report(entry, "manager_not_created")
            elif manager.state in HERE and manager.remote_number is None:
                await self._reject_report(entry, "manager_without_number")
            elif manager.state in HERE:
                sendable[entry.id] = {**bodies[entry.id], "id_manager": manager.remote_number}
        return sendable

    async def _reject_report(self, entry: Entry, reason: str) -> None:
        await self.ledger.change(
            [entry.id],
            lambda row, _: transitions.reject_without_manager(row, owner=self.owner, reason=reason),
        )

    async def _send(
        self, ready: Mapping[int, Mapping[str, Any]], breaker: CircuitBreaker
    ) -> Exception | None:
        """Send all of `ready`, some at once; return the error that stopped them."""
        at_once = self.settings.create_concurrency
        slots = asyncio.Semaphore(at_once)
        async with GroupCommit(self.ledger, at_once) as journal:
            sender = RowSender(
                journal, self.remote, self.settings, self.owner, slots, breaker, self.ticks
            )
            return await WorkerPool(sender, at_once).send(ready)

    async def _wait_for(self, unknown: Collection[Entry]) -> None:
        """Wait once until all of `unknown` are due."""
        last = max(lookup_due_at(entry, self.settings.settle) for entry in unknown)
        while (left := (last - await self.ledger.now()).total_seconds()) > 0:
            await self.sleep(left)

    async def _standing(self, rows: Sequence[int]) -> dict[State, int]:
        """Count where `rows` stand; raise `RowsHeld` if some are neither done nor wait for a person.

        Whether their lease is still alive says nothing: it may have run out since they were
        refused to this task, and then nobody works on them.
        """
        entries = await self.ledger.entries(rows)
        above = {entry.key: entry for entry in entries}
        wanted = {e.manager_key for e in entries if e.manager_key} - above.keys()
        while wanted:
            found = await self.ledger.by_key(wanted)
            above |= found
            wanted = {e.manager_key for e in found.values() if e.manager_key} - above.keys()
        left = sum(entry.state in OPEN and not _waits(entry, above) for entry in entries)
        if left:
            raise RowsHeld(left, self.settings.lease_s)
        counts: dict[State, int] = {}
        for entry in entries:
            counts[entry.state] = counts.get(entry.state, 0) + 1
        return counts

    @asynccontextmanager
    async def _leased(self, rows: Sequence[int]) -> AsyncIterator[None]:
        """Hold what can be held of `rows` for the block, and give back what is still open."""
        owner, life = self.owner, self.settings.lease
        await self.ledger.change(
            rows, lambda entry, now: transitions.claim(entry, owner=owner, now=now, life=life)
        )
        heartbeat = asyncio.create_task(self._hold(rows))
        try:
            yield
        finally:
            heartbeat.cancel()
            with suppress(asyncio.CancelledError):
                await heartbeat
            await self.ledger.change(rows, lambda entry, _: transitions.release(entry, owner=owner))

    async def _hold(self, rows: Sequence[int]) -> None:
        """Show a sign of life, three times in the life of a lease."""
        while True:
            await self.sleep(self.settings.lease_s / 3)
            await self._renew(rows)

    async def _renew(self, rows: Sequence[int]) -> None:
        owner, life = self.owner, self.settings.lease
        await self.ledger.change(
            rows, lambda entry, now: transitions.renew(entry, owner=owner, now=now, life=life)
        )


def _pause(entry: Entry, now: datetime) -> float:
    """Return the seconds until a row may be sent."""
    sendable_from = transitions.sendable_from(entry)
    return 0.0 if sendable_from is None else max(0.0, (sendable_from - now).total_seconds())


def _waits(entry: Entry, entries: Mapping[str, Entry]) -> bool:
    """Whether a row can't be sent before a person has decided on a manager above it."""
    manager = entries.get(entry.manager_key or "")
    if entry.state is not State.READY or manager is None:
        return False
    return manager.state is State.REVIEW or _waits(manager, entries)
