"""Queries for pending items: plans, ambiguous rows, quarantined rows, audit differences."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, text


def plans(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the undecided plans of open drops."""
    statement = """
        select d.id as drop_id, d.resource, d.dag_run_id, p.id as plan_id, p.counts, p.asked_at,
            p.asked_because, p.notified_at, p.excluded
        from bms.dropped_file d
        join lateral (
            select * from bms.creation_plan where drop_id = d.id order by made_at desc limit 1
        ) as p on p.state = 'made' and p.asked_at is not null
        where d.state = 'open' and d.resource = any(:resources)
        order by d.id
    """
    return _all(connection, statement, resources=[*resources])


def rows(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the number of unknown and review rows per drop, and their earliest time."""
    statement = """
        select c.resource, c.drop_id, c.state, count(*) as rows, min(c.changed_at) as since
        from bms.creation c
        where c.state in ('unknown', 'review') and c.resource = any(:resources)
        group by 1, 2, 3 order by 1, 2, 3
    """
    return _all(connection, statement, resources=[*resources])


def files(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the inbox files that cannot be claimed yet, as drops."""
    statement = """
        select id as drop_id, resource, waits_for, entered_at as since
        from bms.dropped_file where state = 'waiting' and resource = any(:resources)
        order by id
    """
    return _all(connection, statement, resources=[*resources])


def contact_differences(connection: Connection) -> list[RowMapping]:
    """Return the number of fields and contacts that differ between drops and CRM; no row if none."""
    statement = """
        select count(*) as fields, count(distinct id_contact) as contacts, min(since) as since,
            max(drop_id) as drop_id
        from bms.contact_difference where resolved_at is null having count(*) > 0
    """
    return _all(connection, statement)


def rows_of_drop(connection: Connection, drop: int) -> list[RowMapping]:
    """Return the unfinished rows of a drop: lines, codes and remote ids."""
    statement = """
        select line, state, reason, attempt, evidence, candidates, changed_at
        from bms.creation
        where drop_id = :drop and state in ('unknown', 'review', 'ready', 'sending')
        order by line
    """
    return _all(connection, statement, drop=drop)


def quarantine(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the number of quarantined rows, by resource and code."""
    statement = """
        select resource, code, count(*) as rows, min(first_seen_at) as since,
            max(last_seen_at) as last_seen_at
        from bms.quarantine where resource = any(:resources)
        group by 1, 2 order by 1, 3 desc, 2
    """
    return _all(connection, statement, resources=[*resources])


def missing_numbers(connection: Connection, limit: int) -> list[RowMapping]:
    """Return the missing invoice numbers, those that no operator has accepted first."""
    statement = """
        select id_entity, series, reference_number, day, found_at, step_run_id, accepted_by, accepted_reason
        from bms.client_invoice_missing_number
        order by accepted_by is not null, found_at desc, id_entity, reference_number limit :limit
    """
    return _all(connection, statement, limit=limit)


def quarantined(connection: Connection, resource: str, limit: int) -> list[RowMapping]:
    """Return the latest quarantined rows: keys, codes and fields, without their content."""
    statement = """
        select id_entity, row_key, code, field, first_day, last_day, step_run_id, first_seen_at, last_seen_at
        from bms.quarantine where resource = :resource
        order by last_seen_at desc, row_key limit :limit
    """
    return _all(connection, statement, resource=resource, limit=limit)


def differences(connection: Connection, resources: Sequence[str], limit: int) -> list[RowMapping]:
    """Return the days with audit differences: confirmed first, then pending."""
    statement = """
        select resource, id_entity, day, part, parts, state, reasons, checked_at, step_run_id
        from bms.reconciliation
        where state in ('not_reconciled', 'pending') and resource = any(:resources)
        order by state, day desc, resource, id_entity limit :limit
    """
    return _all(connection, statement, resources=[*resources], limit=limit)


def cycle(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the length of the audit's cycle per resource, in days."""
    statement = """
        select key as resource, cast(value->>'days' as integer) as days,
            cast(value->>'total' as integer) as total, value->>'unit' as unit
        from jsonb_each((
            select details->'cycle' from bms.step_run
            where flow = 'reconciliation' and step = 'audit' and details->'cycle' <> '{}'
            order by id desc limit 1
        )) where key = any(:resources) order by key
    """
    return _all(connection, statement, resources=[*resources])


def audited(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the number of audited days (of the last 35) and list parts, by resource and state."""
    statement = """
        select resource, state, count(*) as days, max(checked_at) as checked_at
        from bms.reconciliation
        where (day >= current_date - 35 or resource <> 'client_invoice') and resource = any(:resources)
        group by 1, 2 order by 1, 2
    """
    return _all(connection, statement, resources=[*resources])


def contract(connection: Connection) -> list[RowMapping]:
    """Return the current row of each contract finding."""
    statement = """
        select distinct on (finding) finding, since, state, summary, setting, advice, last_seen_at, step_run_id
        from bms.contract order by finding, since desc
    """
    return _all(connection, statement)


def _all(connection: Connection, statement: str, **given: object) -> list[RowMapping]:
    return [*connection.execute(text(statement), given).mappings()]
