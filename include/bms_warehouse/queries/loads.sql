-- name: latest
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
        coalesce(
            (cast(:worst_last as text[]))[max(array_position(cast(:worst_last as text[]), state))],
            max(details->>'ending'), 'complete'
        ) as state,
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
