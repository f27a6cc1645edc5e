"""Processing of a chunk of ledger rows until each is finished or waits for a reviewer.

The loop keeps no state: it reads the rows from the ledger and makes the next allowed transition. After
a crash, any later call (retry, cleared task, file dropped again, new DAG version) resumes from the
states in the ledger.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from bms_flows.onboarding.ledger import transitions, waits
from bms_flows.onboarding.ledger.entry import EXISTING, OPEN, BootTime, Entry, State
from bms_flows.onboarding.ledger.store import PostgresLedger, with_managers
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_flows.onboarding.sending import absence
from bms_flows.onboarding.sending.breaker import CircuitBreaker, CreatesPaused
from bms_flows.onboarding.sending.group_commit import GroupCommit
from bms_flows.onboarding.sending.send import RowSender, WorkerPool
from bms_flows.onboarding.sending.service_check import ServiceCheck
from bms_flows.onboarding.sending.verdicts import RowBodies
from bms_flows.onboarding.settings import OnboardingSettings
from bms_warehouse.locks import Busy


class NothingSent(Exception):
    """Repeatedly, no create reached the point of sending; a retry may find a faster service."""

    retriable = True
    retry_for_hours = True

    def __init__(self, rows: int, within: float) -> None:
        super().__init__(
            f"none of {rows} rows could be sent within {within:g} s: the service, its token endpoint or"
            " this machine is too slow. No row was sent; the retry continues"
        )


MAX_IDLE_ROUNDS: Final = 3
"""Consecutive rounds that may end without a row sent or settled."""


@dataclass(frozen=True)
class Applier:
    """Processes rows of one resource; simulations replace `sleep` and `clock`."""

    ledger: PostgresLedger
    remote: ServiceRemote
    settings: OnboardingSettings
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], BootTime] = BootTime.now
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)

    async def apply(self, rows: Sequence[int]) -> dict[State, int]:
        """Process `rows` in order; return the number of rows by state.

        Rows whose manager does not exist yet stay READY. Raises `Busy` if another task holds some
        rows, and the client's error if the service is not reachable.
        """
        async with self._leased(rows):
            failure = await self._work(rows)
        if failure is not None:
            raise failure
        return await self._counts(rows)

    async def _work(self, rows: Sequence[int]) -> Exception | None:
        idle_rounds, before = 0, (frozenset[int](), 0)
        service = ServiceCheck(self.ledger, self.remote, self.settings, self.owner, self.clock)
        breaker: CircuitBreaker | None = None
        while True:
            await self._renew(rows)  # this process may have been paused
            entries = await self.ledger.entries(rows)
            mine = [entry for entry in entries if entry.owner == self.owner and entry.state in OPEN]
            breaker = breaker or self._breaker(mine)
            bodies = await self.ledger.bodies([entry.id for entry in mine])
            sendable = await self._sendable(mine, bodies)
            now = await self.ledger.now()
            pauses = {entry.id: _pause(entry, now) for entry in mine if entry.id in sendable}
            ready = {row: body for row, body in sendable.items() if not pauses[row]}
            stale = self._stale(mine, now)
            if not stale.isdisjoint(ready):
                checked = {e.id: (e, bodies[e.id]) for e in mine if e.id in stale}
                await self._check(service, checked)
                continue
            unknown = {e.id: (e, bodies[e.id]) for e in mine if e.state is State.UNKNOWN}
            next_rows = self._next_rows(ready, unknown, now)
            now_ready = (frozenset(next_rows), breaker.refusals)
            idle_rounds, before = idle_rounds + 1 if now_ready == before else 0, now_ready
            if next_rows:
                if idle_rounds == MAX_IDLE_ROUNDS:
                    return NothingSent(len(ready), self.settings.send_within_s)
                failure = await self._send(next_rows, breaker, service.existed)
                if failure is not None:
                    return failure
            elif ready:
                await self._wait_for(unknown, timedelta())
            elif unknown:
                await self._look_up(service, unknown)
            elif pauses:
                pause = min(pauses.values())
                if pause > self.settings.outage_wait_s:
                    return CreatesPaused(pause)
                await self.sleep(pause)
            else:
                return None

    async def _check(self, service: ServiceCheck, rows: RowBodies) -> None:
        """Check rows before sending; wait if the lists are incomplete."""
        if not await service.before_sending(rows):
            await self.sleep(self.settings.settle_s)

    async def _look_up(self, service: ServiceCheck, unknown: RowBodies) -> None:
        """Settle UNKNOWN rows by returned ids, or by the lists once the lookups of all are due."""
        left = await service.by_returned_ids(unknown)
        if left:
            due = await self._wait_for(left, self.settings.settle)
            await service.after_sending({entry.id: (entry, left[entry.id][1]) for entry in due})

    def _stale(self, mine: Sequence[Entry], now: datetime) -> AbstractSet[int]:
        """Return the READY rows that need a check before they may be sent."""
        max_age = self.settings.check_max_age
        return {
            entry.id
            for entry in mine
            if entry.state is State.READY
            and not waits.recently_checked(entry, now=now, max_age=max_age)
        }

    def _breaker(self, mine: Sequence[Entry]) -> CircuitBreaker:
        """Return a circuit breaker; it starts with a probe if the last attempt of a row met an outage."""
        return CircuitBreaker(
            longest_wait=self.settings.outage_wait_s,
            ticks=lambda: self.clock().seconds,
            sleep=self.sleep,
            suspected=any(entry.reason == waits.OUTAGE for entry in mine),
        )

    async def _sendable(
        self, mine: Sequence[Entry], bodies: Mapping[int, Mapping[str, Any]]
    ) -> dict[int, Mapping[str, Any]]:
        """Return the bodies that can be sent, with manager numbers; reject rows whose manager failed."""
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
            elif manager.state in EXISTING and manager.remote_number is None:
                await self._reject_report(entry, "manager_without_number")
            elif manager.state in EXISTING:
                sendable[entry.id] = {**bodies[entry.id], "id_manager": manager.remote_number}
        return sendable

    async def _reject_report(self, entry: Entry, reason: str) -> None:
        await self.ledger.change(
            [entry.id],
            lambda row, _: transitions.reject_without_manager(row, owner=self.owner, reason=reason),
        )

    async def _send(
        self,
        ready: Mapping[int, Mapping[str, Any]],
        breaker: CircuitBreaker,
        existed: Callable[[Entry, str], bool],
    ) -> Exception | None:
        """Send all of `ready` concurrently; return the error that stopped the sending."""
        concurrency = self.settings.create_concurrency
        slots = asyncio.Semaphore(concurrency)
        async with GroupCommit(self.ledger, concurrency) as commits:
            sender = RowSender(
                commits, self.remote, self.settings, self.owner, slots, breaker, existed, self.clock
            )
            return await WorkerPool(sender, concurrency).send(ready)

    def _next_rows(
        self, ready: Mapping[int, Mapping[str, Any]], unknown: RowBodies, now: datetime
    ) -> dict[int, Mapping[str, Any]]:
        """Return the rows to send now; the last rows of a list wait for its ambiguous attempts."""
        ended, in_flight, clock = set[str](), set[str](), self.clock()
        for entry, body in unknown.values():
            over = waits.attempt_is_over(entry, now=now, clock=clock)
            (ended if over else in_flight).add(self.remote.list_of(body))
        lists = {row: self.remote.list_of(body) for row, body in ready.items()}
        return {row: ready[row] for row in absence.next_rows(lists, ended, in_flight)}

    async def _wait_for(self, unknown: Collection[int], settle: timedelta) -> list[Entry]:
        """Wait until the attempts of the `unknown` rows settled, of all at once; return the rows."""
        owner, settings = self.owner, self.settings
        await self.ledger.change(
            unknown,
            lambda entry, _: transitions.restart_wait(
                entry, owner=owner, clock=self.clock(), in_flight=settings.in_flight
            ),
        )
        rows = await self.ledger.entries(unknown)
        mine = [each for each in rows if each.state is State.UNKNOWN and each.owner == owner]
        left = 1.0 if mine else 0.0
        while left > 0:
            now, clock = await self.ledger.now(), self.clock()
            left = max(
                waits.wait_for_lookup(entry, now=now, clock=clock, settle=settle) for entry in mine
            )
            if left > 0:
                await self.sleep(left)
        return mine

    async def _counts(self, rows: Sequence[int]) -> dict[State, int]:
        """Count `rows` by state; raise `Busy` if some are unfinished and don't wait for a reviewer.

        The lease of such a row is irrelevant: it may have expired since this task failed to take it.
        """
        entries = await self.ledger.entries(rows)
        above = await with_managers(self.ledger, {entry.key for entry in entries})
        left = [e for e in entries if e.state in OPEN and not _waits_for_review(e, above)]
        if left:
            now = await self.ledger.now()
            free_after = [(e.leased_until - now).total_seconds() for e in left if e.leased_until]
            raise Busy(
                f"another task holds {len(left)} rows; the retry continues when they are free",
                retry_after=max([1.0, *free_after]),  # a killed task does not renew its leases
                retry_for_hours=True,
            )
        counts: dict[State, int] = {}
        for entry in entries:
            counts[entry.state] = counts.get(entry.state, 0) + 1
        return counts

    @asynccontextmanager
    async def _leased(self, rows: Sequence[int]) -> AsyncIterator[None]:
        """Lease the free rows of `rows` for the block; release those that are still open."""
        owner, life = self.owner, self.settings.lease
        await self.ledger.change(
            rows, lambda entry, now: transitions.claim(entry, owner=owner, now=now, life=life)
        )
        heartbeat = asyncio.create_task(self._heartbeat(rows))
        try:
            yield
        finally:
            heartbeat.cancel()
            with suppress(asyncio.CancelledError):
                await heartbeat
            await self.ledger.change(rows, lambda entry, _: transitions.release(entry, owner=owner))

    async def _heartbeat(self, rows: Sequence[int]) -> None:
        """Renew the lease three times per lease duration."""
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
    sendable_from = waits.sendable_from(entry)
    return 0.0 if sendable_from is None else max(0.0, (sendable_from - now).total_seconds())


def _waits_for_review(entry: Entry, entries: Mapping[str, Entry]) -> bool:
    """Return whether a manager above the row is in review."""
    seen: set[str] = set()
    at: Entry | None = entry
    while at is not None and at.state is State.READY and at.key not in seen:
        seen.add(at.key)
        at = entries.get(at.manager_key or "")
    return at is not None and at.state is State.REVIEW
