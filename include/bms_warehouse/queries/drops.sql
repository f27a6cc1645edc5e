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
