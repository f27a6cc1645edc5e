"""Queries for drops, their plans and results."""

from typing import Final

from sqlalchemy import Connection, RowMapping, Table, Text, cast, func, select, text

from bms_warehouse.queries.sql import fetch, statements
from bms_warehouse.tables import creation, dropped_file

SQL = statements("drops")


def latest(
    connection: Connection, flow: str, resource: str, *, limit: int, number: int | None = None
) -> list[RowMapping]:
    """Return the latest drops of a resource, or the drop `number`, with their results.

    `details` and `step_run_id` are those of the latest step that concluded the drop; None without one.
    """
    return fetch(
        connection, SQL["latest"], flow=flow, resource=resource, limit=limit, number=number
    )


def resource(connection: Connection, number: int) -> str | None:
    """Return the resource of a drop, None for an unknown drop."""
    return connection.execute(
        select(dropped_file.c.resource).where(dropped_file.c.id == number)
    ).scalar()


def progress(connection: Connection, number: int) -> RowMapping:
    """Return how many rows of a drop are in the ledger (`rows`), and how many of these have ended (`ended`)."""
    ended = creation.c.state.in_(("created", "adopted", "rejected", "given_up"))
    counts = select(func.count().label("rows"), func.count().filter(ended).label("ended"))
    return connection.execute(counts.where(creation.c.drop_id == number)).mappings().one()


MADE: Final = ("new", "returned_id")
"""Codes of the evidence that a create made the record, although its response was lost."""
_MADE: Final = f"""(
    bms.creation.state = 'created' or bms.creation.state = 'adopted' and bms.creation.evidence ?| array{[*MADE]}
)"""
UNDONE: Final = f"""
    select bms.creation.remote_id from bms.creation
    join bms.dropped_file mistake on mistake.id = bms.creation.drop_id and mistake.undo_at is not null
    where bms.creation.resource = '{{resource}}' and {_MADE}
"""  # noqa: S608 - constants
"""Records on undo sheets: what drops made by mistake created, never what existed before."""


def undone(connection: Connection, resource: str) -> set[str]:
    """Return the remote ids on the undo sheets of a resource."""
    return {*connection.scalars(text(UNDONE.format(resource=resource)))}


def removed(connection: Connection, mirror: Table) -> set[str]:
    """Return the keys of a mirror's removed records."""
    [key] = mirror.primary_key
    keys = select(cast(key, Text)).where(mirror.c["_removal_reason"].is_not(None))
    return {*connection.scalars(keys)}


def created(connection: Connection, number: int, table: Table) -> list[RowMapping]:
    """Return the records that a drop created, with their state in the mirror `table`."""
    [key] = table.primary_key
    names = [
        table.c[name] for name in ("last_name", "first_name", "_removal_reason", "_changed_at")
    ]
    own = [
        creation.c[name] for name in ("line", "key", "manager_key", "remote_id", "remote_number")
    ]
    statement = (
        select(*own, *names)
        .join(table, cast(key, Text) == creation.c.remote_id, isouter=True)
        .where(creation.c.drop_id == number, text(_MADE))
        .order_by(creation.c.line)
    )
    return fetch(connection, statement)


def plans(connection: Connection, number: int) -> list[RowMapping]:
    """Return the plans of a drop, latest first: counts, limits exceeded, request, decision."""
    return fetch(connection, SQL["plans"], number=number)


def decisions(connection: Connection, number: int) -> list[RowMapping]:
    """Return the latest decision on each row of a drop that waits for none: what, who, when, the row's record."""
    return fetch(connection, SQL["decisions"], number=number)
