"""Staging helpers of mirrors: rows without detail, and missing rows.

`_row_hash` of a mirrored row is 16 bytes for the list item, 16 bytes for the detail, and one more
byte if the row is missing, so a row that returns has another hash.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, Table, text

from bms_warehouse.history import Stamp, supersede
from bms_warehouse.loads import driver, staging_name

MISSING = r"'\x00'::bytea"

LISTED = 16
"""Length of the part of `_row_hash` for the list item."""

DETAILED = 32
"""Length of `_row_hash` from which a row contains a detail, possibly an outdated one."""


def unstage(
    connection: Connection, table: Table, keys: Sequence[int | str]
) -> dict[int | str, bytes]:
    """Delete rows from the staging table; return the hashes of their list items."""
    key = next(iter(table.primary_key)).name
    statement = (
        f'delete from pg_temp.{staging_name(table)} where "{key}" = any(%(keys)s)'  # noqa: S608 - our own names
        f' returning "{key}", substring(_row_hash for {LISTED})'
    )
    with driver(connection).cursor(binary=True) as cursor:
        return dict(cursor.execute(statement.encode(), {"keys": list(keys)}).fetchall())


def leave_to_others(connection: Connection, table: Table, scope: str) -> None:
    """Unstage detail-only rows that a list of another scope has claimed since.

    `scope` is the column with the scope of the list. The other list takes precedence.
    """
    key = next(iter(table.primary_key)).name
    connection.execute(
        text(
            f"""
            delete from pg_temp.{staging_name(table)} s using {table} t
            where t."{key}" = s."{key}" and s._list_hash is null and t."{scope}" <> s."{scope}"
            """  # noqa: S608 - our own names
        )
    )


def complete_staged(connection: Connection, table: Table, only_read: Sequence[str]) -> None:
    """Copy the stored detail fields (`only_read`) into staged rows without a detail.

    `_detailed` stays false, so a later run reads their details.
    """
    key = next(iter(table.primary_key)).name
    columns = "".join(f'"{name}" = t."{name}", ' for name in only_read)
    connection.execute(
        text(
            f"""
            update pg_temp.{staging_name(table)} s set {columns}
                _extra = coalesce(t._extra || s._extra, t._extra, s._extra),
                _row_hash = s._row_hash || substring(t._row_hash from 17 for 16)
            from {table} t where t."{key}" = s."{key}" and not s._detailed
                and octet_length(t._row_hash) >= {DETAILED}
            """  # noqa: S608 - our own names
        )
    )


def leave_unread(connection: Connection, table: Table, keys: Sequence[int | str]) -> None:
    """Mark staged and stored rows whose detail could not be loaded, so a later run reads the detail."""
    key = next(iter(table.primary_key)).name
    with driver(connection).cursor() as cursor:
        for name in (f"pg_temp.{staging_name(table)}", table):
            statement = (
                f'update {name} set _detailed = false where "{key}" = any(%(keys)s) and _detailed'  # noqa: S608 - our own names
            )
            cursor.execute(statement.encode(), {"keys": list(keys)})


def follow(connection: Connection, table: Table) -> None:
    """Store the list hash of each staged row without a new version of the row."""
    key = next(iter(table.primary_key)).name
    connection.execute(
        text(
            f"""
            update {table} t set _list_hash = s._list_hash, _detailed = s._detailed
            from pg_temp.{staging_name(table)} s where t."{key}" = s."{key}"
                and (t._list_hash, t._detailed) is distinct from (s._list_hash, s._detailed)
            """  # noqa: S608 - our own names
        )
    )


def private_changes(connection: Connection, table: Table, private: Table, stamp: Stamp) -> int:
    """Return the number of rows of which a load wrote only the private columns."""
    key = next(iter(table.primary_key)).name
    written = text(
        f'select count(*) from {private} p join {table} t using ("{key}") '  # noqa: S608 - our own names
        "where p._step_run_id = :step_run_id and t._step_run_id <> :step_run_id"
    )
    return connection.scalar(written, {"step_run_id": stamp.step_run_id}) or 0


def mark_missing(
    connection: Connection, table: Table, keys: Sequence[int | str], stamp: Stamp
) -> int:
    """Mark rows as missing, and return their number."""
    key = next(iter(table.primary_key)).name
    with driver(connection).cursor() as cursor:
        return supersede(
            cursor,
            table,
            stamp,
            where=f't."{key}" = any(%(keys)s) and t._removal_reason is null',
            changes="deleted = true, _removal_reason = 'missing', "
            f"_row_hash = t._row_hash || {MISSING}",
            given={"keys": [*keys]},
        )
