"""Reading back what was created: which fields came out as sent, which can't be read at all."""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final

from sqlalchemy import bindparam as bind
from sqlalchemy import select, update

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.ledger.entry import HERE, Entry
from bms_flows.onboarding.resources.body import compare
from bms_flows.runtime.concurrently import gather_bounded
from bms_warehouse.tables import creation

BATCH: Final = 200
"""Rows whose bodies are in memory at once, and whose findings are written together."""
READS_AT_ONCE: Final = 16
"""Details that are asked for at once; the client sends fewer where the service is slow."""


async def verify(onboarding: OnboardingContext, rows: Collection[int]) -> None:
    """Read each created or adopted row of `rows` back, once, and keep the names of its fields.

    A record that is not readable yet is asked for once more after a settle time.
    """
    await _verify(onboarding, rows)
    if await _left(onboarding, rows):
        await asyncio.sleep(onboarding.settings.settle_s)
        await _verify(onboarding, rows)


async def _verify(onboarding: OnboardingContext, rows: Collection[int]) -> None:
    left = await _left(onboarding, rows)
    for first in range(0, len(left), BATCH):
        entries = left[first : first + BATCH]
        bodies = await bodies_with_managers(onboarding, entries)
        sent = [(entry, bodies[entry.id]) for entry in entries if entry.id in bodies]
        read = await gather_bounded(partial(_read, onboarding), sent, at_once=READS_AT_ONCE)
        found = {row: names for row, names in read if names is not None}
        await asyncio.to_thread(_write, onboarding, found)


async def _read(
    onboarding: OnboardingContext, sent: tuple[Entry, Mapping[str, Any]]
) -> tuple[int, Mapping[str, Any] | None]:
    """Return a row's number and the names of its fields; None where its record is not readable."""
    entry, body = sent
    record = await onboarding.remote.read(entry.remote_id or "")
    if record is None:
        return entry.id, None
    compared = compare(onboarding.resource, body, record)
    return entry.id, {
        "equal": list(compared.equal),
        "different": [each.name for each in compared.different],
        "unreadable": list(compared.unreadable),
    }


async def bodies_with_managers(
    onboarding: OnboardingContext, entries: Collection[Entry]
) -> dict[int, dict[str, Any]]:
    """Return the bodies of rows with the numbers of their managers; those erased are left out."""
    bodies = await onboarding.ledger.bodies([entry.id for entry in entries])
    managers = await onboarding.ledger.by_key({e.manager_key for e in entries if e.manager_key})
    for entry in entries:
        manager = managers.get(entry.manager_key or "")
        if manager is not None and entry.id in bodies:
            bodies[entry.id]["id_manager"] = manager.remote_number
    return bodies


async def _left(onboarding: OnboardingContext, rows: Collection[int]) -> list[Entry]:
    done = set(await asyncio.to_thread(verified_fields, onboarding, rows))
    entries = await onboarding.ledger.entries(rows)
    return [entry for entry in entries if entry.state in HERE and entry.id not in done]


def verified_fields(
    onboarding: OnboardingContext, rows: Collection[int]
) -> dict[int, Mapping[str, Any]]:
    """Return what was read back of `rows`: names of fields, `equal`, `different`, `unreadable`."""
    with onboarding.warehouse.connect() as connection:
        found = connection.execute(
            select(creation.c.id, creation.c.verified).where(
                creation.c.id.in_(rows), creation.c.verified.is_not(None)
            )
        )
        return dict(found.all())


def _write(onboarding: OnboardingContext, found: Mapping[int, Mapping[str, Any]]) -> None:
    if not found:
        return
    rows = [{"row": row, "names": names} for row, names in found.items()]
    with onboarding.warehouse.begin() as connection:
        connection.execute(
            update(creation).where(creation.c.id == bind("row")).values(verified=bind("names")),
            rows,
        )
