"""Store of the ledger `bms.creation` and of its snapshots of the service: each transition under a row lock, committed at once.

All times come from the database's clock, so leases and settle times do not depend on worker clocks.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import msgspec
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Engine,
    Row,
    Select,
    any_,
    delete,
    exists,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy import bindparam as bind

from bms_flows.onboarding.ledger.entry import (
    FINAL,
    OPEN,
    Entry,
    InvalidTransition,
    State,
    Transition,
)
from bms_flows.onboarding.resources.body import decode_body
from bms_flows.onboarding.resources.snapshot import ServiceLists, decode_lists, encode_lists
from bms_warehouse.database import clock
from bms_warehouse.errors import WarehouseError
from bms_warehouse.tables import creation, creation_body, creation_event, creation_snapshot

P = ParamSpec("P")
T = TypeVar("T")

UNIQUE_VIOLATION = "23505"
MAX_CONFIRMED = 1000
"""Confirmed rows with which the lists are compared."""

NextTransition = Callable[[Entry, datetime], Transition]
"""Computes the transition of a row at the ledger's time; raises `InvalidTransition` if none is allowed."""


class RemoteIdConflict(Exception):
    """The remote record belongs to another row of the ledger."""


async def with_managers(ledger: "PostgresLedger", keys: Collection[str]) -> dict[str, Entry]:
    """Return rows by their keys, and the rows of all managers above them."""
    entries: dict[str, Entry] = {}
    wanted = {*keys}
    while wanted:
        found = await ledger.by_key(wanted)
        entries |= found
        wanted = {e.manager_key for e in found.values() if e.manager_key} - entries.keys() - wanted
    return entries


def in_thread(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make a method asynchronous: run it in a thread."""

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


class PostgresLedger:
    """The ledger of one resource in the warehouse."""

    def __init__(self, engine: Engine, resource: str) -> None:
        self.engine = engine
        # The time is read for each create: no transaction.
        self._unlocked = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._resource = resource

    @in_thread
    def now(self) -> datetime:
        """Return the database's time."""
        with self._unlocked.connect() as connection:
            return clock(connection)

    @in_thread
    def change(self, ids: Collection[int], step: NextTransition) -> dict[int, Entry]:
        """Commit the transitions that `step` allows; return the rows after them, by number.

        Raises `RemoteIdConflict` if another row has the remote id.
        """
        moves: dict[int, Transition] = {}
        try:
            with self.engine.begin() as connection:
                locked = locked_rows(connection, among(creation.c.id, ids))
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

    @in_thread
    def entries(self, ids: Collection[int]) -> list[Entry]:
        """Return rows by their numbers."""
        return self._read(among(creation.c.id, ids))

    @in_thread
    def by_key(self, keys: Collection[str]) -> dict[str, Entry]:
        """Return rows by their keys."""
        own = creation.c.resource == self._resource
        return {entry.key: entry for entry in self._read(own & among(creation.c.key, keys))}

    @in_thread
    def confirmed(self, boot_id: str) -> dict[str, Entry]:
        """Return the latest rows sent in a boot of a machine and confirmed by a response, by remote id."""
        latest = (
            select(*COLUMNS)
            .where(creation.c.resource == self._resource, creation.c.boot_id == boot_id)
            .where(creation.c.state == State.CREATED, creation.c.in_flight_until_s.is_not(None))
            .order_by(creation.c.in_flight_until_s.desc())
            .limit(MAX_CONFIRMED)
        )
        with self.engine.connect() as connection:
            found = map(_entry, connection.execute(latest))
            return {entry.remote_id: entry for entry in found if entry.remote_id}

    @in_thread
    def bodies(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """Return the creation bodies of rows, by number; deleted bodies are omitted."""
        wanted = select(creation_body.c.creation_id, creation_body.c.body).where(
            among(creation_body.c.creation_id, ids)
        )
        with self.engine.connect() as connection:
            return {number: decode_body(body) for number, body in connection.execute(wanted)}

    @in_thread
    def owners(self, remote_ids: Collection[str]) -> dict[str, str]:
        """Return the keys of the rows that have these remote ids, by remote id."""
        wanted = select(creation.c.remote_id, creation.c.key).where(
            creation.c.resource == self._resource, among(creation.c.remote_id, remote_ids)
        )
        with self.engine.connect() as connection:
            return dict(connection.execute(wanted).all())

    @in_thread
    def snapshots(self, ids: Collection[int]) -> dict[int, ServiceLists]:
        """Return stored snapshots of the service, by number; deleted snapshots are omitted."""
        return self._snapshots(_SNAPSHOTS.where(among(creation_snapshot.c.id, ids)))

    @in_thread
    def latest_snapshot(self, drop_id: int) -> tuple[int, ServiceLists] | None:
        """Return the number and content of a drop's latest snapshot; None if the drop has none."""
        found = _SNAPSHOTS.where(creation_snapshot.c.drop_id == drop_id)
        latest = found.order_by(creation_snapshot.c.id.desc()).limit(1)
        return next(iter(self._snapshots(latest).items()), None)

    @in_thread
    def save_snapshot(self, drop_id: int, taken: ServiceLists) -> int:
        """Save a snapshot of a drop; return its number."""
        statement = insert(creation_snapshot).values(
            resource=self._resource,
            drop_id=drop_id,
            taken_at=taken.taken_at,
            content=encode_lists(taken),
        )
        with self.engine.begin() as connection:
            return int(connection.execute(statement.returning(creation_snapshot.c.id)).scalar_one())

    def _snapshots(self, wanted: Select[tuple[int, bytes]]) -> dict[int, ServiceLists]:
        with self.engine.connect() as connection:
            return {row.id: decode_lists(row.content) for row in connection.execute(wanted)}

    def _read(self, where: Any) -> list[Entry]:
        with self.engine.connect() as connection:
            found = connection.execute(select(*COLUMNS).where(where).order_by(creation.c.id))
            return [_entry(row) for row in found]


def write(connection: Connection, moves: Sequence[tuple[Entry, Transition]], at: datetime) -> None:
    """Write transitions, each with its row before, and their history in the caller's transaction."""
    by_fields: dict[tuple[str, ...], dict[int, tuple[Any, ...]]] = {}
    for before, move in moves:
        names = tuple(n for n in CHANGEABLE if getattr(move.entry, n) != getattr(before, n))
        values = tuple(getattr(move.entry, name) for name in names)
        by_fields.setdefault(names, {})[move.entry.id] = values
    for names, rows in by_fields.items():
        if len(set(rows.values())) == 1:
            # Equal changes (a lease, an intent): one statement for all rows.
            same = dict(zip(names, next(iter(rows.values())), strict=True))
            connection.execute(
                update(creation)
                .where(among(creation.c.id, rows))
                .values({**same, "changed_at": at})
            )
            continue
        connection.execute(
            update(creation)
            .where(creation.c.id == bind("number"))
            .values({name: bind(name) for name in names} | {"changed_at": at}),
            [dict(zip(names, row, strict=True), number=number) for number, row in rows.items()],
        )
    add_events(connection, [move for _, move in moves if move.what is not None], at)


def add_events(connection: Connection, moves: Sequence[Transition], at: datetime) -> None:
    """Add the events of transitions to the history of their rows in the caller's transaction."""
    events = [
        {
            "creation_id": move.entry.id,
            "at": at,
            "what": move.what,
            "attempt": move.entry.attempt,
            "who": move.who,
            "detail": move.detail,
        }
        for move in moves
    ]
    if events:
        connection.execute(insert(creation_event), events)


def among(column: ColumnElement[T], values: Collection[T]) -> ColumnElement[bool]:
    """Return the condition that a column has one of these values; not limited to 65,535 parameters."""
    return column == any_(literal(list(values), ARRAY(column.type)))


def delete_bodies(engine: Engine, before: datetime) -> int:
    """Delete the bodies of rows that became final before a time; return their number.

    A row that a drop is entering again is locked: it keeps the body that it is about to get.
    """
    final = (
        select(creation.c.id)
        .join(creation_body)
        .where(
            creation.c.state.in_([str(state) for state in FINAL]), creation.c.changed_at < before
        )
        .with_for_update(of=creation, skip_locked=True)
    )
    with engine.begin() as connection:
        return connection.execute(
            delete(creation_body).where(creation_body.c.creation_id.in_(final))
        ).rowcount


def delete_snapshots(engine: Engine, before: datetime) -> int:
    """Delete snapshots from before a time that no unfinished row refers to; return their number."""
    unfinished = exists().where(
        creation.c.snapshot_id == creation_snapshot.c.id,
        creation.c.state.in_([str(state) for state in (*OPEN, State.REVIEW)]),
    )
    statement = delete(creation_snapshot).where(creation_snapshot.c.taken_at < before, ~unfinished)
    with engine.begin() as connection:
        return connection.execute(statement).rowcount


_SNAPSHOTS: Final = select(creation_snapshot.c.id, creation_snapshot.c.content)
FIELDS = tuple(each.name for each in msgspec.structs.fields(Entry))
CHANGEABLE = tuple(name for name in FIELDS if name not in ("id", "key"))
COLUMNS: Sequence[Any] = [creation.c[name] for name in FIELDS]


def locked_rows(connection: Connection, where: Any) -> list[Entry]:
    """Lock rows in the order of their numbers and return them."""
    found = connection.execute(
        select(*COLUMNS).where(where).order_by(creation.c.id).with_for_update()
    )
    return [_entry(row) for row in found]


def _entry(row: Row[*tuple[Any, ...]]) -> Entry:
    return msgspec.convert(dict(zip(FIELDS, row, strict=True)), Entry)
