"""Loads and the steps they consist of, as `bms.step_run` keeps them.

A load is what one run of a flow did in the step that loads: all entities together, the latest try
of each. What it asked of the service is what all steps of the run asked.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, RowMapping, func, select, text

from bms_warehouse.tables import control_total, step_run

LOADS = text("""
    with recent as (
        select distinct f.flow, f.step, s.dag_run_id
        from unnest(cast(:flows as text[]), cast(:steps as text[])) as f (flow, step)
        cross join lateral (
            select dag_run_id from bms.step_run as run
            where run.flow = f.flow order by started_at desc limit :steps_read
        ) as s
    ), step as (
        select run.*, run.step = coalesce(recent.step, run.step) as loads
        from recent
        join bms.step_run as run on run.flow = recent.flow and run.dag_run_id = recent.dag_run_id
    ), try as (
        -- Days that a step read and held belong to its try.
        select *, rank() over (
            partition by flow, dag_run_id, step, id_entity, window_start
            order by coalesce(held_by, id) desc
        ) as nth
        from step
    ), latest as (
        select * from try where nth = 1
    ), asked as (
        select flow, dag_run_id, sum(requests) as requests, sum(retries) as retries,
            sum(throttles) as throttles, sum(token_fetches) as token_fetches,
            max(latency_p50_ms) as latency_p50_ms, max(latency_p95_ms) as latency_p95_ms
        from latest
        group by flow, dag_run_id
    ), load as (
        select flow, dag_run_id, max(id) as id, min(started_at) as started_at,
            max(finished_at) as finished_at, min(window_start) as window_start,
            max(window_end) as window_end, count(distinct id_entity) as entities,
            case
                when bool_or(state = 'running') then 'running'
                when bool_or(state = 'failed') then 'failed'
                when bool_or(state = 'suspect') then 'suspect'
                when bool_or(state = 'unstable') then 'unstable'
                when bool_or(state = 'partial') then 'partial'
                else 'complete'
            end as state,
            sum(rows_read) as rows_read, sum(inserted) as inserted, sum(changed) as changed,
            sum(unchanged) as unchanged, sum(quarantined) as quarantined,
            sum(missing) as missing,
            row_number() over (partition by flow order by max(id) desc) as place
        from latest
        where loads
        group by flow, dag_run_id
    )
    select * from load join asked using (flow, dag_run_id)
    where place <= :loads order by flow, place
""")
STEPS_OF_A_LOAD = 10
"""Looked at for each load that is wanted; where runs have more, fewer loads are found, each whole."""


def latest(
    connection: Connection, flows: Mapping[str, str | None], limit: int
) -> dict[str, list[RowMapping]]:
    """Return the youngest loads of each flow, by the DAG's id, the youngest first.

    `flows` names the step that loads, None where all of a flow's do. Counts are sums over the
    load's steps, its state is their worst. Requests are those of all steps of its run, latencies
    (milliseconds) the highest of them.
    """
    given = {
        "flows": [*flows.keys()],
        "steps": [*flows.values()],
        "steps_read": limit * STEPS_OF_A_LOAD,
        "loads": limit,
    }
    found: dict[str, list[RowMapping]] = {flow: [] for flow in flows}
    for load in connection.execute(LOADS, given).mappings():
        found[load["flow"]].append(load)
    return found


def steps(
    connection: Connection, flow: str, dag_run_id: str, *, limit: int, among: int | None = None
) -> list[RowMapping]:
    """Return the youngest steps of a run, the oldest first; the one numbered `among` is one of them.

    Each says in `many` how many steps the run has.
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
    """Return the step of that number, None where there is none."""
    return connection.execute(select(step_run).where(step_run.c.id == number)).mappings().first()


def totals(connection: Connection, numbers: Sequence[int]) -> list[RowMapping]:
    """Return the control totals of steps, by step, entity and currency."""
    statement = (
        select(control_total)
        .where(control_total.c.step_run_id.in_(numbers))
        .order_by(control_total.c.step_run_id, control_total.c.id_entity, control_total.c.currency)
    )
    return [*connection.execute(statement).mappings()]
