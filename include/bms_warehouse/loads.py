"""Bulk loads: COPY of new rows into the resource's table, or into a staging table and one merge.

The caller owns the connection and its transaction, so rows, superseded rows and watermark are
committed together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import cast

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from sqlalchemy import Connection, Table, text

from bms_warehouse.errors import WarehouseError
from bms_warehouse.history import Stamp, supersede

UNIQUE_VIOLATION = "23505"
CENTS = 2
"""Decimals of most amounts."""

_CSV = csv.WriteOptions(include_header=False)


@dataclass(frozen=True)
class Merged:
    """Row counts of a merge."""

    inserted: int
    changed: int
    unchanged: int


@dataclass(frozen=True)
class CopyBuffer:
    """Rows as CSV for COPY; building the buffer needs no database connection."""

    columns: Sequence[str]
    rows: int
    csv: bytes = field(repr=False)
    """Values in the form in which they are stored: amounts as 12.5, not as 12.500000000."""
    new: bool = False
    """Whether the warehouse held none of the rows when they were compared."""


def driver(connection: Connection) -> psycopg.Connection:
    """Return the psycopg connection of a SQLAlchemy connection, for COPY and arrays."""
    return cast("psycopg.Connection", connection.connection.driver_connection)


def staging_name(table: Table) -> str:
    """Return the name of the session's staging table for `table`."""
    return f"{table.name}_staging"


def create_staging(connection: Connection, table: Table) -> None:
    """Create the session's empty staging table: the columns of `table` without its constraints."""
    name = staging_name(table)
    connection.execute(text(f"drop table if exists pg_temp.{name}"))
    connection.execute(text(f"create temporary table {name} as select * from {table} limit 0"))


def empty_staging(connection: Connection, table: Table) -> None:
    """Empty the session's staging table for `table` before the next batch."""
    connection.execute(text(f"truncate pg_temp.{staging_name(table)}"))


def copy_buffer(rows: pa.Table, *, new: bool = False) -> CopyBuffer:
    """Return `rows` as CSV: times as UTC without zone, bytes in PostgreSQL's hexadecimal format."""
    for position, column in enumerate(rows.schema):
        cells = rows.column(position)
        if pa.types.is_timestamp(column.type):
            # The session's zone is UTC, and formatting zones would dominate the run time.
            plain = cells.cast(pa.timestamp(column.type.unit))
        elif pa.types.is_binary(column.type):
            plain = _hexadecimal(cells)
        elif pa.types.is_decimal(column.type):
            plain = _without_padding(cells)
        else:
            continue
        rows = rows.set_column(position, column.name, plain)
    buffer = BytesIO()
    csv.write_csv(rows, buffer, _CSV)
    return CopyBuffer(rows.column_names, rows.num_rows, buffer.getvalue(), new)


def _hexadecimal(cells: pa.ChunkedArray) -> pa.Array:
    r"""Return bytes as text in PostgreSQL's hexadecimal format: \x00ff."""
    array = pa.concat_arrays([pa.array([], cells.type), *cells.chunks])  # copies, so no offset
    _, ends, content = array.buffers()
    digits = content.to_pybytes().hex().encode() if content else b""
    doubled = 2 * np.frombuffer(ends, np.int32)[: len(array) + 1]
    buffers = [None, pa.py_buffer(doubled), pa.py_buffer(digits)]
    texts = pa.Array.from_buffers(pa.string(), len(array), buffers)
    joined = pc.binary_join_element_wise("\\x", texts, "")
    return pc.if_else(array.is_valid(), joined, pa.scalar(None, pa.string()))


def _without_padding(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return amounts as text without the zeros with which Arrow pads them: 12.5, 0, 100."""
    if cells.type.scale > CENTS:
        try:  # shorter texts take less time
            cells = cells.cast(pa.decimal128(cells.type.precision, CENTS))
        except pa.ArrowInvalid:  # an amount has more decimals
            return _without_padding_of_any_scale(cells)
    digits = cells.cast(pa.string())
    if cells.type.scale <= 0:
        return digits
    return pc.ascii_rtrim(pc.ascii_rtrim(digits, "0"), ".")


def _without_padding_of_any_scale(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    zero = pc.equal(cells, pa.scalar(0, cells.type))
    digits = pc.if_else(zero, "0", cells.cast(pa.string()))
    if pc.any(pc.match_substring(digits, "E")).as_py():  # Arrow writes 0.0000001 as 1.00E-7
        values = [v if v is None else f"{v:f}".rstrip("0").rstrip(".") for v in cells.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
    return pc.if_else(zero, digits, pc.ascii_rtrim(pc.ascii_rtrim(digits, "0"), "."))


def stage(connection: Connection, table: Table, rows: CopyBuffer) -> None:
    """COPY `rows` into the staging table; their columns are a subset of its columns."""
    if rows.rows:
        _copy(connection, f"pg_temp.{staging_name(table)}", rows)


def append(
    connection: Connection, table: Table, buffers: Iterable[CopyBuffer], stamp: Stamp
) -> bool:
    """COPY new rows into `table` as version 1; if a key exists, write nothing and return False.

    The table's columns `_first_seen_at`, `_changed_at` and `_step_run_id` have defaults from the
    transaction's settings.
    """
    set_local = text("select set_config(:name, :value, true)")
    try:
        with connection.begin_nested():
            for name, value in stamp._asdict().items():
                connection.execute(set_local, {"name": f"bms.{name}", "value": str(value)})
            for rows in buffers:
                _copy(connection, str(table), rows)
    except WarehouseError as error:
        if error.sqlstate != UNIQUE_VIOLATION:
            raise
        return False
    return True


def _copy(connection: Connection, target: str, rows: CopyBuffer) -> None:
    names = ", ".join(map(_quoted, rows.columns))
    statement = f"copy {target} ({names}) from stdin (format csv)"
    with driver(connection).cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.write(rows.csv)


def stored_hashes(
    connection: Connection, table: Table, *, where: str, given: Mapping[str, object]
) -> dict[int, bytes]:
    """Return the row hashes of `table`, by the last column of its key.

    `where` is an SQL condition; `given` binds its `%(name)s` parameters.
    """
    key = list(table.primary_key)[-1].name
    statement = f'select "{key}", _row_hash from {table} where {where}'
    with driver(connection).cursor(binary=True) as cursor:
        return dict(cursor.execute(statement.encode(), given).fetchall())


def merge(connection: Connection, table: Table, stamp: Stamp) -> Merged:
    """Merge the staging table into `table`; a changed row's earlier version becomes superseded.

    A row is written if the row is new, has another hash, or was marked as missing.
    A change of columns outside the hash alone does not write a row. A row that another load changed
    as of a time after that of `stamp` counts as unchanged, unless it is missing: a listed row exists.
    """
    staging = f"pg_temp.{staging_name(table)}"
    with driver(connection).cursor() as cursor:
        cursor.execute(b"set local work_mem = '64MB'")  # keeps the superseded rows in memory
        inserted = _insert_new(cursor, table, staging, stamp)
        [(staged,)] = cursor.execute(f"select count(*) from {staging}".encode()).fetchall()
        changed = 0
        if inserted < staged:
            changed = _update_changed(cursor, table, staging, stamp)
    return Merged(inserted, changed, staged - inserted - changed)


def mark_missing(
    connection: Connection,
    table: Table,
    stamp: Stamp,
    *,
    where: str,
    given: Mapping[str, object],
) -> int:
    """Mark rows as missing, and return their number.

    `where` is an SQL condition of the rows, named `t`; `given` binds its `%(name)s` parameters. Rows
    marked before stay unchanged.
    """
    with driver(connection).cursor() as cursor:
        return supersede(
            cursor,
            table,
            stamp,
            where=f"({where}) and t._missing_since is null",
            changes="_missing_since = %(observed_at)s",
            given=given,
        )


def _insert_new(cursor: psycopg.Cursor, table: Table, staging: str, stamp: Stamp) -> int:
    """Insert the staged rows whose key is new, and return their number."""
    names = _carried(table)
    cursor.execute(
        f"""
        insert into {table} (
            {", ".join(map(_quoted, names))}, _version, _first_seen_at, _changed_at, _step_run_id
        )
        select {", ".join(f"s.{_quoted(name)}" for name in names)},
            1, %(observed_at)s, %(observed_at)s, %(step_run_id)s
        from {staging} s
        on conflict do nothing
        """.encode(),
        stamp._asdict(),
    )
    return cursor.rowcount


def _update_changed(cursor: psycopg.Cursor, table: Table, staging: str, stamp: Stamp) -> int:
    """Update the rows that differ from their staged row, and return their number."""
    key = [column.name for column in table.primary_key]
    # Autovacuum never analyzes temporary tables; without statistics a large update is slow.
    # Analyzing all columns would take longer than writing them.
    cursor.execute(f"analyze {staging} ({', '.join(map(_quoted, key))})".encode())
    # A time in the future was written before the database's clock went back; it is not newer.
    newer = "t._changed_at > %(observed_at)s and t._changed_at <= clock_timestamp()"
    where = f"(t._row_hash is distinct from s._row_hash and not ({newer}))"
    changes = [f"{_quoted(n)} = s.{_quoted(n)}" for n in _carried(table) if n not in key]
    if "_missing_since" in table.columns:
        where += " or t._missing_since is not null"
        changes.append("_missing_since = null")
    assigned = ", ".join(changes)
    return supersede(cursor, table, stamp, where=where, changes=assigned, joined=staging)


def _carried(table: Table) -> list[str]:
    """Return the columns whose values come from the staged rows."""
    own = ("_version", "_first_seen_at", "_changed_at", "_step_run_id", "_missing_since")
    return [column.name for column in table.columns if column.name not in own]


def _quoted(name: str) -> str:
    return f'"{name}"'
