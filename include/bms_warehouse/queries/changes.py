"""Counts of changed rows, for the profile of a load."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Table

from bms_warehouse import loads
from bms_warehouse.loads import staging_name

UNKNOWN_DIFFERS = "b._extra ? key and a._extra->key is distinct from b._extra->key"


def by_day(
    connection: Connection,
    table: Table,
    before: Table,
    conditions: Mapping[str, str],
    *,
    step_run_id: int,
    observed_at: datetime,
) -> dict[str, dict[date | None, int]]:
    """Return by name of a condition the rows of each day that step `step_run_id` changed accordingly.

    A condition is SQL: `a` is the row after the step, `b` the row before. The step's transaction has
    not committed: the rows that it wrote are the current versions.
    """
    same = " and ".join(f'b."{column.name}" = a."{column.name}"' for column in table.primary_key)
    statement = f"""
        select a._day, {_counts(conditions)} from {before} b
        join {table} a on {same} and a._version = b._version + 1
        where b._superseded_at = %(at)s and a._step_run_id = %(step_run_id)s
        group by a._day
    """  # noqa: S608 - our own names
    given = {"step_run_id": step_run_id, "at": observed_at}
    found: dict[str, dict[date | None, int]] = defaultdict(dict)
    for day, *counts in _rows(connection, statement, given):
        for name, count in zip(conditions, counts, strict=True):
            if count:
                found[name][day] = count
    return found


def unknown_by_step(
    connection: Connection, table: Table, before: Table, *, step_run_id: int, observed_at: datetime
) -> dict[str, int]:
    """Return by unknown field the rows in which step `step_run_id` changed the field."""
    same = " and ".join(f'b."{column.name}" = a."{column.name}"' for column in table.primary_key)
    statement = f"""
        select key, count(*) from {before} b
        join {table} a on {same} and a._version = b._version + 1
        cross join lateral jsonb_object_keys(a._extra) as key
        where b._superseded_at = %(at)s and a._step_run_id = %(step_run_id)s and {UNKNOWN_DIFFERS}
        group by key
    """  # noqa: S608 - our own names
    return dict(_rows(connection, statement, {"step_run_id": step_run_id, "at": observed_at}))


def unknown_staged(connection: Connection, table: Table) -> dict[str, int]:
    """Return by unknown field the staged rows in which the field differs from the stored row."""
    key = next(iter(table.primary_key)).name
    statement = f"""
        select key, count(*) from pg_temp.{staging_name(table)} a
        join {table} b on b."{key}" = a."{key}"
        cross join lateral jsonb_object_keys(a._extra) as key
        where {UNKNOWN_DIFFERS} group by key
    """  # noqa: S608 - our own names
    return dict(_rows(connection, statement, {}))


def staged(connection: Connection, table: Table, conditions: Mapping[str, str]) -> dict[str, int]:
    """Return by name of a condition the staged rows that fulfil it.

    A condition is SQL: `a` is the staged row, `b` the stored row, without values if the row is new.
    """
    key = next(iter(table.primary_key)).name
    statement = f"""
        select {_counts(conditions)} from pg_temp.{staging_name(table)} a
        left join {table} b on b."{key}" = a."{key}"
    """  # noqa: S608 - our own names
    [counts] = _rows(connection, statement, {})
    return dict(zip(conditions, counts, strict=True))


def filled(connection: Connection, table: Table, names: Sequence[str]) -> dict[str, int]:
    """Return per column of `names` the rows of `table` with a value."""
    conditions = {name: f'"{name}" is not null' for name in names}
    [counts] = _rows(connection, f"select {_counts(conditions)} from {table}", {})  # noqa: S608 - our own names
    return dict(zip(names, counts, strict=True))


def _counts(conditions: Mapping[str, str]) -> str:
    return ", ".join(f"count(*) filter (where {each})" for each in conditions.values())


def _rows(
    connection: Connection, statement: str, given: Mapping[str, object]
) -> list[tuple[Any, ...]]:
    with loads.driver(connection).cursor() as cursor:
        return cursor.execute(statement.encode(), given).fetchall()
