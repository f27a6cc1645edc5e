"""Stored snapshots of the service, in `bms.creation_snapshot`."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Engine, delete, insert, select

from bms_flows.onboarding.ledger.entry import OPEN, State
from bms_flows.onboarding.resources import snapshot
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_warehouse.tables import creation, creation_snapshot


def save(engine: Engine, resource: str, drop_id: int, taken: ServiceLists) -> int:
    """Save a snapshot of a drop; return its number."""
    statement = insert(creation_snapshot).values(
        resource=resource,
        drop_id=drop_id,
        taken_at=taken.taken_at,
        content=snapshot.encode_lists(taken),
    )
    with engine.begin() as connection:
        return int(connection.execute(statement.returning(creation_snapshot.c.id)).scalar_one())


def load(engine: Engine, ids: Collection[int]) -> dict[int, ServiceLists]:
    """Return snapshots by number; deleted snapshots are omitted."""
    wanted = select(creation_snapshot.c.id, creation_snapshot.c.content).where(
        creation_snapshot.c.id.in_(ids)
    )
    with engine.connect() as connection:
        return {
            number: snapshot.decode_lists(content) for number, content in connection.execute(wanted)
        }


def latest(engine: Engine, drop_id: int) -> tuple[int, ServiceLists] | None:
    """Return the number and content of a drop's latest snapshot; None if the drop has none."""
    wanted = (
        select(creation_snapshot.c.id, creation_snapshot.c.content)
        .where(creation_snapshot.c.drop_id == drop_id)
        .order_by(creation_snapshot.c.id.desc())
        .limit(1)
    )
    with engine.connect() as connection:
        found = connection.execute(wanted).one_or_none()
    return None if found is None else (found.id, snapshot.decode_lists(found.content))


def forget(engine: Engine, before: datetime) -> int:
    """Delete snapshots from before a time that no unfinished row refers to; return their number."""
    unfinished = (
        select(creation.c.id)
        .where(creation.c.snapshot_id == creation_snapshot.c.id)
        .where(creation.c.state.in_([str(state) for state in (*OPEN, State.REVIEW)]))
        .exists()
    )
    statement = delete(creation_snapshot).where(creation_snapshot.c.taken_at < before, ~unfinished)
    with engine.begin() as connection:
        return connection.execute(statement).rowcount
