-- name: plans
select d.id as drop_id, d.resource, d.dag_run_id, p.id as plan_id, p.counts, p.asked_at,
    p.asked_because, p.notified_at, p.excluded
from bms.dropped_file d
join lateral (
    select * from bms.creation_plan where drop_id = d.id order by made_at desc limit 1
) as p on p.state = 'made' and p.asked_at is not null
where d.state = 'open' and d.resource = any(:resources)
order by d.id

-- name: rows
select c.resource, c.drop_id, c.state, count(*) as rows, min(c.changed_at) as since
from bms.creation c
where c.state in ('unknown', 'review') and c.resource = any(:resources)
group by 1, 2, 3 order by 1, 2, 3

-- name: files
select id as drop_id, resource, waits_for, entered_at as since
from bms.dropped_file where state = 'waiting' and resource = any(:resources)
order by id

-- name: contact_differences
select count(*) as fields, count(distinct id_contact) as contacts, min(since) as since,
    max(drop_id) as drop_id
from bms.contact_difference where resolved_at is null having count(*) > 0

-- name: rows_of_drop
with planned as (
    select row->>'key' as key, row->>'digest' as digest, cast(row->>'line' as integer) as line
    from (
        select rows from bms.creation_plan
        where drop_id = :drop and state = 'applied' order by applied_at desc limit 1
    ) as plan, jsonb_array_elements(rows) as row
    where row->>'action' = 'review'
), found as (
    select line, resource, state, reason, attempt, evidence, candidates, changed_at
    from bms.creation
    where drop_id = :drop and state in ('unknown', 'review', 'ready', 'sending')
    union all
    select planned.line, c.resource, c.state, c.reason, c.attempt, c.evidence, c.candidates, c.changed_at
    from planned join bms.creation c using (key, digest)
    join bms.dropped_file d on d.id = :drop and d.resource = c.resource
    where c.drop_id <> :drop and c.state = 'review'
)
select line, state, reason, attempt, evidence, candidates, changed_at, (
        select jsonb_object_agg(guid_employee, id_employee) from bms.employee
        where resource = 'employee'
            and guid_employee in (select jsonb_array_elements_text(candidates))
    ) as numbers
from found order by line

-- name: quarantine
select resource, code, count(*) as rows, min(first_seen_at) as since,
    max(last_seen_at) as last_seen_at
from bms.quarantine where resource = any(:resources)
group by 1, 2 order by 1, 3 desc, 2

-- name: missing_numbers
select id_entity, series, reference_number, day, found_at, step_run_id, accepted_by, accepted_reason
from bms.client_invoice_missing_number
order by accepted_by is not null, found_at desc, id_entity, reference_number limit :limit

-- name: quarantined
select id_entity, row_key, code, field, first_day, last_day, step_run_id, first_seen_at, last_seen_at
from bms.quarantine where resource = :resource
order by last_seen_at desc, row_key limit :limit

-- name: differences
select resource, id_entity, day, part, parts, state, reasons, checked_at, step_run_id
from bms.reconciliation
where state in ('not_reconciled', 'pending') and resource = any(:resources)
order by state, day desc, resource, id_entity limit :limit

-- name: cycle
select key as resource, cast(value->>'days' as integer) as days,
    cast(value->>'total' as integer) as total, value->>'unit' as unit
from jsonb_each((
    select details->'cycle' from bms.step_run
    where flow = 'reconciliation' and step = 'audit' and details->'cycle' <> '{}'
    order by id desc limit 1
)) where key = any(:resources) order by key

-- name: audited
select resource, state, count(*) as days, max(checked_at) as checked_at
from bms.reconciliation
where (day >= current_date - 35 or resource <> 'client_invoice') and resource = any(:resources)
group by 1, 2 order by 1, 2

-- name: contract
select distinct on (finding) finding, since, state, summary, setting, advice, last_seen_at, step_run_id
from bms.contract order by finding, since desc
