"""The snapshot of the service that belongs to a drop: taken, refreshed, stored."""

import asyncio
from collections.abc import Collection
from typing import Any

from bms_flows.onboarding.context import Workbench
from bms_flows.onboarding.ledger import snapshot_store
from bms_flows.onboarding.planning.view import finders_named
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.snapshot import Snapshot

Numbered = tuple[Snapshot, int | None]
"""A snapshot with its number, None where it is not stored."""


def scopes_of(bench: Workbench, sheet: Sheet) -> frozenset[Any]:
    """Return the parts of the service that the usable rows of a drop name."""
    usable = [row.values for row in sheet.rows if not sheet.faults_of(row)]
    scopes = frozenset(bench.identity.scope_of(values) for values in usable)
    return scopes if bench.identity.scope is None else scopes - {None}


async def take(bench: Workbench, sheet: Sheet) -> Numbered:
    """Read the lists of the service whole: the parts that the rows name, and all of the connection."""
    at = await bench.ledger.now()
    scopes = {*scopes_of(bench, sheet)}
    if bench.identity.scope is not None:
        scopes |= {*bench.entities}
    return await bench.remote.read_all(scopes, at), None


async def refresh(bench: Workbench, drop_id: int, sheet: Sheet) -> Numbered:
    """Return the drop's latest snapshot with what is new since; take one where none is stored."""
    stored = await asyncio.to_thread(snapshot_store.latest, bench.warehouse, drop_id)
    if stored is None:
        return await take(bench, sheet)
    return await bench.remote.refresh(stored[1], await bench.ledger.now()), None


async def reuse(bench: Workbench, drop_id: int, sheet: Sheet) -> Numbered:
    """Return the drop's latest snapshot if it is recent enough to plan with, else refresh it.

    Lists of employees are always read again: each is one request, and what they show of managers is
    stored nowhere.
    """
    stored = await asyncio.to_thread(snapshot_store.latest, bench.warehouse, drop_id)
    at = await bench.ledger.now()
    if stored is None or bench.identity.scope is not None:
        return await refresh(bench, drop_id, sheet)
    number, taken = stored
    if at - taken.taken_at > bench.settings.check_max_age:
        return await refresh(bench, drop_id, sheet)
    return taken, number


def store(
    bench: Workbench, drop_id: int, sheet: Sheet, taken: Snapshot, remote_ids: Collection[str]
) -> int:
    """Store a snapshot with the records that may concern the drop's rows; return its number."""
    narrowed = taken.narrowed(finders_named(sheet, bench.identity), remote_ids)
    return snapshot_store.save(bench.warehouse, bench.resource.name, drop_id, narrowed)
