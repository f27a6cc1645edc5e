"""Snapshots of the service's lists that belong to a drop: read, refreshed, stored, as the planner sees them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.planning.matching import (
    PlanningView,
    match_keys_of,
    names_of,
    namesakes_to_read,
    records_to_read,
)
from bms_flows.onboarding.planning.views import ledger_view, with_restricted
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity, rules_version
from bms_flows.onboarding.resources.service_remote import ServiceRemote
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
    remote: ServiceRemote
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
        scopes = scopes_of(self.remote.identity, self.sheet)
        return await self.remote.refresh(stored[1], scopes, await self.ledger.now())

    async def appeared(self, shown: ServiceLists) -> Sequence[ServiceRecord]:
        """Return the records, of no row, that are new or changed since the drop was planned."""
        stored = await self._latest()
        new = [k for k in shown.new_since(stored[1]) if not k.deleted] if stored else []
        owners = await self.ledger.owners({known.remote_id for known in new})
        return [known for known in new if known.remote_id not in owners]

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
            snapshot.narrowed(
                match_keys_of(self.sheet, identity) | names_of(self.sheet, identity), remote_ids
            ),
            rules=rules_version(self.remote.resource.region),
        )
        return await self.ledger.save_snapshot(self.drop_id, narrowed)

    async def view(self, snapshot: ServiceLists) -> PlanningView:
        """Return the planner's view of the ledger and of a snapshot, with the details that it compares."""
        resource, identity, sheet = self.remote.resource, self.remote.identity, self.sheet
        by_scope, names, unknown = identity.scope is not None, [*snapshot.lists], frozenset[Any]()
        if by_scope:
            scopes = scopes_of(identity, sheet)
            unknown = frozenset(each for each in scopes if str(each) not in snapshot.lists)
            valid = (row.values for row in sheet.rows if not sheet.faults_of(row))
            names = [str(scope) for scope in {*map(identity.scope_of, valid)} & scopes - unknown]
        listed = [snapshot.lists[name].rows for name in names]
        headcount = len({i for fingerprints in listed for i in fingerprints})
        # A resource without scopes has several lists of the same records.
        parts = listed if by_scope else [headcount]
        view, undone = await ledger_view(
            self.ledger, sheet, resource, identity, self.settings, snapshot.taken_at
        )
        shown = await asyncio.to_thread(
            with_restricted, self.ledger.engine, sheet, identity, snapshot.records.values()
        )
        view = replace(
            view,
            shown=shown,
            unknown_scopes=unknown,
            drop_id=self.drop_id,
            headcount=headcount,
            empty_scopes=sum(not part for part in parts),
            contains=snapshot.contains,
        )
        view = view.without(await self._removed(view, undone))
        view = replace(view, shown=await self._with_unlisted(view))
        wanted = records_to_read(sheet, resource, identity, view)
        records = await self._details(wanted, self.remote.read_permitted)
        return replace(view, records={i: each for i, each in records.items() if each is not None})

    async def _removed(self, view: PlanningView, undone: Collection[str]) -> Collection[str]:
        """Return the records on undo sheets that the service no longer has, or shows as deleted."""
        known = {*undone} & {*view.matched_ids, *view.by_id}
        deleted = {each for each in known if each in view.by_id and view.by_id[each].deleted}
        records = await self._details(each for each in known if not view.is_listed(each))
        return deleted.union(each for each, record in records.items() if record is None)

    async def _with_unlisted(self, view: PlanningView) -> list[ServiceRecord]:
        """Return the records; those of rows' namesakes with the digests of fields that only details have."""
        namesakes = namesakes_to_read(self.sheet, self.remote.identity, view)
        details = await self._details(namesakes)
        more = {i: self.remote.known(each) for i, each in details.items() if each}
        return [
            msgspec.structs.replace(
                known,
                other_digests=(*known.other_digests, *more[i].other_digests),
                distinguishing=more[i].distinguishing,
            )
            if (i := known.remote_id) in more
            else known
            for known in view.shown
        ]

    async def _details(
        self, remote_ids: Iterable[str], read: Callable[[str], Awaitable[Any]] | None = None
    ) -> dict[str, Any]:
        """Return details by remote id; None for a record that the service does not have."""
        wanted = sorted(remote_ids)
        records = await asyncio.gather(*map(read or self.remote.read, wanted))
        return dict(zip(wanted, records, strict=True))

    async def _latest(self) -> tuple[int, ServiceLists] | None:
        """Return the latest stored snapshot, None if other match rules chose its records."""
        stored = await self.ledger.latest_snapshot(self.drop_id)
        current = rules_version(self.remote.resource.region)
        return stored if stored and stored[1].rules == current else None
