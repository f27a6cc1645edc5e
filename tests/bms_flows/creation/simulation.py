"""A service and a ledger in memory, in virtual time: thousands of runs of the engine in seconds.

The engine is the real one. The loop's clock jumps to the next thing that happens, so a settle time
costs nothing; every draw comes from one seed, so a run can be played again.
"""

import asyncio
import selectors
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from bms.endpoints import BY_NAME
from bms.errors import AmbiguousWrite, ConnectionFailed, Refused
from bms_flows.creation.employees import EMPLOYEE
from bms_flows.creation.entry import Entry, State, Unlawful
from bms_flows.creation.evidence import Known
from bms_flows.creation.ledger import Claimed, Step
from bms_flows.creation.remote import Fence, Made
from bms_flows.creation.remotes import Employees

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ENDPOINT = BY_NAME["create_employee"]
IDENTITY = Employees.identity


class _Jump(selectors.DefaultSelector):
    """Waits for nothing: time goes on by as much as would have been waited."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout:
            self.passed += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is virtual."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.passed


def now() -> datetime:
    """The virtual time of the running loop."""
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


def play(main: Any) -> Any:
    """Run a coroutine in virtual time."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


class MemoryLedger:
    """The ledger's behaviour without a database: one change at a time, unique remote ids."""

    def __init__(self) -> None:
        self.rows: dict[int, Entry] = {}
        self.body: dict[int, dict[str, Any]] = {}
        self.history: list[tuple[datetime, int, str | None, Entry]] = []

    def add(self, body: Mapping[str, Any], *, limit: int = 5, manager: str | None = None) -> int:
        number = len(self.rows) + 1
        key = IDENTITY.key(body)
        assert key is not None
        self.rows[number] = Entry(id=number, key=key, digest="", limit=limit, manager_key=manager)
        self.body[number] = dict(body)
        return number

    async def now(self) -> datetime:
        return now()

    async def change(self, ids: Collection[int], step: Step) -> dict[int, Entry]:
        at, moved = now(), {}
        for number in sorted(ids):
            try:
                moved[number] = step(self.rows[number], at)
            except Unlawful:
                continue
        taken = {e.remote_id for n, e in self.rows.items() if e.remote_id and n not in moved}
        for move in moved.values():
            if move.entry.remote_id is not None and move.entry.remote_id in taken:
                raise Claimed
            taken.add(move.entry.remote_id)
        for number, move in moved.items():
            self.rows[number] = move.entry
            self.history.append((at, number, move.what, move.entry))
        return {number: move.entry for number, move in moved.items()}

    async def entries(self, ids: Collection[int]) -> list[Entry]:
        return [self.rows[number] for number in sorted(ids)]

    async def by_key(self, keys: Collection[str]) -> dict[str, Entry]:
        return {entry.key: entry for entry in self.rows.values() if entry.key in keys}

    async def bodies(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        return {number: self.body[number] for number in ids}

    async def owners(self, remote_ids: Collection[str]) -> dict[str, str]:
        return {e.remote_id: e.key for e in self.rows.values() if e.remote_id in remote_ids}


@dataclass
class Record:
    """A record of the simulated service."""

    known: Known
    exists_from: datetime
    listed_from: datetime


@dataclass
class SimulatedService:
    """Creates, loses answers, lags; watches that no key has two POSTs in flight."""

    fates: Callable[[], str]
    """Draws what becomes of a create: see `create`."""
    lag: Callable[[], float] = lambda: 0.0
    """Draws the seconds until a created record shows in the lists."""
    skew: float = 0.0
    latency: float = 0.05
    records: list[Record] = field(default_factory=list)
    in_flight: Counter[str] = field(default_factory=Counter)
    sent: list[tuple[datetime, str]] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)

    resource = EMPLOYEE
    identity = IDENTITY
    create_endpoint = "create_employee"

    async def shown(self, scopes: Iterable[Any]) -> list[Known]:
        await asyncio.sleep(min(self.latency, 0.5))
        entities = set(scopes)
        return [
            r.known
            for r in self.records
            if r.listed_from <= now() and r.known.values["id_entity"] in entities
        ]

    async def read(self, remote_id: str) -> Any | None:
        raise NotImplementedError

    async def create(self, body: Mapping[str, Any]) -> Made:
        key = IDENTITY.key(body) or ""
        fate = self.fates()
        self.fired[fate] += 1
        if fate == "no_connection":
            raise ConnectionFailed(ENDPOINT, "no connection", sent=False)
        self.sent.append((now(), key))
        # What the service does goes on whatever happens to the sender.
        served = asyncio.get_running_loop().create_task(self._serve(key, body, fate))
        served.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(served)

    async def _serve(self, key: str, body: Mapping[str, Any], fate: str) -> Made:
        assert not self.in_flight[key], "two POSTs of one key in flight"
        self.in_flight[key] += 1
        try:
            await asyncio.sleep(self.latency)
            if fate == "refused":
                raise Refused(ENDPOINT, "refused (422)", status=422)
            if fate == "unavailable":
                raise AmbiguousWrite(ENDPOINT, "server error", status=503)
            made = self._commit(key, body)
            if fate == "slow":
                await asyncio.sleep(1.5)
            if fate == "lost":
                raise AmbiguousWrite(ENDPOINT, "connection lost")
            return made
        finally:
            self.in_flight[key] -= 1

    def _commit(self, key: str, body: Mapping[str, Any]) -> Made:
        number = len(self.records) + 1
        at = now()
        known = Known(
            remote_id=f"guid-{number}",
            number=number,
            is_standby=True,
            key=key,
            marks=IDENTITY.mark(body),
            created_on=at + timedelta(seconds=self.skew),
            values={"id_entity": body["id_entity"]},
        )
        self.records.append(Record(known, at, at + timedelta(seconds=self.lag())))
        return Made(known.remote_id, number, True)

    def doubles(self) -> list[str]:
        """Keys with more than one record."""
        return [k for k, n in Counter(r.known.key for r in self.records).items() if n > 1]


class Killed(BaseException):
    """The process is gone; nothing of it runs any more."""


class Process:
    """One worker's view of ledger and service: it can be killed at any step, or stopped for a while."""

    def __init__(
        self,
        ledger: MemoryLedger,
        service: SimulatedService,
        *,
        kill_at: int | None = None,
        stop_at: int | None = None,
        stop_for: float = 0.0,
    ) -> None:
        self._ledger, self._service = ledger, service
        self._kill_at, self._stop_at, self._stop_for = kill_at, stop_at, stop_for
        self.steps = 0
        self.dead = False
        self._stopped_until = 0.0
        self.resource, self.identity = service.resource, service.identity
        self.create_endpoint = service.create_endpoint

    async def _step(self) -> None:
        self.steps += 1
        if self.steps == self._kill_at:
            self.dead = True
        loop = asyncio.get_running_loop()
        if self.steps == self._stop_at:
            self._stopped_until = loop.time() + self._stop_for
        if self.dead:
            raise Killed
        cancelled = False
        while (left := self._stopped_until - loop.time()) > 0:
            # A stopped process does nothing; what its timers wanted meanwhile comes when it wakes.
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if self.dead:
            raise Killed

    async def now(self) -> datetime:
        return await self._ledger.now()

    async def change(self, ids: Collection[int], step: Step) -> dict[int, Entry]:
        await self._step()
        done = await self._ledger.change(ids, step)
        await self._step()
        return done

    async def entries(self, ids: Collection[int]) -> list[Entry]:
        await self._step()
        return await self._ledger.entries(ids)

    async def by_key(self, keys: Collection[str]) -> dict[str, Entry]:
        return await self._ledger.by_key(keys)

    async def bodies(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        return await self._ledger.bodies(ids)

    async def owners(self, remote_ids: Collection[str]) -> dict[str, str]:
        return await self._ledger.owners(remote_ids)

    async def shown(self, scopes: Iterable[Any]) -> list[Known]:
        await self._step()
        return await self._service.shown(scopes)

    async def read(self, remote_id: str) -> Any | None:
        return await self._service.read(remote_id)

    async def create(self, body: Mapping[str, Any], fence: Fence) -> Made:
        await self._step()
        fence()
        under_way = asyncio.create_task(self._service.create(body))
        under_way.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.sleep(0)
        await self._step()  # killed or stopped here, the request is on its way
        try:
            return await under_way
        finally:
            await self._step()


def person(n: int, **given: Any) -> dict[str, Any]:
    """A body like no other's."""
    return {
        "id_entity": 1,
        "payroll_number": f"{n:06}",
        "last_name": f"Nom{n}",
        "first_name": "Prénom",
        "start_date": "2026-02-01",
        **given,
    }


def drawn(random: Random, weights: Mapping[str, int]) -> Callable[[], str]:
    """Draws of fates by their weights."""
    names, shares = list(weights), list(weights.values())
    return lambda: random.choices(names, shares)[0]


DONE_OR_ASKED = {State.CREATED, State.ADOPTED, State.REJECTED, State.REVIEW, State.GIVEN_UP}
