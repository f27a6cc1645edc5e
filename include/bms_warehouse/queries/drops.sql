-- name: latest
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

-- name: plans
select id, state, counts, breaches, made_at, decided_by, decided_at, asked_at, asked_because, file_digest
from bms.creation_plan
where drop_id = :number
order by made_at desc

-- name: decisions
select line, what, who, at, record from (
    select distinct on (c.id) c.line, e.what, e.who, e.at,
        coalesce(cast(c.remote_number as text), c.remote_id) as record
    from bms.creation c join bms.creation_event e on e.creation_id = c.id
    where c.drop_id = :number and c.state <> 'review' and starts_with(e.what, 'decided_')
    order by c.id, e.id desc
) as decision order by line
