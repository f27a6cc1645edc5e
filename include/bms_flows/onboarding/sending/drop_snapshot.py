"""The snapshot of the service that belongs to a drop: taken, refreshed, stored."""

import asyncio
from collections.abc import Collection
from typing import Any

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.ledger import snapshot_store
from bms_flows.onboarding.planning.view import finders_named
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.snapshot import Snapshot

Numbered = tuple[Snapshot, int | None]
"""A snapshot with its number, None where it is not stored."""


def scopes_of(onboarding: OnboardingContext, sheet: Sheet) -> frozenset[Any]:
    """Return the parts of the service that the usable rows of a drop name."""
    usable = [row.values for row in sheet.rows if not sheet.faults_of(row)]
    scopes = frozenset(onboarding.identity.scope_of(values) for values in usable)
    return scopes if onboarding.identity.scope is None else scopes - {None}


async def take(onboarding: OnboardingContext, sheet: Sheet) -> Numbered:
    """Read the lists of the service whole: the parts that the rows name, and all of the connection."""
    at = await onboarding.ledger.now()
    scopes = {*scopes_of(onboarding, sheet)}
    if onboarding.identity.scope is not None:
        scopes |= {*onboarding.entities}
    return await onboarding.remote.read_all(scopes, at), None


async def refresh(onboarding: OnboardingContext, drop_id: int, sheet: Sheet) -> Numbered:
    """Return the drop's latest snapshot with what is new since; take one where none is stored."""
    stored = await asyncio.to_thread(snapshot_store.latest, onboarding.warehouse, drop_id)
    if stored is None:
        return await take(onboarding, sheet)
    return await onboarding.remote.refresh(stored[1], await onboarding.ledger.now()), None


async def reuse(onboarding: OnboardingContext, drop_id: int, sheet: Sheet) -> Numbered:
    """Return the drop's latest snapshot if it is recent enough to plan with, else refresh it.

    Lists of employees are always read again: each is one request, and what they show of managers is
    stored nowhere.
    """
    stored = await asyncio.to_thread(snapshot_store.latest, onboarding.warehouse, drop_id)
    at = await onboarding.ledger.now()
    if stored is None or onboarding.identity.scope is not None:
        return await refresh(onboarding, drop_id, sheet)
    number, taken = stored
    if at - taken.taken_at > onboarding.settings.check_max_age:
        return await refresh(onboarding, drop_id, sheet)
    return taken, number


def store(
    onboarding: OnboardingContext,
    drop_id: int,
    sheet: Sheet,
    taken: Snapshot,
    remote_ids: Collection[str],
) -> int:
    """Store a snapshot with the records that may concern the drop's rows; return its number."""
    narrowed = taken.narrowed(finders_named(sheet, onboarding.identity), remote_ids)
    return snapshot_store.save(onboarding.warehouse, onboarding.resource.name, drop_id, narrowed)
