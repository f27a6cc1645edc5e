"""A simulated service that creates employees: it loses responses, lags, and records every sender."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

import msgspec

from bms.endpoints import BY_NAME
from bms.errors import AmbiguousWrite, ConnectionFailed, Refused
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.evidence import RecordIds, ServiceRecord
from bms_flows.onboarding.resources.remote import IdUnconfirmed
from bms_flows.onboarding.resources.snapshot import ServiceLists, listed
from proofs.simulation.clock import now
from proofs.simulation.ledger import IDENTITY

ENDPOINT = BY_NAME["create_employee"]
GATEWAY_S = 5.0
"""Seconds until the gateway answers 504."""
REFUSALS, BUSY = {"refused": 422, "forbidden": 403}, {"unavailable": 503, "throttled": 429}
"""Statuses of creates that make nothing, by fate."""
OTHERS = 500_000
"""From this number on persons are of other users of the service."""


class SlowReadBack(IdUnconfirmed):
    """A create returned an id, and the read of its record does not end in time."""


UNREAD = {"early_id": IdUnconfirmed, "slow_read_back": SlowReadBack}
"""How creates end that return an id whose record was not read, by fate."""


@dataclass
class Record:
    """A record of the simulated service."""

    known: ServiceRecord
    exists_from: datetime
    listed_from: datetime
    who: int = 0
    """The person it is of, by the number in the file."""
    typed: bool = False
    """Whether an HR user typed it in."""
    deleted_from: datetime | None = None
    keys: list[tuple[datetime, str | None]] = field(default_factory=list)
    """The keys that lists showed, each with the time from which on."""

    def __post_init__(self) -> None:
        self.keys.append((self.listed_from, self.known.key))

    def showed(self, key: str, since: datetime, until: datetime) -> bool:
        """Return whether lists showed a key during all of a time."""
        ends = [*(at for at, _ in self.keys[1:]), datetime.max.replace(tzinfo=since.tzinfo)]
        spans = zip(self.keys, ends, strict=True)
        return any(shown == key and at < since and end > until for (at, shown), end in spans)


@dataclass
class SimulatedService:
    """Creates, loses answers, lags; watches that no key has two POSTs in flight."""

    fates: Callable[[], str]
    """Random outcome of a create: see `create`."""
    lag: Callable[[], float] = lambda: 0.0
    """Draws the seconds until a created record shows in the lists."""
    latency: float = 0.05
    stored: Callable[[str], str] = str
    """Returns the form in which the service stores a payroll number."""
    behind_gateway_s: float = 29.0
    """Seconds of a create behind a gateway that timed out: just within our assumption."""
    retry_after: float | None = None
    """Seconds that 429 and 503 ask to wait."""
    records: list[Record] = field(default_factory=list)
    in_flight: Counter[str] = field(default_factory=Counter)
    sent: list[tuple[datetime, str]] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)
    overlaps: list[tuple[datetime, str]] = field(default_factory=list)
    """POSTs that came while another of the same key was in flight."""
    made: int = 0
    """Records made so far; ids are never used again."""
    entities: Collection[int] = ()
    """The entities of the connection."""

    resource = EMPLOYEE
    identity = IDENTITY
    create_endpoint = "create_employee"

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        """Return what the lists show by now."""
        await asyncio.sleep(min(self.latency, 0.5))
        return self.snapshot({*scopes, *self.entities}, at)

    def list_of(self, values: Mapping[str, Any]) -> str:
        """Return the list of the entity."""
        return str(values["id_entity"])

    async def refresh(self, snapshot: ServiceLists, _: Iterable[Any], at: datetime) -> ServiceLists:
        """Return what the lists of a snapshot show by now."""
        await asyncio.sleep(min(self.latency, 0.5))
        found = self.snapshot([int(name) for name in snapshot.lists], at)
        return snapshot.refreshed(at, found.lists, found.records)

    def snapshot(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        """Return what the lists of these entities show at this moment."""
        scopes = {*scopes}
        found = (record.known for record in self.listed())
        shown = [known for known in found if known.values["id_entity"] in scopes]
        lists = {
            str(entity): listed(k for k in shown if k.values["id_entity"] == entity)
            for entity in scopes
        }
        return ServiceLists(taken_at=at, lists=lists, records={k.remote_id: k for k in shown})

    async def read(self, remote_id: str) -> ServiceRecord | None:
        """Return a record once lists show it, too."""
        await asyncio.sleep(min(self.latency, 0.5))
        return next((r.known for r in self.listed() if r.known.remote_id == remote_id), None)

    def known(self, record: ServiceRecord) -> ServiceRecord:
        """Return a record that was read as a list would show it."""
        return record

    async def create(self, body: Mapping[str, Any]) -> RecordIds:
        """Send a create with a random outcome."""
        key = IDENTITY.key(body) or ""
        fate = self.fates()
        self.fired[fate] += 1
        if fate == "no_connection":
            raise ConnectionFailed(ENDPOINT, "no connection", sent=False)
        self.sent.append((now(), key))
        # The service continues whatever happens to the sender.
        served = asyncio.get_running_loop().create_task(self._serve(key, body, fate))
        served.add_done_callback(lambda task: task.cancelled() or task.exception())
        if fate == "broken_off":
            raise AmbiguousWrite(ENDPOINT, "connection lost")  # and the service works on
        if fate == "gateway":
            await asyncio.wait({served}, timeout=GATEWAY_S)  # and the service works on
            raise AmbiguousWrite(ENDPOINT, "server error", status=504)
        return await asyncio.shield(served)

    async def _serve(self, key: str, body: Mapping[str, Any], fate: str) -> RecordIds:
        if self.in_flight[key]:
            self.overlaps.append((now(), key))
        self.in_flight[key] += 1
        try:
            await asyncio.sleep(self.behind_gateway_s if fate == "gateway" else self.latency)
            if status := REFUSALS.get(fate):
                raise Refused(ENDPOINT, f"refused ({status})", status=status)
            if status := BUSY.get(fate):
                raise AmbiguousWrite(ENDPOINT, "busy", status=status, retry_after=self.retry_after)
            if fate == "failed":
                raise AmbiguousWrite(ENDPOINT, "server error", status=500)
            made = self._commit(body)
            if fate == "failed_after":
                raise AmbiguousWrite(ENDPOINT, "server error", status=500)
            if fate == "slow":
                await asyncio.sleep(1.5)
            if fate in UNREAD:
                raise UNREAD[fate](ENDPOINT, made.remote_id)
            if fate == "lost":
                raise AmbiguousWrite(ENDPOINT, "connection lost")
            return made
        finally:
            self.in_flight[key] -= 1

    def _commit(self, body: Mapping[str, Any]) -> RecordIds:
        stored = {**body, "payroll_number": self.stored(body["payroll_number"])}
        known, at = self._known(stored), now()
        listed_from = at + timedelta(seconds=self.lag())
        self.records.append(Record(known, at, listed_from, int(body["payroll_number"])))
        return RecordIds(known.remote_id, known.number, True)

    def type_in(self, body: Mapping[str, Any], who: int) -> None:
        """Take a record that an HR user types in; lists show it at once."""
        self.records.append(Record(self._known(body), now(), now(), who, typed=True))

    async def stay_busy(self, every: float) -> None:
        """Let HR users type in other persons' records, which show as late as any other."""
        for n in itertools.count(OTHERS):
            await asyncio.sleep(every)
            late = now() + timedelta(seconds=self.lag())
            self.records.append(Record(self._known(person(n)), now(), late, n, typed=True))

    def change(self, record: Record, body: Mapping[str, Any]) -> None:
        """Show a record with other data from now on, under its own id."""
        changed = self._known(body)
        names = {"remote_id": record.known.remote_id, "number": record.known.number}
        record.known = msgspec.structs.replace(changed, deleted=record.known.deleted, **names)
        record.keys.append((now(), record.known.key))

    def delete(self, record: Record) -> None:
        """Mark a record as deleted from now on."""
        record.known = msgspec.structs.replace(record.known, deleted=True)
        record.deleted_from = now()

    def listed(self) -> list[Record]:
        """Return the records that lists show by now."""
        return [record for record in self.records if record.listed_from <= now()]

    def _known(self, body: Mapping[str, Any]) -> ServiceRecord:
        self.made += 1
        return ServiceRecord(
            remote_id=f"guid-{self.made}",
            number=self.made,
            is_standby=True,
            **IDENTITY.digests(body)._asdict(),
            created_on=now().isoformat(),
            values={"id_entity": body["id_entity"]},
        )

    def doubles(self) -> list[str]:
        """Return the persons with more than one created record."""
        made = Counter(r.who for r in self.records if not r.typed)
        return [str(who) for who, n in made.items() if n > 1]


def person(n: int, **given: Any) -> dict[str, Any]:
    """Return a body like no other's."""
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
