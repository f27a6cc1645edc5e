"""Rows enter the ledger: within the transaction of their plan, new ones, and again those that had a no."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import Connection, null, update
from sqlalchemy import bindparam as bind
from sqlalchemy.dialects.postgresql import insert as upsert

from bms_flows.onboarding.ledger.entry import Entry, InvalidTransition, State, Transition
from bms_flows.onboarding.ledger.store import locked_rows, write
from bms_flows.onboarding.ledger.transitions import reopen
from bms_flows.onboarding.resources.match_rules import packed
from bms_warehouse.database import clock
from bms_warehouse.tables import creation, creation_body


class New(msgspec.Struct, frozen=True, kw_only=True):
    """A row to be entered; its repr shows no body."""

    line: int
    key: str
    digest: str
    body: Mapping[str, Any]
    manager_key: str | None = None
    reason: str | None = None
    """Why a person decides first; None for a row that may be sent."""
    candidates: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"New(line={self.line})"

    def __rich_repr__(self) -> list[tuple[str, int]]:
        return [("line", self.line)]


def enter(
    connection: Connection,
    resource: str,
    drop_id: int,
    rows: Iterable[New],
    *,
    attempts: int,
    snapshot_id: int | None = None,
) -> None:
    """Enter rows within the caller's transaction: new ones, and again those that had a no.

    What stands there otherwise is left as it is. Safe to repeat. `snapshot_id` is the snapshot of
    the service that the rows were planned with.
    """
    given = {row.key: row for row in rows}
    if not given:
        return
    now = clock(connection)
    # In the order of keys, so that two drops entering the same people wait and don't lock up.
    values = [
        {
            "resource": resource,
            "key": key,
            "digest": row.digest,
            "drop_id": drop_id,
            "line": row.line,
            "state": State.READY if row.reason is None else State.REVIEW,
            "attempt": 0,
            "max_attempts": attempts,
            "empty_lookups": 0,
            "snapshot_id": snapshot_id,
            "reason": row.reason,
            "evidence": [],
            "candidates": list(row.candidates),
            "manager_key": row.manager_key,
            "entered_at": now,
            "changed_at": now,
        }
        for key, row in sorted(given.items())
    ]
    new = set(
        connection.scalars(
            upsert(creation).on_conflict_do_nothing().returning(creation.c.id), values
        )
    )
    entered: list[tuple[Entry, Transition]] = []
    mine = (creation.c.resource == resource) & creation.c.key.in_(given)
    for entry in locked_rows(connection, mine):
        row = given[entry.key]
        if entry.id in new:
            entered.append((entry, Transition(entry, "entered", row.reason)))
            continue
        try:
            again = reopen(
                entry,
                now=now,
                digest=row.digest,
                manager_key=row.manager_key,
                attempts=attempts,
                snapshot_id=snapshot_id,
                reason=row.reason,
                candidates=row.candidates,
            )
        except InvalidTransition:
            continue
        entered.append((entry, again))
    write(connection, entered, now)
    if entered:
        connection.execute(
            update(creation)
            .where(creation.c.id == bind("number"))
            .values(drop_id=drop_id, line=bind("at"), verified=null()),
            [{"number": entry.id, "at": given[entry.key].line} for entry, _ in entered],
        )
        statement = upsert(creation_body)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["creation_id"], set_={"body": statement.excluded.body}
            ),
            [
                {"creation_id": entry.id, "body": packed(given[entry.key].body)}
                for entry, _ in entered
            ],
        )
