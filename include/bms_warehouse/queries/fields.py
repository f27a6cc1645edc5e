"""Counts of filled fields, by step and by days."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from sqlalchemy import Connection, Table

from bms_warehouse import loads
from bms_warehouse.tables import superseded


def emptied(
    connection: Connection,
    table: Table,
    names: Sequence[str],
    *,
    step_run_id: int,
    observed_at: datetime,
) -> dict[str, int]:
    """Return per field of `names` the number of rows whose value step `step_run_id` removed.

    The step's transaction has not committed: the rows that it wrote are the current versions. Rows
    marked as missing keep their values. Fields without a removed value are omitted.
    """
    same = " and ".join(f'b."{column.name}" = a."{column.name}"' for column in table.primary_key)
    lost = ", ".join(
        f'count(*) filter (where a."{name}" is null and b."{name}" is not null)' for name in names
    )
    statement = f"""
        select {lost} from {superseded(table)} b
        join {table} a on {same} and a._version = b._version + 1
        where b._superseded_at = %(at)s and a._step_run_id = %(step_run_id)s
    """
    given = {"step_run_id": step_run_id, "at": observed_at}
    [counts] = _rows(connection, statement, given)
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def days_without(
    connection: Connection,
    table: Table,
    name: str,
    *,
    where: str,
    given: Mapping[str, object],
    step_run_id: int,
    observed_at: datetime,
) -> set[date]:
    """Return the days of invoices that step `step_run_id` wrote without a value in `name`.

    `where` is an SQL condition of the invoices; `given` binds its `%(name)s` parameters.
    """
    statement = f"""
        select distinct _day from {table} where {where} and "{name}" is null
            and _step_run_id = %(step_run_id)s and _changed_at >= %(at)s
    """
    bound = {**given, "step_run_id": step_run_id, "at": observed_at}
    with loads.driver(connection).cursor() as cursor:
        return {day for (day,) in cursor.execute(statement.encode(), bound)}


def filled(
    connection: Connection,
    table: Table,
    names: Sequence[str],
    *,
    where: str,
    given: Mapping[str, object],
) -> dict[str, int]:
    """Return per field of `names` the number of rows of `table` with a value.

    `where` is an SQL condition; `given` binds its `%(name)s` parameters.
    """
    statement = f"select {_counts(names)} from {table} where {where}"
    [counts] = _rows(connection, statement, given)
    return dict(zip(names, counts, strict=True))


def usual(
    connection: Connection,
    invoices: Table,
    versions: Table,
    names: Sequence[str],
    *,
    id_entity: int,
    days: tuple[date, date],
    oldest_days: int,
    rows: int,
) -> tuple[int, dict[str, int]]:
    """Return a number of recent invoices, and per field how many had a value in their first version.

    Counts at most `rows` invoices of `days` whose first version is at most `oldest_days` older than
    their day: fields of an invoice fill over time, so new invoices are compared at the same age.
    """
    statement = f"""
        select count(*), {_counts(names)} from (
            select a.* from {invoices} i
            join {versions} a on a.id_entity = i.id_entity and a.id_invoice = i.id_invoice
                and a._version = 1 and a._observed_at::date - a._day <= %(oldest_days)s
            where i.id_entity = %(id_entity)s and i._day between %(first)s and %(last)s
            order by i._first_seen_at desc, i.id_invoice desc limit %(rows)s
        ) as latest
    """
    given = {
        "id_entity": id_entity,
        "first": days[0],
        "last": days[1],
        "oldest_days": oldest_days,
        "rows": rows,
    }
    [[found, *counts]] = _rows(connection, statement, given)
    return found, dict(zip(names, counts, strict=True))


def _counts(names: Sequence[str]) -> str:
    return ", ".join(f'count("{name}")' for name in names)


def _rows(
    connection: Connection, statement: str, given: Mapping[str, object]
) -> list[tuple[int, ...]]:
    with loads.driver(connection).cursor() as cursor:
        return cursor.execute(statement.encode(), given).fetchall()
