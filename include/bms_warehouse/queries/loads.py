"""Queries for loads and their steps in `bms.step_run`.

A load combines the loading steps of one DAG run: the latest attempt per entity. Its requests are
those of all steps of the run.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from sqlalchemy import Connection, RowMapping, func, select

from bms_warehouse.queries.sql import fetch, statements
from bms_warehouse.tables import control_total, step_run

Incomplete = Literal["partial", "unstable", "suspect", "failed"]
INCOMPLETE: tuple[Incomplete, ...] = get_args(Incomplete)
"""Outcomes of loads that did not load everything."""
WORST_LAST = [*INCOMPLETE, "running"]
"""States of steps; a load has the worst state of its steps."""
LATEST = statements("loads")["latest"]
STEPS_OF_A_LOAD = 10
"""Steps read per requested load; with more steps per run, the query returns fewer, complete loads."""


def latest(
    connection: Connection, flows: Mapping[str, str | None], limit: int
) -> dict[str, list[RowMapping]]:
    """Return the latest loads of each flow, by DAG id, latest first.

    `flows` maps each flow to its loading step, None for all steps. Counts are sums over the steps,
    the state is their worst, or the ending of a dropped file; `details` are those of the last step;
    latencies (milliseconds) are their maximum.
    """
    given = {
        "flows": [*flows.keys()],
        "steps": [*flows.values()],
        "steps_read": limit * STEPS_OF_A_LOAD,
        "loads": limit,
        "worst_last": WORST_LAST,
    }
    found: dict[str, list[RowMapping]] = {flow: [] for flow in flows}
    for load in connection.execute(LATEST, given).mappings():
        found[load["flow"]].append(load)
    return found


def steps(
    connection: Connection, flow: str, dag_run_id: str, *, limit: int, among: int | None = None
) -> list[RowMapping]:
    """Return the latest steps of a run, oldest first, including step `among`.

    Column `many` is the number of steps of the run.
    """
    statement = (
        select(step_run, func.count().over().label("many"))
        .where(step_run.c.flow == flow, step_run.c.dag_run_id == dag_run_id)
        .order_by(
            (step_run.c.id == (among or 0)).desc(),
            step_run.c.started_at.desc(),
            step_run.c.id.desc(),
        )
        .limit(limit)
    )
    found = connection.execute(statement).mappings()
    return sorted(found, key=lambda each: (each["started_at"], each["id"]))


def step(connection: Connection, number: int) -> RowMapping | None:
    """Return step `number`, None if it does not exist."""
    return connection.execute(select(step_run).where(step_run.c.id == number)).mappings().first()


def totals(connection: Connection, numbers: Sequence[int]) -> list[RowMapping]:
    """Return the control totals of steps, by step, entity and currency."""
    statement = (
        select(control_total)
        .where(control_total.c.step_run_id.in_(numbers))
        .order_by(control_total.c.step_run_id, control_total.c.id_entity, control_total.c.currency)
    )
    return fetch(connection, statement)
