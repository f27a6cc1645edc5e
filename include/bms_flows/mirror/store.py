"""Stored state of a mirror: rows, rotation, and the lock of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from bms_flows.mirror.decisions import Flags, MirrorRow, Rotation
from bms_flows.mirror.resource import MirroredResource
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.step_log import Step
from bms_warehouse import loads, locks
from bms_warehouse.tables import step_run

ROTATED = ("complete", "unstable", "suspect")
"""States of steps that have read the details of their rotation."""
BLOCK = 5_000
"""Rows fetched from the database at once."""


@contextmanager
def locked(
    connection: Connection, resource: MirroredResource, id_entity: int | None
) -> Iterator[None]:
    """Lock the mirror of `resource`, or of one entity, for the block; raise `Busy`.

    The database releases the locks when the connection closes. The end of the block rolls back
    uncommitted changes.
    """
    mirror = f"the mirror of {resource.name}"
    erasing, other = f"an erasure locks {mirror}", f"another run is writing to {mirror}"
    with (
        locks.lock(connection, _all_entities(resource), erasing, shared=True),
        locks.lock(connection, f"mirror of {resource.name} {id_entity}", other),
    ):
        yield


@contextmanager
def locked_for_erasure(connection: Connection, resource: MirroredResource) -> Iterator[None]:
    """Lock the mirror of `resource` in all entities for the block; raise `Busy` during a run.

    A run that has read a record before its erasure would store the record again.
    """
    running = f"a run is writing to the mirror of {resource.name}"
    with locks.lock(connection, _all_entities(resource), running):
        yield


def _all_entities(resource: MirroredResource) -> str:
    return f"mirror of {resource.name} in all entities"


def rows(
    connection: Connection, resource: MirroredResource, scope: str | None, *, private: bool
) -> dict[Key, MirrorRow]:
    """Return every row of the mirror by key; `scope` is the column of the entity, if any.

    With `private`, a row counts as detailed only if its private fields are stored.
    """
    table = resource.table
    flags = "".join(f', t."{name}"' for name in resource.flags)
    detailed, join = "t._detailed", ""
    if private and resource.private_table is not None:
        detailed = f'(t._detailed and p."{resource.key}" is not null)'
        join = f' left join {resource.private_table} p on p."{resource.key}" = t."{resource.key}"'
    statement = (
        f'select t."{resource.key}", t._list_hash, {detailed}, t._removal_reason, '  # noqa: S608 - our own names
        f"{f't.{scope}' if scope else 'null'}{flags} from {table} t{join}"
    )
    found: dict[Key, MirrorRow] = {}
    shared: dict[Flags, Flags] = {}
    # A cursor of the server: the client would hold the whole result.
    with loads.driver(connection).cursor("mirror", binary=True) as cursor:
        cursor.itersize = BLOCK
        cursor.execute(statement.encode())
        for key, digest, detailed_row, removal, entity, *row in cursor:
            values = tuple(row)
            found[key] = MirrorRow(
                digest, detailed_row, removal, shared.setdefault(values, values), entity
            )
    connection.commit()
    return found


def rotation(connection: Connection, step: Step, runs: int) -> Rotation:
    """Return the current state of the rotation of details over `runs` runs of a step."""
    read = (step_run.c.state.in_(ROTATED), step_run.c.details["turn"].is_not(None))
    last = _last_details(connection, step, *read)
    if not last:
        return Rotation(runs, 0)
    return Rotation(runs, last["turn"] + 1, last.get("reached"), last.get("retried"))


def zone(connection: Connection, step: Step) -> str | None:
    """Return the zone of times without a zone in the last complete run of a step; None if unknown."""
    whole = step_run.c.details["whole"].as_boolean()
    return _last_details(connection, step, step_run.c.state == "complete", whole).get("zone")


def _last_details(
    connection: Connection, step: Step, *conditions: ColumnElement[bool]
) -> dict[str, Any]:
    """Return the details of the last run of a step that fulfils `conditions`; empty if there is none."""
    same = {"flow": step.flow, "step": step.name, "id_entity": step.id_entity}
    found = select(step_run.c.details).where(
        *(step_run.c[name].is_not_distinct_from(value) for name, value in same.items()),
        *conditions,
    )
    last = connection.scalar(found.order_by(step_run.c.id.desc()).limit(1))
    connection.commit()
    return last or {}
