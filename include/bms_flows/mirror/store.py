"""What stands in the mirror, and the hold that a run has on it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, select, text

from bms_flows.mirror.decisions import Flags, Rotation, ServiceRecord
from bms_flows.mirror.resource import Resource
from bms_flows.runtime.coverage import Key
from bms_warehouse import loads
from bms_warehouse.tables import step_run

ROTATED = ("complete", "unstable", "suspect")
"""Ends of a step that has read the details whose turn it was."""


BLOCK = 5_000
"""Rows taken over from the database at once."""


class MirrorTaken(Exception):
    """Another run works on this mirror; waiting helps."""

    retriable = True
    retry_after = 60.0


@contextmanager
def held(connection: Connection, resource: Resource, id_entity: int | None) -> Iterator[None]:
    """Hold the mirror of `resource`, of an entity where lists are those of entities, for the block.

    Raises `MirrorTaken` where another run holds it. The database lets go of it when the connection
    ends, however it ends; what the block has still to commit ends with it.
    """
    key = {"key": f"mirror of {resource.name} {id_entity}"}
    taken = connection.scalar(text("select pg_try_advisory_lock(hashtextextended(:key, 0))"), key)
    connection.commit()
    if not taken:
        raise MirrorTaken(f"another run works on the mirror of {resource.name}")
    try:
        yield
    finally:
        connection.rollback()
        connection.execute(text("select pg_advisory_unlock(hashtextextended(:key, 0))"), key)
        connection.commit()


def known(
    connection: Connection, resource: Resource, scope: str | None, *, private: bool
) -> dict[Key, ServiceRecord]:
    """Return every row of the mirror by its key; `scope` is the column of the entity, if any.

    With `private`, a row counts as detailed only where what is kept apart was kept too.
    """
    table = resource.table
    flags = "".join(f', t."{name}"' for name in resource.flags)
    detailed, join = "t._detailed", ""
    if private and resource.private:
        detailed = f'(t._detailed and p."{resource.key}" is not null)'
        join = f' left join {resource.private.table} p on p."{resource.key}" = t."{resource.key}"'
    statement = (
        f'select t."{resource.key}", t._list_hash, {detailed}, t._removal_reason, '  # noqa: S608 - our own names
        f"{f't.{scope}' if scope else 'null'}{flags} from {table} t{join}"
    )
    found: dict[Key, ServiceRecord] = {}
    shared: dict[Flags, Flags] = {}
    with loads.driver(connection).cursor(binary=True) as cursor:
        cursor.execute(statement.encode())
        while rows := cursor.fetchmany(BLOCK):
            for key, digest, whole, gone, entity, *row in rows:
                said = tuple(row)
                found[key] = ServiceRecord(
                    digest, whole, gone, shared.setdefault(said, said), entity
                )
    connection.commit()
    return found


def rotation(
    connection: Connection, flow: str, step: str, id_entity: int | None, runs: int
) -> Rotation:
    """Return where the rotation of details over `runs` runs of a step stands."""
    last = connection.scalar(
        select(step_run.c.details)
        .where(
            step_run.c.flow == flow,
            step_run.c.step == step,
            step_run.c.id_entity.is_not_distinct_from(id_entity),
            step_run.c.state.in_(ROTATED),
            step_run.c.details["turn"].is_not(None),
        )
        .order_by(step_run.c.id.desc())
        .limit(1)
    )
    connection.commit()
    return Rotation(runs, last["turn"] + 1, last.get("reached")) if last else Rotation(runs, 0)
