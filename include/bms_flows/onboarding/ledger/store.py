"""The ledger `bms.creation`: every move under a row lock, committed before anything else is done.

The laws of the moves stand in `states`; here they meet the table. The database's clock is the
ledger's clock: leases and settle times don't depend on how the workers' clocks agree.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Engine,
    Row,
    Text,
    any_,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy import bindparam as bind

from bms_flows.onboarding.ledger import snapshot_store
from bms_flows.onboarding.ledger.entry import OPEN, Entry, InvalidTransition, State, Transition
from bms_flows.onboarding.resources.match_rules import unpacked
from bms_flows.onboarding.resources.snapshot import Snapshot
from bms_warehouse.database import clock
from bms_warehouse.errors import WarehouseError
from bms_warehouse.tables import creation, creation_body, creation_event

UNIQUE_VIOLATION = "23505"

Step = Callable[[Entry, datetime], Transition]
"""A move of one row at the ledger's time; raises `InvalidTransition` where the row stands elsewhere."""


class RemoteIdConflict(Exception):
    """The remote record belongs to another row of the ledger."""


class Ledger(Protocol):
    """What the engine asks of the ledger of one resource."""

    async def now(self) -> datetime:
        """Return the ledger's time."""

    async def change(self, ids: Collection[int], step: Step) -> dict[int, Entry]:
        """Move the rows for which `step` is lawful, durably; return those, as they stand now.

        Raises `RemoteIdConflict` where a row would take a remote id that another row has.
        """

    async def entries(self, ids: Collection[int]) -> list[Entry]:
        """Return rows by their numbers."""

    async def by_key(self, keys: Collection[str]) -> dict[str, Entry]:
        """Return rows by their keys."""

    async def bodies(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """Return what the rows send."""

    async def owners(self, remote_ids: Collection[str]) -> dict[str, str]:
        """Return the keys of the rows that have these remote ids."""

    async def snapshots(self, ids: Collection[int]) -> dict[int, Snapshot]:
        """Return stored snapshots of the service, by number; those that were deleted are left out."""


class PostgresLedger:
    """The ledger of one resource in the warehouse."""

    def __init__(self, engine: Engine, resource: str) -> None:
        self._engine = engine
        # For the time, which is asked for each create: no transaction.
        self._unlocked = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._resource = resource

    async def now(self) -> datetime:
        """Return the database's time."""
        return await asyncio.to_thread(self._now)

    async def change(self, ids: Collection[int], step: Step) -> dict[int, Entry]:
        """Move rows under their locks, in one transaction, which is over on return."""
        return await asyncio.to_thread(self._change, ids, step)

    async def entries(self, ids: Collection[int]) -> list[Entry]:
        """Return rows by their numbers."""
        return await asyncio.to_thread(self._read, creation.c.id.in_(ids))

    async def by_key(self, keys: Collection[str]) -> dict[str, Entry]:
        """Return rows by their keys."""
        found = await asyncio.to_thread(
            self._read, (creation.c.resource == self._resource) & among(creation.c.key, keys)
        )
        return {entry.key: entry for entry in found}

    async def unfinished(self) -> list[Entry]:
        """Return all rows that the engine or a person has still to bring to an end."""
        states = [*OPEN, State.REVIEW]
        return await asyncio.to_thread(
            self._read, (creation.c.resource == self._resource) & creation.c.state.in_(states)
        )

    async def bodies(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """Return what the rows send."""
        return await asyncio.to_thread(self._bodies, ids)

    async def owners(self, remote_ids: Collection[str]) -> dict[str, str]:
        """Return the keys of the rows that have these remote ids."""
        return await asyncio.to_thread(self._owners, remote_ids)

    async def snapshots(self, ids: Collection[int]) -> dict[int, Snapshot]:
        """Return stored snapshots of the service."""
        return await asyncio.to_thread(snapshot_store.load, self._engine, ids)

    def _now(self) -> datetime:
        with self._unlocked.connect() as connection:
            return clock(connection)

    def _change(self, ids: Collection[int], step: Step) -> dict[int, Entry]:
        moves: dict[int, Transition] = {}
        try:
            with self._engine.begin() as connection:
                locked = locked_rows(connection, creation.c.id.in_(ids))
                now = clock(connection)  # after the wait for the locks
                for entry in locked:
                    try:
                        moves[entry.id] = step(entry, now)
                    except InvalidTransition:
                        continue
                write(
                    connection,
                    [(entry, moves[entry.id]) for entry in locked if entry.id in moves],
                    now,
                )
        except WarehouseError as error:
            if error.sqlstate == UNIQUE_VIOLATION:
                raise RemoteIdConflict from None
            raise
        return {number: move.entry for number, move in moves.items()}

    def _read(self, where: Any) -> list[Entry]:
        with self._engine.connect() as connection:
            found = connection.execute(select(*COLUMNS).where(where).order_by(creation.c.id))
            return [_entry(row) for row in found]

    def _bodies(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        with self._engine.connect() as connection:
            found = connection.execute(
                select(creation_body.c.creation_id, creation_body.c.body).where(
                    creation_body.c.creation_id.in_(ids)
                )
            )
            return {number: unpacked(body) for number, body in found}

    def _owners(self, remote_ids: Collection[str]) -> dict[str, str]:
        with self._engine.connect() as connection:
            found = connection.execute(
                select(creation.c.remote_id, creation.c.key).where(
                    creation.c.resource == self._resource, among(creation.c.remote_id, remote_ids)
                )
            )
            return dict(found.all())


def write(connection: Connection, moves: Sequence[tuple[Entry, Transition]], at: datetime) -> None:
    """Write rows as they were and as they are moved, and their history, within the caller's transaction."""
    alike: dict[tuple[str, ...], dict[int, tuple[Any, ...]]] = {}
    for before, move in moves:
        names = tuple(n for n in MOVING if getattr(move.entry, n) != getattr(before, n))
        values = tuple(getattr(move.entry, name) for name in names)
        alike.setdefault(names, {})[move.entry.id] = values
    for names, rows in alike.items():
        if len(set(rows.values())) == 1:
            # A lease, an intent: one statement for all who get the same.
            same = dict(zip(names, next(iter(rows.values())), strict=True))
            connection.execute(
                update(creation).where(creation.c.id.in_(rows)).values({**same, "changed_at": at})
            )
            continue
        connection.execute(
            update(creation)
            .where(creation.c.id == bind("number"))
            .values({name: bind(name) for name in names} | {"changed_at": at}),
            [dict(zip(names, row, strict=True), number=number) for number, row in rows.items()],
        )
    events = [
        {
            "creation_id": move.entry.id,
            "at": at,
            "what": move.what,
            "attempt": move.entry.attempt,
            "who": move.who,
            "detail": move.detail,
        }
        for _, move in moves
        if move.what is not None
    ]
    if events:
        connection.execute(insert(creation_event), events)


def among(column: ColumnElement[str], values: Collection[str]) -> ColumnElement[bool]:
    """Say that a column has one of these texts, however many: PostgreSQL takes 65,535 parameters."""
    return column == any_(literal(list(values), ARRAY(Text)))


FIELDS = tuple(each.name for each in msgspec.structs.fields(Entry))
MOVING = tuple(name for name in FIELDS if name not in ("id", "key"))
COLUMNS: Sequence[Any] = [creation.c[name] for name in FIELDS]


def locked_rows(connection: Connection, where: Any) -> list[Entry]:
    """Lock rows in the order of their numbers, and return them."""
    found = connection.execute(
        select(*COLUMNS).where(where).order_by(creation.c.id).with_for_update()
    )
    return [_entry(row) for row in found]


def _entry(row: Row[*tuple[Any, ...]]) -> Entry:
    given = dict(zip(FIELDS, row, strict=True))
    given["state"] = State(given["state"])
    given["evidence"] = tuple(given["evidence"])
    given["candidates"] = tuple(given["candidates"])
    given["dismissed"] = tuple(given["dismissed"])
    return Entry(**given)
