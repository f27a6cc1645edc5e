"""What waits for a person: plans, rows in doubt, rows set aside, days that don't agree."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, TextClause, text

PLANS = text("""
    select d.id as drop_id, d.resource, d.dag_run_id, p.made_at, p.counts, p.breaches
    from bms.dropped_file d
    join lateral (
        select * from bms.creation_plan where drop_id = d.id order by made_at desc limit 1
    ) as p on p.state = 'made'
    where d.state = 'open' and d.resource = any(:resources)
    order by d.id
""")

ROWS = text("""
    select c.resource, c.drop_id, c.state, count(*) as rows, min(c.changed_at) as since
    from bms.creation c
    where c.state in ('unknown', 'review') and c.resource = any(:resources)
    group by 1, 2, 3 order by 1, 2, 3
""")

FILES = text("""
    select id as drop_id, resource, waits_for, entered_at as since
    from bms.dropped_file where state = 'waiting' and resource = any(:resources)
    order by id
""")

CONTACT_DIFFERENCES = text("""
    select count(*) as fields, count(distinct id_contact) as contacts, min(since) as since,
        max(drop_id) as drop_id
    from bms.contact_difference where resolved_at is null having count(*) > 0
""")

ROWS_OF_DROP = text("""
    select line, state, reason, attempt, evidence, candidates, changed_at
    from bms.creation
    where drop_id = :drop and state in ('unknown', 'review', 'ready', 'sending')
    order by line
""")

QUARANTINE = text("""
    select resource, code, count(*) as rows, min(first_seen_at) as since,
        max(last_seen_at) as last_seen_at
    from bms.quarantine where resource = any(:resources)
    group by 1, 2 order by 1, 3 desc, 2
""")

QUARANTINED = text("""
    select id_entity, row_key, code, field, first_day, last_day, step_run_id, first_seen_at, last_seen_at
    from bms.quarantine where resource = :resource
    order by last_seen_at desc, row_key limit :limit
""")

DIFFERENCES = text("""
    select resource, id_entity, day, part, parts, state, reasons, checked_at, step_run_id
    from bms.reconciliation
    where state in ('not_reconciled', 'pending') and resource = any(:resources)
    order by state, day desc, resource, id_entity limit :limit
""")

AUDITED = text("""
    select resource, state, count(*) as days, max(checked_at) as checked_at
    from bms.reconciliation
    where (day >= current_date - 35 or resource <> 'client_invoice') and resource = any(:resources)
    group by 1, 2 order by 1, 2
""")

CYCLE = text("""
    select key as resource, cast(value->>'days' as integer) as days,
        cast(value->>'total' as integer) as total, value->>'unit' as unit
    from jsonb_each((
        select details->'cycle' from bms.step_run
        where flow = 'reconciliation' and step = 'audit' and details->'cycle' <> '{}'
        order by id desc limit 1
    )) where key = any(:resources) order by key
""")

CONTRACT = text("""
    select distinct on (finding) finding, since, state, summary, setting, advice, last_seen_at, step_run_id
    from bms.contract order by finding, since desc
""")


def plans(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the plans that nobody has agreed to yet, of drops that are being worked on."""
    return _all(connection, PLANS, resources=[*resources])


def rows(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return how many rows of each drop are unknown or under review, and since when."""
    return _all(connection, ROWS, resources=[*resources])


def files(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the files that lie in an inbox and can't be taken yet, as drops."""
    return _all(connection, FILES, resources=[*resources])


def contact_differences(connection: Connection) -> list[RowMapping]:
    """Return in how many fields of how many contacts drops and CRM disagree; no row where in none."""
    return _all(connection, CONTACT_DIFFERENCES)


def rows_of_drop(connection: Connection, drop: int) -> list[RowMapping]:
    """Return the rows of a drop that have no end yet: lines, codes and the service's ids."""
    return _all(connection, ROWS_OF_DROP, drop=drop)


def quarantine(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return how many rows are set aside, by resource and code."""
    return _all(connection, QUARANTINE, resources=[*resources])


def quarantined(connection: Connection, resource: str, limit: int) -> list[RowMapping]:
    """Return the rows set aside that came back last: keys, codes and fields, nothing they hold."""
    return _all(connection, QUARANTINED, resource=resource, limit=limit)


def differences(connection: Connection, resources: Sequence[str], limit: int) -> list[RowMapping]:
    """Return the days on which service and warehouse don't agree: confirmed ones, then pending ones."""
    return _all(connection, DIFFERENCES, resources=[*resources], limit=limit)


def cycle(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return in how many days the self-audit compares all of each resource, at its latest pace."""
    return _all(connection, CYCLE, resources=[*resources])


def audited(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return how many days of the last 35, and parts of lists, have which state, by resource."""
    return _all(connection, AUDITED, resources=[*resources])


def contract(connection: Connection) -> list[RowMapping]:
    """Return what the service was last seen to do, a row for each finding."""
    return _all(connection, CONTRACT)


def _all(connection: Connection, statement: TextClause, **given: object) -> list[RowMapping]:
    return [*connection.execute(statement, given).mappings()]
