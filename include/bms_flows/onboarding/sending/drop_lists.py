"""Snapshots of the service's lists that belong to a drop: read, refreshed, stored."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from bms_flows.onboarding.ledger import snapshot_store
from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.planning.matching import match_keys_of
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.match_rules import Identity, rules_version
from bms_flows.onboarding.resources.remote import Remote
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_flows.onboarding.settings import OnboardingSettings


def scopes_of(identity: Identity, sheet: Sheet) -> frozenset[Any]:
    """Return the scopes that the rows of a drop name; without scopes, whether it has a valid row."""
    by_scope = identity.scope is not None
    rows = [row.values for row in sheet.rows if by_scope or not sheet.faults_of(row)]
    scopes = frozenset(identity.scope_of(values) for values in rows)
    return scopes - {None} if by_scope else scopes


@dataclass(frozen=True)
class DropLists:
    """The snapshots of one drop."""

    ledger: PostgresLedger
    remote: Remote
    settings: OnboardingSettings
    drop_id: int
    sheet: Sheet

    async def take(self) -> ServiceLists:
        """Read all lists that rows are compared with."""
        at = await self.ledger.now()
        return await self.remote.read_all(scopes_of(self.remote.identity, self.sheet), at)

    async def refresh(self) -> ServiceLists:
        """Return the latest stored snapshot plus new records; take a snapshot if none is stored."""
        stored = await self._latest()
        if stored is None:
            return await self.take()
        return await self.remote.refresh(stored[1], await self.ledger.now())

    async def reuse(self) -> tuple[ServiceLists, int | None]:
        """Return the latest stored snapshot and its number if it is recent, else a refreshed one and None.

        Lists of employees are always read again: each is one request, and what they show of managers
        is not stored.
        """
        stored = await self._latest()
        at = await self.ledger.now()
        if stored is not None and self.remote.identity.scope is None:
            number, snapshot = stored
            if at - snapshot.taken_at <= self.settings.check_max_age:
                return snapshot, number
        return await self.refresh(), None

    async def save(self, snapshot: ServiceLists, remote_ids: Collection[str]) -> int:
        """Store a snapshot with the records that may match the rows; return its number."""
        identity = self.remote.identity
        narrowed = msgspec.structs.replace(
            snapshot.narrowed(match_keys_of(self.sheet, identity), remote_ids),
            rules=rules_version(self.remote.resource.region),
        )
        return await asyncio.to_thread(
            snapshot_store.save, self.ledger.engine, identity.resource, self.drop_id, narrowed
        )

    async def _latest(self) -> tuple[int, ServiceLists] | None:
        """Return the latest stored snapshot, None if other match rules chose its records."""
        stored = await asyncio.to_thread(snapshot_store.latest, self.ledger.engine, self.drop_id)
        current = rules_version(self.remote.resource.region)
        return stored if stored and stored[1].rules == current else None
