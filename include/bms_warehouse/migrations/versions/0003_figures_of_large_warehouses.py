"""Figures of invoices in the company's time zone, and in seconds for a million invoices."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SQL = """
create function bms.company_zone() returns text language sql stable as $$
    select coalesce((
        select details->>'time_zone' from bms.step_run where flow = 'invoice_extraction' and step = 'plan' and state = 'complete'
        order by id desc limit 1
    ), 'Europe/Paris')
$$;
comment on function bms.company_zone is 'Time zone of the company: BMS_TIME_ZONE at the latest plan of an extraction.';

create or replace function bms.client_invoice_as_of(day date, zone text default bms.company_zone())
returns setof bms.client_invoice_version language sql stable as $$
    select * from bms.client_invoice_at((day + 1)::timestamp at time zone zone)
$$;

create or replace function bms.client_invoice_turnover_at(until timestamptz)
returns table (month date, id_entity bigint, currency text, invoices bigint, turnover numeric) language sql stable as $$
    select cast(date_trunc('month', cast(i.invoice_date as timestamp)) as date), i.id_entity, i.currency, count(*), sum(i.total_excl_vat)
    from bms.client_invoice_at(until) i
    where i.canceled is not true or exists ( -- a look-up by key, of canceled invoices only
        select from bms.client_invoice_at(until) c
        where c.id_entity = i.id_entity and c.id_invoice = i.id_credit and c.canceled is not true
    )
    group by 1, 2, 3
$$;

-- Only open and changed invoices are compared: the others have no line.
create or replace function bms.client_invoice_bridge(since timestamptz, until timestamptz)
returns table (currency text, line text, id_entity bigint, client_name text, id_invoice bigint, reference_number text,
    amount numeric) language sql stable as $$
    with held as materialized (
        select * from (
            select id_entity, id_invoice, client_name, reference_number, currency, total_incl_vat, canceled,
                case when canceled then 0 else total_due end as due,
                _observed_at < since and coalesce(_superseded_at >= since, true) as was_held,
                coalesce(_superseded_at >= until, true) as is_held
            from bms.client_invoice_version
            where _missing_since is null and _observed_at < until and (_superseded_at >= since or _superseded_at is null)
        ) as v where was_held <> is_held or (was_held and due <> 0)
    ), compared as materialized (
        select id_entity, id_invoice, client_name, reference_number, currency as was_in, currency as is_in,
            due as was, due, 0 as billed, 'same' as event
        from held where was_held and is_held
        union all
        select id_entity, id_invoice, coalesce(a.client_name, b.client_name),
            coalesce(a.reference_number, b.reference_number), b.currency, a.currency, b.due, a.due,
            a.total_incl_vat - b.total_incl_vat,
            case when b.id_invoice is null then 'new' when a.id_invoice is null then 'missing'
                when a.currency is distinct from b.currency then 'converted' when a.canceled then 'canceled'
                when b.canceled then 'restored' else 'same' end
        from (select * from held where is_held and not was_held) a
        full join (select * from held where was_held and not is_held) b using (id_entity, id_invoice)
    )
    select e.currency, e.line, id_entity, client_name, id_invoice, reference_number, e.amount
    from compared cross join lateral (values
        (was_in, 'opening', was),
        (is_in, 'new', case when event = 'new' then due end),
        (was_in, 'changed', case when event = 'converted' then -was end),
        (is_in, 'changed', case when event in ('converted', 'restored') then due when event = 'same' then billed end),
        (is_in, 'paid', case when event = 'same' then due - was - billed end),
        (was_in, 'canceled', case when event = 'canceled' then -was end),
        (was_in, 'missing', case when event = 'missing' then -was end),
        (is_in, 'closing', due)
    ) as e (currency, line, amount)
    where e.amount <> 0
$$;

create or replace view bms.client_invoice_open_item as
with today as materialized (select cast(now() at time zone bms.company_zone() as date) as day)
select item.* from today, bms.client_invoice_open_items(now(), today.day) as item;

-- Invoices without a client number belong to the client that they name.
create or replace view bms.client_invoice_ageing as
select id_entity, id_client, (array_agg(client_name order by invoice_date desc nulls last, id_invoice desc))[1] as client_name, currency,
    coalesce(sum(total_due) filter (where age = 'not_due'), 0) as not_due,
    coalesce(sum(total_due) filter (where age = 'days_1_to_30'), 0) as days_1_to_30,
    coalesce(sum(total_due) filter (where age = 'days_31_to_60'), 0) as days_31_to_60,
    coalesce(sum(total_due) filter (where age = 'days_61_to_90'), 0) as days_61_to_90,
    coalesce(sum(total_due) filter (where age = 'over_90_days'), 0) as over_90_days, sum(total_due) as total_due
from bms.client_invoice_open_item group by id_entity, id_client, currency, case when id_client is null then client_name end;

create or replace view bms.client_invoice_month_bridge as
with month as materialized (select date_trunc('month', now(), bms.company_zone()) as start)
select line.* from month, bms.client_invoice_bridge(month.start, now()) as line;

do $$
begin
    if exists (select from pg_roles where rolname = 'bms_analyst') then
        grant select on bms.client_invoice_missing_number to bms_analyst;
    end if;
end $$;
"""


def upgrade() -> None:
    # The driver itself executes many statements at once.
    op.get_bind().exec_driver_sql(SQL)


def downgrade() -> None:
    raise NotImplementedError(
        "no code needs the former functions: this revision keeps their columns"
    )
