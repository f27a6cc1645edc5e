-- name: invoices_per_day
select day, cast(sum(invoices) as bigint) as invoices
from bms.client_invoice_day where day >= :since group by day order by day

-- name: amounts_per_day
-- One entity at a time uses the index on entity and day.
select i._day as day, i.currency, sum(i.total_excl_vat) as amount
from (select distinct id_entity from bms.client_invoice_day) as e
join bms.client_invoice i on i.id_entity = e.id_entity and i._day >= :since
where i.canceled is not true and i._missing_since is null
group by 1, 2 order by 1, 2

-- name: moves_per_day
select cast(finished_at at time zone :zone as date) as day, sum(inserted) as inserted,
    sum(changed) as changed, sum(missing) as missing
from bms.step_run
where flow = :flow and step = :step and started_at >= :since
    and state in ('complete', 'unstable', 'suspect')
group by 1 order by 1

-- name: totals_beside
with load as (
    select id, id_entity, window_start, window_end, finished_at, dag_run_id,
        window_end - window_start as days
    from bms.step_run where flow = :flow and step = :step and state = 'complete'
), latest as (
    select distinct on (id_entity) * from load order by id_entity, id desc
)
select l.id_entity, l.id as step_run_id, l.dag_run_id, l.window_start, l.window_end, l.finished_at,
    b.id as before_id, b.window_start as before_start, b.window_end as before_end,
    c.currency,
    coalesce(t.invoices, 0) as invoices, coalesce(p.invoices, 0) as invoices_before,
    coalesce(t.total_excl_vat, 0) as total_excl_vat,
    coalesce(p.total_excl_vat, 0) as total_excl_vat_before,
    coalesce(t.total_due, 0) as total_due, coalesce(p.total_due, 0) as total_due_before
from latest l
left join lateral (
    select * from load e where e.id_entity = l.id_entity and e.id < l.id and e.days = l.days
    order by e.id desc limit 1
) as b on true
left join lateral (
    select currency from bms.control_total where step_run_id in (l.id, b.id) group by currency
) as c on true
left join bms.control_total t on t.step_run_id = l.id and t.currency = c.currency
left join bms.control_total p on p.step_run_id = b.id and p.currency = c.currency
order by l.id_entity, c.currency
