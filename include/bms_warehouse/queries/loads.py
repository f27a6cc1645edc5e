"""Queries for loads and their steps in `bms.step_run`.

A load combines the loading steps of one DAG run: the latest attempt per entity. Its requests are
those of all steps of the run.
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
    ), attempt as (
        -- Days held by a step belong to that step's attempt.
        select *, rank() over (
            partition by flow, dag_run_id, step, id_entity, window_start
            order by coalesce(held_by, id) desc
        ) as nth
        from step
    ), latest as (
        select * from attempt where nth = 1
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
                else coalesce(max(details->>'ending'), 'complete')
            end as state,
            (array_agg(details order by id desc))[1] as details, sum(rows_read) as rows_read, sum(inserted) as inserted, sum(changed) as changed,
            sum(unchanged) as unchanged, sum(quarantined) as quarantined,
            sum(missing) as missing,
            row_number() over (partition by flow order by max(id) desc) as position
        from latest
        where loads
        group by flow, dag_run_id
    )
    select * from load join asked using (flow, dag_run_id)
    where position <= :loads order by flow, position
""")
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
    }
    found: dict[str, list[RowMapping]] = {flow: [] for flow in flows}
    for load in connection.execute(LOADS, given).mappings():
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
    return [*connection.execute(statement).mappings()]
