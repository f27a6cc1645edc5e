"""Reading back what was created: which fields came out as sent, which can't be read at all."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import select, update

from bms_flows.creation.body import compare
from bms_flows.creation.entry import HERE, Entry
from bms_flows.creation.workbench import Workbench
from bms_warehouse.tables import creation


async def verify(bench: Workbench, rows: Collection[int]) -> None:
    """Read each created or adopted row of `rows` back, once, and keep the names of its fields.

    A record that is not readable yet is asked for once more after a settle time.
    """
    await _verify(bench, rows)
    if await _left(bench, rows):
        await asyncio.sleep(bench.settings.settle_s)
        await _verify(bench, rows)


async def _verify(bench: Workbench, rows: Collection[int]) -> None:
    entries = await _left(bench, rows)
    bodies = await bodies_with_managers(bench, entries)

    async def one(entry: Entry) -> None:
        body = bodies.get(entry.id)
        record = await bench.remote.read(entry.remote_id or "")
        if body is None or record is None:
            return
        compared = compare(bench.resource, body, record)
        verified = {
            "equal": list(compared.equal),
            "different": [each.name for each in compared.different],
            "unreadable": list(compared.unreadable),
        }
        await asyncio.to_thread(_write, bench, entry.id, verified)

    await asyncio.gather(*map(one, entries))


async def bodies_with_managers(
    bench: Workbench, entries: Collection[Entry]
) -> dict[int, dict[str, Any]]:
    """Return the bodies of rows with the numbers of their managers; those erased are left out."""
    bodies = await bench.ledger.bodies([entry.id for entry in entries])
    managers = await bench.ledger.by_key({e.manager_key for e in entries if e.manager_key})
    for entry in entries:
        manager = managers.get(entry.manager_key or "")
        if manager is not None and entry.id in bodies:
            bodies[entry.id]["id_manager"] = manager.remote_number
    return bodies


async def _left(bench: Workbench, rows: Collection[int]) -> list[Entry]:
    done = set(await asyncio.to_thread(verified_fields, bench, rows))
    entries = await bench.ledger.entries(rows)
    return [entry for entry in entries if entry.state in HERE and entry.id not in done]


def verified_fields(bench: Workbench, rows: Collection[int]) -> dict[int, Mapping[str, Any]]:
    """Return what was read back of `rows`: names of fields, `equal`, `different`, `unreadable`."""
    with bench.warehouse.connect() as connection:
        found = connection.execute(
            select(creation.c.id, creation.c.verified).where(
                creation.c.id.in_(rows), creation.c.verified.is_not(None)
            )
        )
        return dict(found.all())


def _write(bench: Workbench, row: int, names: Mapping[str, Any]) -> None:
    with bench.warehouse.begin() as connection:
        connection.execute(update(creation).where(creation.c.id == row).values(verified=names))
