"""Loads: columns go into a temporary table by COPY, and from there into a resource by one merge.

The functions are given a connection and leave the transaction to their caller, so that data,
versions and watermark are committed together or not at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from typing import cast

import psycopg
import pyarrow as pa
from pyarrow import csv
from sqlalchemy import Connection, Table, text

from bms_warehouse.errors import WarehouseError

UNIQUE_VIOLATION = "23505"

_CSV = csv.WriteOptions(include_header=False)


@dataclass(frozen=True)
class Merged:
    """What a merge did: rows written for the first time, rows written anew, and rows left alone."""

    inserted: int
    changed: int
    unchanged: int


@dataclass(frozen=True)
class Sheet:
    """Rows written out as COPY reads them; no part of it needs the database or its connection."""

    columns: Sequence[str]
    rows: int
    csv: bytes = field(repr=False)


def driver(connection: Connection) -> psycopg.Connection:
    """Return psycopg's connection behind SQLAlchemy's, for COPY and arrays."""
    return cast("psycopg.Connection", connection.connection.driver_connection)


def staging_name(table: Table) -> str:
    """Return the name of the session's temporary table that feeds `table`."""
    return f"{table.name}_staging"


def create_staging(connection: Connection, table: Table) -> None:
    """Make the session's empty staging table for `table`: its columns, none of its constraints."""
    name = staging_name(table)
    connection.execute(text(f"drop table if exists pg_temp.{name}"))
    connection.execute(text(f"create temporary table {name} as select * from {table} limit 0"))


def empty_staging(connection: Connection, table: Table) -> None:
    """Empty the session's staging table for `table`, for the next batch."""
    connection.execute(text(f"truncate pg_temp.{staging_name(table)}"))


def sheet(rows: pa.Table) -> Sheet:
    """Write `rows` out; moments are UTC, columns of bytes in PostgreSQL's hexadecimal form."""
    for place, column in enumerate(rows.schema):
        cells = rows.column(place)
        if pa.types.is_timestamp(column.type):
            # As the session's are: writing the zone takes most of the time.
            plain = cells.cast(pa.timestamp(column.type.unit))
        elif pa.types.is_binary(column.type):
            values = cells.to_pylist()
            plain = pa.array([None if v is None else "\\x" + v.hex() for v in values], pa.string())
        else:
            continue
        rows = rows.set_column(place, column.name, plain)
    buffer = BytesIO()
    csv.write_csv(rows, buffer, _CSV)
    return Sheet(rows.column_names, rows.num_rows, buffer.getvalue())


def stage(connection: Connection, table: Table, rows: Sheet) -> None:
    """COPY `rows` into the staging table; their columns are a subset of the table's, by name."""
    if not rows.rows:
        return
    names = ", ".join(f'"{name}"' for name in rows.columns)
    statement = f"copy pg_temp.{staging_name(table)} ({names}) from stdin (format csv)"
    with driver(connection).cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.write(rows.csv)


def stored_hashes(
    connection: Connection, table: Table, *, where: str, given: Mapping[str, object]
) -> dict[int, bytes]:
    """Return the row hashes that stand in `table`, by the last column of its key.

    `where` is an SQL condition with `%(name)s` for what is `given`.
    """
    key = list(table.primary_key)[-1].name
    statement = f'select "{key}", _row_hash from {table} where {where}'
    with driver(connection).cursor(binary=True) as cursor:
        return dict(cursor.execute(statement.encode(), given).fetchall())


def merge(
    connection: Connection,
    table: Table,
    versions: Table,
    *,
    step_run_id: int,
    observed_at: datetime,
) -> Merged:
    """Merge the staging table into `table`, and keep every row written as a version.

    A row is written when it is new, when its hash differs, or when it was marked as missing.
    Columns outside the hash follow when a row is written, and cause no writing.
    """
    staging = f"pg_temp.{staging_name(table)}"
    connection.execute(text("set local work_mem = '64MB'"))  # rows returned are held without a file
    key = [column.name for column in table.primary_key]
    own = ("_version", "_first_seen_at", "_changed_at", "_step_run_id", "_missing_since")
    carried = [column.name for column in table.columns if column.name not in own]
    may_be_missing = "_missing_since" in table.columns
    on = " and ".join(f't."{name}" = s."{name}"' for name in key)
    differs = "t._row_hash is distinct from s._row_hash" + (
        " or t._missing_since is not null" if may_be_missing else ""
    )
    columns = ", ".join(f'"{name}"' for name in carried)
    values = ", ".join(_value(table, name) for name in carried)
    updates = ", ".join(f'"{n}" = {_value(table, n)}' for n in carried if n not in key)
    every = ", ".join(f'"{column.name}"' for column in table.columns)
    given = {"observed_at": observed_at, "step_run_id": step_run_id}

    def write(statement: str) -> int:
        """Execute a statement that returns the rows it wrote; keep them as versions."""
        kept = f"""
            with written as ({statement} returning t.*)
            insert into {versions} ({every}, _observed_at) select {every}, _changed_at from written
        """
        return connection.execute(text(kept), given).rowcount

    def insert(version: str) -> int:
        """Insert the rows that are new, with `version`, an SQL expression, as their version."""
        return write(
            f"""
            insert into {table} as t ({columns}, _version, _first_seen_at, _changed_at, _step_run_id)
            select {values}, {version}, :observed_at, :observed_at, :step_run_id from {staging} s
            on conflict do nothing
            """
        )

    try:
        with connection.begin_nested():
            inserted = insert("1")
    except WarehouseError as error:
        if error.sqlstate != UNIQUE_VIOLATION:
            raise
        # Versions without a current row: it was deleted by hand, or a restore left it out.
        of_row = " and ".join(f'v."{name}" = s."{name}"' for name in key)
        latest = f"select coalesce(max(v._version), 0) + 1 from {versions} v where {of_row}"
        inserted = insert(f"({latest})")
    staged = connection.execute(text(f"select count(*) from {staging}")).scalar_one()
    changed = 0
    if inserted < staged:
        # The planner knows nothing of a temporary table until told; a year's load would crawl.
        # Of its key alone: to look at all columns takes longer than to write them.
        connection.execute(text(f"analyze {staging} ({', '.join(key)})"))
        changed = write(
            f"""
            update {table} t set {updates}, _version = t._version + 1, _changed_at = :observed_at,
                _step_run_id = :step_run_id{", _missing_since = null" if may_be_missing else ""}
            from {staging} s where {on} and ({differs})
            """
        )
    return Merged(inserted, changed, staged - inserted - changed)


def mark_missing(
    connection: Connection,
    table: Table,
    versions: Table,
    *,
    where: str,
    given: Mapping[str, object],
    step_run_id: int,
    observed_at: datetime,
) -> int:
    """Mark rows as no longer returned and keep that as a version of each; return how many.

    `where` is an SQL condition with `%(name)s` for what is `given`. Nothing is deleted, rows
    already marked are left as they are.
    """
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    statement = f"""
        with marked as (
            update {table} set _missing_since = %(observed_at)s, _version = _version + 1,
                _changed_at = %(observed_at)s, _step_run_id = %(step_run_id)s
            where ({where}) and _missing_since is null
            returning *
        )
        insert into {versions} ({columns}, _observed_at) select {columns}, _changed_at from marked
        """
    with driver(connection).cursor() as cursor:
        cursor.execute(
            statement.encode(), {**given, "observed_at": observed_at, "step_run_id": step_run_id}
        )
        return cursor.rowcount


def _value(table: Table, name: str) -> str:
    # Arrow's decimals have a fixed scale; an amount is stored as sent, 12.5 and not 12.500000000.
    return (
        f'trim_scale(s."{name}")' if str(table.columns[name].type) == "NUMERIC" else f's."{name}"'
    )
