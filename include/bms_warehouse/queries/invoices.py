"""Queries for single invoices."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection

from bms_warehouse import loads
from bms_warehouse.queries.sql import fetch, statements

SQL = statements("invoices")


def changed_since(
    connection: Connection, id_entity: int, ids: Sequence[int], since: datetime
) -> set[int]:
    """Return the invoices that a load observed whose read began after `since`.

    The load wrote the row, or read the row's day and found the invoice there.
    """
    given = {"id_entity": id_entity, "ids": [*ids], "since": since}
    return {*connection.scalars(SQL["changed_since"], given)}


def days_of(connection: Connection, id_entity: int, ids: Collection[int]) -> dict[date, int]:
    """Return the number of these invoices on each day."""
    found = fetch(connection, SQL["days_of"], id_entity=id_entity, ids=[*ids])
    return {each["day"]: each["invoices"] for each in found}


def last_read_before_acceptance(
    connection: Connection, id_entity: int, days: Collection[date]
) -> dict[str, list[date]]:
    """Return by measure which of `days` no load has read since an operator accepted the measure."""
    found = fetch(connection, SQL["last_read_before_acceptance"], id_entity=id_entity, days=[*days])
    return {each["measure"]: each["days"] for each in found}


def in_other_entities(connection: Connection, ids: Sequence[int], id_entity: int) -> int:
    """Return how many of these invoices another entity has with the same reference, client and amount.

    These are equal in two entities only if one of them got the other's response.
    """
    given = {"ids": [*ids], "id_entity": id_entity}
    return int(connection.scalar(SQL["in_other_entities"], given) or 0)


def fields_of(
    connection: Connection, id_entity: int, ids: Collection[int], fields: Iterable[str]
) -> list[tuple[Any, ...]]:
    """Return fields of these invoices, which are SQL expressions."""
    statement = (
        f"select {', '.join(fields)} from unnest(%(ids)s::bigint[]) id, "  # noqa: S608 - our own names
        # Before its first analyze, PostgreSQL would read all rows of the entity; the offset keeps the key's index.
        "lateral (select * from bms.client_invoice where id_entity = %(id_entity)s and id_invoice = id offset 0) i"
    )
    given = {"id_entity": id_entity, "ids": [*ids]}
    with loads.driver(connection).cursor() as cursor:
        return cursor.execute(statement.encode(), given).fetchall()


STORED_ROWS = b"""
    select _day, string_agg(int8send(id_invoice) || case when length(_row_hash) = 16
        then _row_hash else decode(repeat('00', 16), 'hex') end, '')
    from bms.client_invoice
    where id_entity = %(id_entity)s and _missing_since is null
        and _day between %(start)s and %(end)s
    group by _day
"""


def stored_rows(
    connection: Connection, id_entity: int, start: date, end: date
) -> dict[date, bytes]:
    """Return each day's invoices in any order: eight bytes of the id, then the 16 of the row hash."""
    given = {"id_entity": id_entity, "start": start, "end": end}
    with loads.driver(connection).cursor(binary=True) as cursor:
        return dict(cursor.execute(STORED_ROWS, given).fetchall())
