"""Drops, their plans, and what came of them."""

from sqlalchemy import Connection, RowMapping, select, text

from bms_warehouse.tables import creation_plan, dropped_file

LATEST = text("""
    select d.*, o.id as step_run_id, o.details
    from bms.dropped_file d
    left join lateral (
        select id, details from bms.step_run
        where flow = :flow and step = 'conclude' and started_at >= d.entered_at
            and details @> jsonb_build_object('drop', d.id)
        order by id desc limit 1
    ) as o on true
    where d.resource = :resource and (cast(:number as bigint) is null or d.id = :number)
    order by d.id desc limit :limit
""")


def latest(
    connection: Connection, flow: str, resource: str, *, limit: int, number: int | None = None
) -> list[RowMapping]:
    """Return the youngest drops of a resource, or the one of that number, with what came of them.

    `details` is what `flow` kept when it concluded the drop last, `step_run_id` that step; both None
    where it never has.
    """
    given = {"flow": flow, "resource": resource, "limit": limit, "number": number}
    return [*connection.execute(LATEST, given).mappings()]


def resource(connection: Connection, number: int) -> str | None:
    """Return what a drop creates, None where there is no drop of that number."""
    return connection.execute(
        select(dropped_file.c.resource).where(dropped_file.c.id == number)
    ).scalar()


def plans(connection: Connection, number: int) -> list[RowMapping]:
    """Return the plans of a drop, the youngest first: counts, limits exceeded, who decided."""
    wanted = [
        creation_plan.c[name]
        for name in ("id", "state", "counts", "breaches", "made_at", "decided_by", "decided_at")
    ]
    statement = (
        select(*wanted)
        .where(creation_plan.c.drop_id == number)
        .order_by(creation_plan.c.made_at.desc())
    )
    return [*connection.execute(statement).mappings()]
