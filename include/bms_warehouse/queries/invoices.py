"""Queries for single invoices."""

from collections.abc import Collection, Sequence
from datetime import date, datetime

from sqlalchemy import Connection

from bms_warehouse import loads

CHANGED_SINCE = b"""
    select i.id_invoice from bms.client_invoice i
    left join bms.client_invoice_day d on d.id_entity = i.id_entity and d.day = i._day
    left join bms.step_run r on r.id = i._step_run_id
    where i.id_entity = %(id_entity)s and i.id_invoice = any(%(ids)s) and (
        coalesce(cast(r.details->>'read_at' as timestamptz), i._changed_at) > %(since)s
        or (i._missing_since is null and d.read_at > %(since)s)
    )
"""


def changed_since(
    connection: Connection, id_entity: int, ids: Sequence[int], since: datetime
) -> set[int]:
    """Return the invoices that a load observed whose read began after `since`.

    The load wrote the row, or read the row's day and found the invoice there.
    """
    given = {"id_entity": id_entity, "ids": [*ids], "since": since}
    with loads.driver(connection).cursor() as cursor:
        return {key for (key,) in cursor.execute(CHANGED_SINCE, given)}


DAYS_OF = b"""
    select _day, count(*) from bms.client_invoice
    where id_entity = %(id_entity)s and id_invoice = any(%(ids)s) and _day is not null group by 1
"""


def days_of(connection: Connection, id_entity: int, ids: Collection[int]) -> dict[date, int]:
    """Return the number of these invoices on each day."""
    given = {"id_entity": id_entity, "ids": [*ids]}
    with loads.driver(connection).cursor() as cursor:
        return dict(cursor.execute(DAYS_OF, given).fetchall())


IN_OTHERS = b"""
    with e as materialized (
        select distinct id_entity from bms.client_invoice_day where id_entity <> %(id_entity)s
    )
    select count(distinct i.id_invoice) from e
    join bms.client_invoice o on o.id_entity = e.id_entity and o.id_invoice = any(%(ids)s)
    join bms.client_invoice i on i.id_entity = %(id_entity)s and i.id_invoice = o.id_invoice
        and (i.reference_number, i.id_client, i.total_incl_vat)
            is not distinct from (o.reference_number, o.id_client, o.total_incl_vat)
"""


def in_other_entities(connection: Connection, ids: Sequence[int], id_entity: int) -> int:
    """Return how many of these invoices another entity has with the same reference, client and amount.

    These are equal in two entities only if one of them got the other's response.
    """
    given = {"ids": [*ids], "id_entity": id_entity}
    with loads.driver(connection).cursor() as cursor:
        [(found,)] = cursor.execute(IN_OTHERS, given).fetchall()
    return int(found)


STORED_ROWS = b"""
    select _day, string_agg(int8send(id_invoice) || _row_hash, '' order by id_invoice)
    from bms.client_invoice
    where id_entity = %(id_entity)s and _missing_since is null
        and _day between %(start)s and %(end)s
    group by _day
"""


def stored_rows(
    connection: Connection, id_entity: int, start: date, end: date
) -> dict[date, bytes]:
    """Return each day's invoices in order: eight bytes of the id, then the row hash."""
    given = {"id_entity": id_entity, "start": start, "end": end}
    with loads.driver(connection).cursor(binary=True) as cursor:
        return dict(cursor.execute(STORED_ROWS, given).fetchall())
