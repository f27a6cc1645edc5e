"""Generated history of a warehouse, for tests and measurements of the board."""

from sqlalchemy import Engine, text

from tests.support.sql import execute

ENTITIES = 3
INVOICES_A_DAY = 120
"""Of each entity, on working days."""

RUNS = """
with day as (
    select d, row_number() over (order by d) as n
    from generate_series(current_date - {days}, current_date - 1, interval '1 day') as d
), load as (
    select 'invoice_extraction' as flow, 'extract' as step, d + interval '26 hours' as at, e as id_entity,
        cast(d as date) - 35 as first, cast(d as date) as last, 36 * {invoices} as rows, 40 as new, n
    from day, generate_series(1, {entities}) as e
    union all
    select 'contact_sync', 'sync', d + h * interval '1 hour', null, null, null, 5000, n % 3, n * 24 + h
    from day, generate_series(0, 23) as h
    union all
    select flow, 'sync', d + interval '4 hours', null, null, null, 800, n % 2, n
    from day, unnest(array['consultant_sync', 'employee_directory']) as flow
    union all
    select 'retention', 'sweep', d + interval '3 hours', null, null, null, 0, 0, n from day
    union all
    select 'reconciliation', 'audit', d + interval '6 hours', null, null, null, 900, 0, n from day
    union all
    select 'service_contract', 'probe', d, null, null, null, 30, 0, n from day where n % 7 = 0
)
insert into bms.step_run (flow, dag_run_id, step, id_entity, window_start, window_end, state, reason,
    rows_read, inserted, changed, unchanged, quarantined, missing, requests, retries, throttles,
    token_fetches, latency_p50_ms, latency_p95_ms, details, started_at, finished_at)
select flow, 'scheduled__' || at, step, id_entity, first, last,
    case when n % 97 = 0 then 'failed' when n % 89 = 0 and flow = 'contact_sync' then 'unstable'
        when n % 83 = 0 and flow = 'invoice_extraction' then 'suspect' else 'complete' end,
    case when n % 97 = 0 then 'ServiceDown; the task''s log has the whole of it.' end,
    rows, least(new, rows), 0, rows - least(new, rows), 0, case when n % 11 = 0 then 1 else 0 end,
    20 + n % 30, n % 5, n % 2, 1, 40 + n % 20, 90 + n % 60,
    jsonb_build_object('raw', 'raw/client_invoice/' || at::date || '/step-0'), at, at + interval '40 seconds'
from load where at < now() order by at
"""

TOTALS = """
insert into bms.control_total
select id, id_entity, c, 4000 + id % 60, 1000000 + id % 977, 200000 + id % 977, 1200000 + 2 * (id % 977), 4000 + id % 977
from bms.step_run, unnest(array['EUR', 'USD', 'CHF']) as c where step = 'extract'
"""

DAYS = """
insert into bms.client_invoice_day
select e, d, {invoices}, 10, d + interval '26 hours', null
from generate_series(1, {entities}) as e,
    generate_series(current_date - {days}, current_date - 1, interval '1 day') as d
where extract(isodow from d) < 6
"""

INVOICES = """
insert into bms.client_invoice (id_entity, id_invoice, invoice_date, currency, total_excl_vat, total_vat,
    total_incl_vat, total_due, canceled, _row_hash, _version, _first_seen_at, _changed_at, _step_run_id, _day)
select id_entity, (day - date '2000-01-01') * 100000 + n, day,
    case n % 20 when 0 then 'USD' when 1 then 'CHF' else 'EUR' end,
    n * 13.37, n * 2.67, n * 16.04, 0, n % 50 = 0, '\\x00', 1, now(), now(), 1, day
from bms.client_invoice_day, generate_series(1, {invoices}) as n
"""

DROPS = """
with made as (
    insert into bms.dropped_file (resource, path, size, stamp, state, dag_run_id, expires_at, sha256, archive,
        report, entered_at, started_at, finished_at)
    select 'employee', 'nouveaux-' || n || '.csv', 4000, n::text,
        case when n < 104 then 'applied' else 'open' end, 'manual__' || n, now(), 'sha' || n,
        'archive/employees/' || n, 'reports/employees/' || n,
        now() - case when n = 104 then interval '150 minutes' else (105 - n) * interval '3.5 days' end, now(),
        case when n < 104 then now() - (105 - n) * interval '3.5 days' end
    from generate_series(1, 104) as n
    returning id, dag_run_id, entered_at, state
)
insert into bms.step_run (flow, dag_run_id, step, state, rows_read, inserted, unchanged, quarantined, details, started_at, finished_at)
select 'employee_onboarding', dag_run_id, 'conclude', 'complete', 30, 24, 2, 4,
    jsonb_build_object('drop', id, 'ending', state, 'created', 20 + id % 7, 'adopted', id % 2, 'already_there', 2,
        'rejected', id % 5, 'needs_review', id % 3, 'waiting', 0), entered_at, entered_at + interval '1 minute'
from made where state = 'applied'
"""

PLANS = """
insert into bms.creation_plan (drop_id, id, resource, state, bound, counts, breaches, creates, rows, made_at, asked_at, asked_because)
select id, md5(id::text), 'employee', case when state = 'open' then 'made' else 'applied' end, '{{}}',
    '{{"create": 24, "resume": 0, "already_there": 2, "manual_change": 0, "rejected": 3, "review": 1}}',
    '[{{"code": "created", "found": "24 / 250", "limit": "5%"}}]', '{{}}', '[]', entered_at, entered_at,
    '[{{"code": "created", "found": "24 / 250", "limit": "5%"}}]'
from bms.dropped_file
"""

LEDGER = """
insert into bms.creation (resource, key, digest, drop_id, line, state, attempt, max_attempts, empty_lookups, remote_id,
    reason, evidence, candidates, entered_at, changed_at)
select 'employee', md5(d.id || ' ' || line), 'x', d.id, line,
    case when d.id = 103 and line = 2 then 'unknown' when d.id >= 102 and line < 4 then 'review' else 'created' end,
    1, 5, 0, case when d.id >= 102 and line < 4 then null else d.id || '-' || line end,
    case when d.id >= 102 and line < 4 then 'same_name' end, '[]', '[]', d.entered_at, d.entered_at
from bms.dropped_file d, generate_series(2, 25) as line
"""

WAITS = """
with waits as (
    insert into bms.dropped_file (resource, path, size, stamp, state, waits_for, dag_run_id, expires_at, entered_at)
    values ('contact', 'w.csv', 1, 'w', 'waiting', 'incomplete', 'waiting 1', now(), now() - interval '5 minutes')
    returning id
)
insert into bms.contact_difference
select n, 'city', null, '"Brest"', '"Lyon"', 1, now() - interval '3 days', null from waits, generate_series(1, 4) as n
"""

ASIDE = """
insert into bms.quarantine (resource, id_entity, row_key, code, field, raw, first_day, last_day, step_run_id,
    first_seen_at, last_seen_at)
select r, 1, n::text, (array['bad_date', 'missing_money', 'bad_text'])[1 + n % 3], 'due_date', '<script>alert(1)</script>',
    current_date - n, current_date - n, n, now() - n * interval '1 day', now()
from unnest(array['client_invoice', 'contact']) as r, generate_series(1, 40) as n
"""

ALARM = """
insert into bms.alarm (subject, code, detail, flow, dag_run_id, since, raised_at)
values ('consultant_sync', 'late', 'The last complete load is 3 d 2 h old, the limit is 26 h.',
    'consultant_sync', 'scheduled__x', now() - interval '2 days', now() - interval '2 days')
"""

AUDIT = """
insert into bms.reconciliation (resource, id_entity, day, part, parts, state, reasons, found, pending,
    rows_compared, changed_meanwhile, rows, checked_at, step_run_id)
select 'client_invoice', e, d, 1, 1, case when n % 60 = 0 then 'not_reconciled' else 'reconciled' end,
    case when n % 60 = 0 then array['warehouse_differs'] else '{{}}'::text[] end, '{{}}', '{{}}', 120, 0, '{{}}', now(), 1
from generate_series(1, {entities}) as e, (
    select cast(d as date) as d, row_number() over (order by d desc) + 55 as n
    from generate_series(current_date - {days}, current_date - 1, interval '1 day') as d
) as day
"""

CONTRACT = """
insert into bms.contract
select f, now() - interval '200 days', 'known', '100', t, null, null, now(), 1
from (values
    ('page_size_limit', 'At most 100 rows come in one page, whatever is asked.'),
    ('end_date', 'The day end_date is part of the range.'),
    ('expires_in_unit', 'expires_in counts seconds, as the token''s exp confirms.')
) as each (f, t)
"""


def fill(engine: Engine, *, days: int = 365) -> None:
    """Fill a warehouse with the history of a number of days."""
    given = {"days": days, "entities": ENTITIES, "invoices": INVOICES_A_DAY}
    with engine.begin() as connection:
        for statement in (
            RUNS, TOTALS, DAYS, INVOICES, DROPS, PLANS, LEDGER, WAITS, ASIDE, ALARM, AUDIT, CONTRACT
        ):  # fmt: skip
            connection.execute(text(statement.format(**given)))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("analyze"))


def give_up(warehouse: Engine, line: int) -> None:
    """Decide a line as another user."""
    execute(
        warehouse,
        f"""with given_up as (update bms.creation set state = 'given_up' where line = {line} returning id)
            insert into bms.creation_event (creation_id, at, what, attempt, who)
            select id, now(), 'decided_give_up', 0, 'paul' from given_up""",
    )
