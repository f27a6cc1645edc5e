-- name: changed_since
select i.id_invoice from bms.client_invoice i
left join bms.client_invoice_day d on d.id_entity = i.id_entity and d.day = i._day
left join bms.step_run r on r.id = i._step_run_id
where i.id_entity = :id_entity and i.id_invoice = any(:ids) and (
    coalesce(cast(r.details->>'read_at' as timestamptz), i._changed_at) > :since
    or (i._missing_since is null and d.read_at > :since)
)

-- name: days_of
select _day as day, count(*) as invoices from bms.client_invoice
where id_entity = :id_entity and id_invoice = any(:ids) and _day is not null group by 1

-- name: in_other_entities
with e as materialized (
    select distinct id_entity from bms.client_invoice_day where id_entity <> :id_entity
)
-- The offsets keep the key's index: before its first analyze, PostgreSQL would read all rows of the entities.
select count(distinct s.id) from unnest(cast(:ids as bigint[])) s(id)
cross join e
cross join lateral (
    select reference_number, id_client, total_incl_vat from bms.client_invoice
    where id_entity = :id_entity and id_invoice = s.id offset 0
) i
cross join lateral (
    select reference_number, id_client, total_incl_vat from bms.client_invoice
    where id_entity = e.id_entity and id_invoice = s.id offset 0
) o
where i is not distinct from o

-- name: last_read_before_acceptance
select measure, array_agg(day) as days from bms.client_invoice_day join (
    select jsonb_object_keys(accepted) as measure, max(read_at) as accepted_at from bms.load_profile
    where resource = 'client_invoice' and id_entity = :id_entity group by 1
) as acceptance on read_at < accepted_at
where id_entity = :id_entity and day = any(:days) group by 1
