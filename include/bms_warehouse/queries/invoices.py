"""Queries for single invoices."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Any

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


OF_OTHERS = b"""
    select i.id_invoice, i.reference_number, i.id_client, i.total_incl_vat
    from (select distinct id_entity from bms.client_invoice_day) as e
    join bms.client_invoice i on i.id_entity = e.id_entity and i.id_invoice = any(%(ids)s)
    where e.id_entity <> %(id_entity)s
"""


def of_other_entities(
    connection: Connection, ids: Sequence[int], id_entity: int
) -> set[tuple[Any, ...]]:
    """Return identifier, reference, client and amount of other entities' invoices with these ids."""
    given = {"ids": [*ids], "id_entity": id_entity}
    with loads.driver(connection).cursor() as cursor:
        return {*cursor.execute(OF_OTHERS, given)}
