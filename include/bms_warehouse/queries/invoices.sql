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
select count(distinct i.id_invoice) from e
join bms.client_invoice o on o.id_entity = e.id_entity and o.id_invoice = any(:ids)
join bms.client_invoice i on i.id_entity = :id_entity and i.id_invoice = o.id_invoice
    and (i.reference_number, i.id_client, i.total_incl_vat)
        is not distinct from (o.reference_number, o.id_client, o.total_incl_vat)
