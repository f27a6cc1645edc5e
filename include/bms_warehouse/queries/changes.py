"""Counts of changed rows, for the profile of a load."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from typing import Any

from sqlalchemy import Column, Connection, Table, Text

from bms_warehouse import loads
from bms_warehouse.history import Stamp
from bms_warehouse.loads import staging_name
from bms_warehouse.tables.history import superseded

UNKNOWN_DIFFERS = "b._extra ? key and a._extra->key is distinct from b._extra->key"


def by_day(
    connection: Connection, table: Table, conditions: Mapping[str, str], stamp: Stamp
) -> dict[str, dict[date | None, int]]:
    """Return by name of a condition the rows of each day that a load changed accordingly.

    A condition is SQL: `a` is the row after the load, `b` the row before. The load's transaction has
    not committed: the rows that it wrote are the current versions.
    """
    statement = f"""
        select a._day, {_counts(conditions)} from {_changed(table)}
        where {_BY_LOAD} group by a._day
    """  # noqa: S608 - our own names
    found: dict[str, dict[date | None, int]] = defaultdict(dict)
    for day, *counts in _rows(connection, statement, stamp._asdict()):
        for name, count in zip(conditions, counts, strict=True):
            if count:
                found[name][day] = count
    return found


def unknown_by_load(connection: Connection, table: Table, stamp: Stamp) -> dict[str, int]:
    """Return by unknown field the rows in which a load changed the field."""
    statement = f"""
        select key, count(*) from {_changed(table)}
        cross join lateral jsonb_object_keys(a._extra) as key
        where {_BY_LOAD} and {UNKNOWN_DIFFERS} group by key
    """  # noqa: S608 - our own names
    return dict(_rows(connection, statement, stamp._asdict()))


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


def value(column: Column[Any]) -> str:
    """Return a column's value in SQL, with {} for the table: an empty text is no value, as null."""
    field = f'{{}}."{column.name}"'
    return f"nullif({field}, '')" if isinstance(column.type, Text) else field


def filled(
    connection: Connection, table: Table, values: Mapping[str, str], id_entity: int | None
) -> dict[str, int]:
    """Return per name of `values`, in SQL with {} for the table, the entity's rows with a value."""
    conditions = {name: f"{value.format(table)} is not null" for name, value in values.items()}
    within = "true" if id_entity is None else "_entity = %(id_entity)s"
    statement = f"select {_counts(conditions)} from {table} where {within}"  # noqa: S608 - our own names
    [counts] = _rows(connection, statement, {"id_entity": id_entity})
    return dict(zip(values, counts, strict=True))


_BY_LOAD = "b._superseded_at = %(observed_at)s and a._step_run_id = %(step_run_id)s"


def _changed(table: Table) -> str:
    """Return the join of rows with their former versions."""
    same = " and ".join(f'b."{column.name}" = a."{column.name}"' for column in table.primary_key)
    return f"{superseded(table)} b join {table} a on {same} and a._version = b._version + 1"


def _counts(conditions: Mapping[str, str]) -> str:
    return ", ".join(f"count(*) filter (where {each})" for each in conditions.values())


def _rows(
    connection: Connection, statement: str, given: Mapping[str, object]
) -> list[tuple[Any, ...]]:
    with loads.driver(connection).cursor() as cursor:
        return cursor.execute(statement.encode(), given).fetchall()
