"""Read-back of created records: which fields are as sent, different, or not readable."""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final

from bms_flows.onboarding.ledger.entering import save_verified, verified_fields
from bms_flows.onboarding.ledger.entry import EXISTING, Entry
from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.resources.body import compare
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_flows.runtime.concurrently import gather_bounded

BATCH: Final = 200
"""Rows whose bodies are in memory at a time, and whose results are written together."""
MAX_CONCURRENT_READS: Final = 16
"""Concurrent detail reads; the client sends fewer when the service is slow."""


async def verify(
    ledger: PostgresLedger, remote: ServiceRemote, settle_s: float, rows: Collection[int]
) -> None:
    """Read each created or adopted row back once, and save the names of its fields.

    A record that is not readable is read again after a settle time.
    """
    await _verify(ledger, remote, rows)
    if await _unverified(ledger, rows):
        await asyncio.sleep(settle_s)
        await _verify(ledger, remote, rows)


async def _verify(ledger: PostgresLedger, remote: ServiceRemote, rows: Collection[int]) -> None:
    left = await _unverified(ledger, rows)
    for first in range(0, len(left), BATCH):
        entries = left[first : first + BATCH]
        bodies = await bodies_with_managers(ledger, entries)
        sent = [(entry, bodies[entry.id]) for entry in entries if entry.id in bodies]
        read = await gather_bounded(partial(_read, remote), sent, at_once=MAX_CONCURRENT_READS)
        found = {row: names for row, names in read if names is not None}
        await asyncio.to_thread(save_verified, ledger.engine, found)


async def _read(
    remote: ServiceRemote, sent: tuple[Entry, Mapping[str, Any]]
) -> tuple[int, Mapping[str, Any] | None]:
    """Return a row's number and the names of its fields; None if the record is not readable."""
    entry, body = sent
    record = await remote.read_permitted(entry.remote_id or "")
    if record is None:
        return entry.id, None
    compared = compare(remote.resource, body, record)
    return entry.id, {
        "equal": list(compared.equal),
        "different": [each.name for each in compared.different],
        "unreadable": list(compared.unreadable),
    }


async def bodies_with_managers(
    ledger: PostgresLedger, entries: Collection[Entry]
) -> dict[int, dict[str, Any]]:
    """Return the bodies of rows with the numbers of their managers; deleted bodies are omitted."""
    bodies = await ledger.bodies([entry.id for entry in entries])
    managers = await ledger.by_key({e.manager_key for e in entries if e.manager_key})
    for entry in entries:
        manager = managers.get(entry.manager_key or "")
        if manager is not None and entry.id in bodies:
            bodies[entry.id]["id_manager"] = manager.remote_number
    return bodies


async def _unverified(ledger: PostgresLedger, rows: Collection[int]) -> list[Entry]:
    done = set(await asyncio.to_thread(verified_fields, ledger.engine, rows))
    entries = await ledger.entries(rows)
    return [entry for entry in entries if entry.state in EXISTING and entry.id not in done]
