"""Entry of a plan's rows into the ledger, and the locks and queries that guard it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, delete, null, select, update
from sqlalchemy import bindparam as bind
from sqlalchemy.dialects.postgresql import insert

from bms_flows.onboarding.ledger.decisions import forget, reopen
from bms_flows.onboarding.ledger.entry import (
    EXISTING,
    OPEN,
    UNSENT,
    Entry,
    InvalidTransition,
    NewRow,
    State,
    Transition,
)
from bms_flows.onboarding.ledger.store import among, locked_rows, write
from bms_flows.onboarding.resources.body import decode_body, encode_body
from bms_flows.onboarding.resources.match_rules import Identity
from bms_warehouse.database import clock, upsert
from bms_warehouse.locks import serialize
from bms_warehouse.tables import creation, creation_body, creation_match


def lock_entering(connection: Connection, resource: str, keys: Collection[str]) -> None:
    """Lock the entering of rows of `resource`, and unfinished rows, until the end of the caller's transaction."""
    serialize(connection, f"entry of {resource}")
    # All at once, in the order in which tasks lock rows: no two wait for each other.
    of_drop = (creation.c.resource == resource) & among(creation.c.key, keys)
    locked_rows(connection, of_drop & creation.c.state.not_in(EXISTING))


def rows_in_flight(
    connection: Connection, identity: Identity, since: datetime
) -> dict[str, Collection[str]]:
    """Return, by row key, the match keys of rows that the service's lists may not show.

    These are unfinished rows and rows whose record was created after `since`. Two drops that contain
    the same person under different keys are detected only here.
    """
    unfinished = creation.c.state.in_([*OPEN, State.REVIEW])
    recent = creation.c.state.in_(EXISTING) & (creation.c.changed_at > since)
    rows = connection.execute(
        select(creation.c.key, creation_body.c.body)
        .join_from(creation, creation_body)
        .where(creation.c.resource == identity.resource, unfinished | recent)
    )
    return {key: identity.in_flight_digests(decode_body(body)) for key, body in rows}


def rows_alike(
    key: str, digests: Collection[str], others: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """Return the keys of `others`, match keys by row key, that share one of a row's match keys."""
    wanted = set(digests)
    return tuple(
        sorted(
            each for each, found in others.items() if each != key and not wanted.isdisjoint(found)
        )
    )


def matched_ids(connection: Connection, resource: str, keys: Collection[str]) -> dict[str, str]:
    """Return the remote ids that match keys of dropped rows were matched to, by key."""
    match = creation_match.c
    found = connection.execute(
        select(match.key, match.remote_id).where(match.resource == resource, among(match.key, keys))
    )
    return dict(found.all())


def save_matches(
    connection: Connection, resource: str, drop_id: int, remote_ids: Mapping[str, str]
) -> None:
    """Save remote ids by match key in the caller's transaction; the first match of a key is final."""
    given = {"resource": resource, "drop_id": drop_id, "matched_at": clock(connection)}
    rows = [{"key": key, "remote_id": each, **given} for key, each in sorted(remote_ids.items())]
    if rows:
        connection.execute(insert(creation_match).on_conflict_do_nothing(), rows)


def stored_managers(
    connection: Connection, resource: str, keys: Collection[str]
) -> dict[str, str | None]:
    """Return the managers of unsent rows with these keys and of all managers above them, by key."""
    unsent = (creation.c.resource == resource) & creation.c.state.in_(UNSENT)
    columns = select(creation.c.key, creation.c.manager_key).where(unsent)
    above = columns.where(among(creation.c.key, keys)).cte("above", recursive=True)
    above = above.union(columns.join(above, creation.c.key == above.c.manager_key))
    return {row.key: row.manager_key for row in connection.execute(select(above))}


def enter(
    connection: Connection,
    resource: str,
    drop_id: int,
    rows: Iterable[NewRow],
    *,
    attempts: int,
    snapshot_id: int | None = None,
    removed: Collection[str] = (),
) -> None:
    """Enter new rows, and reopen rejected ones and those of `removed` records, in the caller's transaction.

    Rows in any other state stay unchanged. Idempotent. `snapshot_id` is the snapshot of the service
    with which the rows were planned.
    """
    # Sorted by key: two drops that enter the same rows wait for each other without a deadlock.
    given = {row.key: row for row in sorted(rows, key=lambda row: row.key)}
    if not given:
        return
    now = clock(connection)
    new = _insert(connection, resource, drop_id, given, now, attempts, snapshot_id)
    of_drop = (creation.c.resource == resource) & among(creation.c.key, given)
    entered: list[tuple[Entry, Transition]] = []
    for entry in locked_rows(connection, of_drop):
        row = given[entry.key]
        if entry.id in new:
            entered.append((entry, Transition(entry, "entered", row.reason)))
            continue
        with suppress(InvalidTransition):
            cleared = forget(entry) if entry.remote_id in removed else entry
            again = reopen(cleared, row, now=now, attempts=attempts, snapshot_id=snapshot_id)
            entered.append((entry, again))
    write(connection, entered, now)
    match = creation_match.c
    connection.execute(
        delete(creation_match).where(match.resource == resource, among(match.remote_id, removed))
    )
    if entered:
        _save_bodies(connection, drop_id, {entry.id: given[entry.key] for entry, _ in entered})


def take_over(
    connection: Connection, resource: str, drop_id: int, lines: Mapping[str, int]
) -> None:
    """Assign unfinished rows of earlier drops to this drop, by key: its report tells how they end."""
    of_drop = (creation.c.resource == resource) & among(creation.c.key, lines)
    rows = [each for each in locked_rows(connection, of_drop) if each.state in OPEN]
    if rows:
        connection.execute(
            update(creation)
            .where(creation.c.id == bind("number"))
            .values(drop_id=drop_id, line=bind("at")),
            [{"number": each.id, "at": lines[each.key]} for each in rows],
        )


def _insert(
    connection: Connection,
    resource: str,
    drop_id: int,
    rows: Mapping[str, NewRow],
    now: datetime,
    attempts: int,
    snapshot_id: int | None,
) -> set[int]:
    """Insert the rows whose keys are new; return their ids."""
    shared = {"resource": resource, "drop_id": drop_id, "snapshot_id": snapshot_id, "evidence": []}
    shared |= {"attempt": 0, "max_attempts": attempts, "empty_lookups": 0}
    shared |= {"entered_at": now, "changed_at": now}
    values = []
    for row in rows.values():
        planned = msgspec.structs.asdict(row)
        del planned["body"]
        state = State.READY if row.reason is None else State.REVIEW
        values.append({**planned, **shared, "state": state})
    statement = insert(creation).on_conflict_do_nothing().returning(creation.c.id)
    return set(connection.scalars(statement, values))


def _save_bodies(connection: Connection, drop_id: int, rows: Mapping[int, NewRow]) -> None:
    """Save the bodies of entered rows, and the drop and line that they come from."""
    lines: Sequence[Mapping[str, int]] = [
        {"number": number, "at": row.line} for number, row in rows.items()
    ]
    connection.execute(
        update(creation)
        .where(creation.c.id == bind("number"))
        .values(drop_id=drop_id, line=bind("at"), verified=null()),
        lines,
    )
    bodies = [
        {"creation_id": number, "body": encode_body(row.body)} for number, row in rows.items()
    ]
    upsert(connection, creation_body, bodies)


def verified_fields(engine: Engine, rows: Collection[int]) -> dict[int, Mapping[str, Any]]:
    """Return the names of the fields read back, by row: `equal`, `different`, `unreadable`."""
    with engine.connect() as connection:
        found = connection.execute(
            select(creation.c.id, creation.c.verified).where(
                among(creation.c.id, rows), creation.c.verified.is_not(None)
            )
        )
        return dict(found.all())


def save_verified(engine: Engine, found: Mapping[int, Mapping[str, Any]]) -> None:
    """Save the names of the fields read back, by row, in the order in which tasks lock rows."""
    if found:
        with engine.begin() as connection:
            connection.execute(
                update(creation).where(creation.c.id == bind("row")).values(verified=bind("names")),
                [{"row": row, "names": found[row]} for row in sorted(found)],
            )
