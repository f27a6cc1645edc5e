"""Queries for single invoices."""

from collections.abc import Sequence
from datetime import datetime

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
