"""Steps of runs as `bms.run` keeps them: how each flow stands, what it did, one by its number."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, RowMapping, select, text

from bms_warehouse.tables import control_total, run

STANDINGS = text("""
    select distinct on (l.flow, r.id_entity) r.*
    from unnest(cast(:flows as text[]), cast(:steps as text[])) as l (flow, step)
    join bms.run r on r.flow = l.flow and r.step = l.step and r.state = any(:states)
    order by l.flow, r.id_entity, r.id desc
""")

ENDED = ("complete", "partial", "suspect", "unstable", "failed")


def latest(connection: Connection, loads: Mapping[str, str]) -> list[RowMapping]:
    """Return, for each flow and entity, the youngest step that has ended.

    `loads` names, for each flow, its step that loads.
    """
    return _standings(connection, loads, ENDED)


def last_complete(connection: Connection, loads: Mapping[str, str]) -> list[RowMapping]:
    """Return, for each flow and entity, the youngest step that ended complete."""
    return _standings(connection, loads, ("complete",))


def of_flow(
    connection: Connection, flow: str, *, step: str | None = None, limit: int
) -> list[RowMapping]:
    """Return the steps of a flow, or those of one name, the youngest first."""
    statement = select(run).where(run.c.flow == flow).order_by(run.c.started_at.desc()).limit(limit)
    if step is not None:
        statement = statement.where(run.c.step == step)
    return [*connection.execute(statement).mappings()]


def of_run(connection: Connection, flow: str, dag_run_id: str) -> list[RowMapping]:
    """Return the steps of one run, in the order in which they began."""
    same = (run.c.flow == flow) & (run.c.dag_run_id == dag_run_id)
    return [*connection.execute(select(run).where(same).order_by(run.c.id)).mappings()]


def by_number(connection: Connection, number: int) -> RowMapping | None:
    """Return the step of that number, None where there is none."""
    return connection.execute(select(run).where(run.c.id == number)).mappings().first()


def totals(connection: Connection, numbers: Sequence[int]) -> list[RowMapping]:
    """Return the control totals of steps, by step and currency."""
    statement = (
        select(control_total)
        .where(control_total.c.run_id.in_(numbers))
        .order_by(control_total.c.run_id, control_total.c.id_entity, control_total.c.currency)
    )
    return [*connection.execute(statement).mappings()]


def _standings(
    connection: Connection, loads: Mapping[str, str], states: Sequence[str]
) -> list[RowMapping]:
    given = {"flows": [*loads.keys()], "steps": [*loads.values()], "states": [*states]}
    return [*connection.execute(STANDINGS, given).mappings()]
