"""Changes of rows: the earlier version of a row moves to the table of superseded rows."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import psycopg
from sqlalchemy import Table

from bms_warehouse.tables.history import superseded


class Stamp(NamedTuple):
    """What a row records of the load that wrote it: step run, and observation time."""

    step_run_id: int
    observed_at: datetime


def supersede(
    cursor: psycopg.Cursor,
    table: Table,
    stamp: Stamp,
    *,
    where: str,
    changes: str,
    joined: str = "",
    given: Mapping[str, object] | None = None,
) -> int:
    """Store the current version of rows as superseded, change the rows, and return their number.

    `where` is an SQL condition of the rows, named `t`; `given` binds its `%(name)s` parameters.
    `changes` are SQL assignments; they may use a table `joined` by the key, named `s`. The rows are
    locked first, so the stored version is the one that the change replaces, also if another
    transaction changed the row meanwhile. A version never ends before it was observed: a later
    time than that of `stamp` stays.
    """
    key = [f'"{column.name}"' for column in table.primary_key]
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    join = f"join {joined} s using ({', '.join(key)})" if joined else ""
    cursor.execute(
        f"""
        with earlier as (
            select t.* from {table} t {join} where {where} for update of t
        ), stored as (
            insert into {superseded(table)} ({columns}, _superseded_at)
            select {columns}, greatest(%(observed_at)s, _changed_at) from earlier
        )
        update {table} t set {changes}, _version = t._version + 1,
            _changed_at = greatest(%(observed_at)s, t._changed_at), _step_run_id = %(step_run_id)s
        from earlier e {join} where {" and ".join(f"t.{name} = e.{name}" for name in key)}
        """.encode(),  # noqa: S608 - our own names
        {**(given or {}), **stamp._asdict()},
    )
    return cursor.rowcount
