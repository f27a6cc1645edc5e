"""A ledger in memory, for the creation engine without a database."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from bms_flows.onboarding.ledger.entry import Entry, InvalidTransition, State
from bms_flows.onboarding.ledger.store import NextTransition, PostgresLedger, RemoteIdConflict
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.match_rules import rules_version
from bms_flows.onboarding.resources.remotes import Employees
from bms_flows.onboarding.resources.snapshot import ServiceLists
from proofs.simulation.clock import now

IDENTITY = Employees.identity


class MemoryLedger(PostgresLedger):
    """The ledger's behaviour without a database: one change at a time, unique remote ids."""

    def __init__(self) -> None:
        self.rows: dict[int, Entry] = {}
        self.body: dict[int, dict[str, Any]] = {}
        self.snapshot: dict[int, ServiceLists] = {}
        self.ahead = timedelta()
        """How far the database's clock is ahead of the time."""
        self.history: list[tuple[datetime, int, str | None, Entry]] = []

    def add(
        self,
        body: Mapping[str, Any],
        *,
        max_attempts: int = 5,
        manager: str | None = None,
        snapshot: ServiceLists | None = None,
    ) -> int:
        """Enter a row, planned with a snapshot of the service, and return its number."""
        number = len(self.rows) + 1
        key = IDENTITY.key(body)
        assert key is not None
        self.rows[number] = Entry(
            id=number,
            key=key,
            digest="",
            max_attempts=max_attempts,
            manager_key=manager,
            snapshot_id=None if snapshot is None else self.keep(snapshot),
        )
        self.body[number] = dict(body)
        return number

    def keep(self, snapshot: ServiceLists) -> int:
        """Store a snapshot of the service, and return its number."""
        stored = replace(snapshot, rules=rules_version(EMPLOYEE.region))
        self.snapshot[len(self.snapshot) + 1] = stored
        return len(self.snapshot)

    async def now(self) -> datetime:
        """Return the ledger's own time."""
        return now() + self.ahead

    async def change(self, ids: Collection[int], step: NextTransition) -> dict[int, Entry]:
        """Move rows, all of them or none, as one transaction; raise `RemoteIdConflict` for an id that another has."""
        at, moved = now() + self.ahead, {}
        for number in sorted(ids):
            try:
                moved[number] = step(self.rows[number], at)
            except InvalidTransition:
                continue
        taken = {e.remote_id for n, e in self.rows.items() if e.remote_id and n not in moved}
        for move in moved.values():
            if (remote_id := move.entry.remote_id) is None:
                continue
            if remote_id in taken:
                raise RemoteIdConflict
            taken.add(remote_id)
        for number, move in moved.items():
            self.rows[number] = move.entry
            self.history.append((now(), number, move.what, move.entry))
        return {number: move.entry for number, move in moved.items()}

    async def entries(self, ids: Collection[int]) -> list[Entry]:
        """Return rows by number."""
        return [self.rows[number] for number in sorted(ids)]

    async def by_key(self, keys: Collection[str]) -> dict[str, Entry]:
        """Return rows by key."""
        return {entry.key: entry for entry in self.rows.values() if entry.key in keys}

    async def bodies(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """Return what is to be sent."""
        return {number: self.body[number] for number in ids}

    async def confirmed(self, boot_id: str) -> dict[str, Entry]:
        """Return the rows sent in a boot of a machine and confirmed by a response."""
        return {
            each.remote_id: each
            for each in self.rows.values()
            if each.state is State.CREATED and each.boot_id == boot_id and each.remote_id
        }

    async def snapshots(self, ids: Collection[int]) -> dict[int, ServiceLists]:
        """Return stored snapshots."""
        return {number: self.snapshot[number] for number in ids}

    async def owners(self, remote_ids: Collection[str]) -> dict[str, str]:
        """Return which rows have these records."""
        rows = self.rows.values()
        return {e.remote_id: e.key for e in rows if e.remote_id and e.remote_id in remote_ids}
