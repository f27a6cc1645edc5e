"""Rows of the warehouse in a form comparable with the service, and the times of their loads."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec
from sqlalchemy import ARRAY, Column, ColumnElement, Connection, any_, case, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB

from bms.records import ClientInvoice, Record
from bms.records.declaration import labels
from bms_flows.audit.compare import Key, StoredRow, digest
from bms_flows.catalog import LOADED_BY
from bms_flows.invoices.lookback import connected_start
from bms_flows.mirror.resource import MirroredResource
from bms_flows.runtime.columns import typed_records
from bms_flows.runtime.windows import Window
from bms_warehouse.tables import (
    CLIENT_INVOICE_FIELDS,
    client_invoice,
    client_invoice_day,
    step_run,
)

CODE_LABELS = tuple(labels(ClientInvoice))
"""Fields with the label of a code in one language."""

INVOICE_COLUMNS = [
    client_invoice.columns[name]
    for name in CLIENT_INVOICE_FIELDS
    if name not in CODE_LABELS and name != "id_entity"
]


def digests(
    records: Sequence[Record], columns: Mapping[str, Column[Any]], zone: str
) -> dict[Key, bytes]:
    """Return digests of the service's records in the warehouse's form, by key.

    `columns` are named by the records' fields. Rows that the warehouse cannot store are omitted: they
    belong in `bms.quarantine`.
    """
    if not records:
        return {}
    framed = typed_records(
        records, [Column(name, each.type) for name, each in columns.items()], zone
    )
    kept = [records[index].key for index in framed.kept]
    rows = framed.rows.select(list(columns)).to_pylist()
    for name in (name for name, column in columns.items() if isinstance(column.type, JSONB)):
        for row in rows:
            row[name] = None if row[name] is None else msgspec.json.decode(row[name])
    return {key: digest(_plain([*row.values()])) for key, row in zip(kept, rows, strict=True)}


def invoices(
    connection: Connection,
    id_entity: int,
    window: Window | None = None,
    keys: Collection[Key] | None = None,
    *,
    range_date: str = ClientInvoice.KEY,
) -> dict[Key, StoredRow]:
    """Return the current invoices of an entity, limited to `window` or `keys`.

    Invoices without a `range_date` are in every window and have no day: the service may list them for
    any days.
    """
    table = client_invoice.c
    day = case((table[range_date].is_not(None), table["_day"]))
    query = select(table["_version"], day, *INVOICE_COLUMNS).where(
        table.id_entity == id_entity, table["_missing_since"].is_(None)
    )
    if window is not None:
        query = query.where(table["_day"].between(window.start, window.end) | day.is_(None))
    if keys is not None:
        query = query.where(_among(table.id_invoice, keys))
    found = connection.execute(query)
    return {
        row.id_invoice: StoredRow(digest(_plain(list(row[2:]))), row[0], row[1]) for row in found
    }


def read_at(connection: Connection, id_entity: int, window: Window) -> dict[date, datetime]:
    """Return the time of the last complete load of each day of `window`."""
    day = client_invoice_day.c
    found = connection.execute(
        select(day.day, day.read_at).where(
            day.id_entity == id_entity, day.day.between(window.start, window.end)
        )
    )
    return {each: at for each, at in found}  # noqa: C416 -- rows, which dict() doesn't take


def busy_rows(connection: Connection, id_entity: int) -> int:
    """Return the number of invoices on a busy day of an entity (90th percentile)."""
    day = client_invoice_day.c
    busy = func.percentile_cont(0.9).within_group(day.invoices)
    return int(connection.scalar(select(busy).where(day.id_entity == id_entity)) or 0)


def history(connection: Connection, id_entity: int) -> Window | None:
    """Return the first to the last loaded day of an entity, None without one.

    Days before a gap of more than `lookback.LONGEST_GAP` days don't count: one mistyped day would make
    the audit compare years without loads.
    """
    day = client_invoice_day.c
    loaded = connection.scalars(select(day.day).where(day.id_entity == id_entity)).all()
    first = connected_start(loaded)
    return Window(first, max(loaded)) if first else None


def mirrored(
    connection: Connection,
    resource: MirroredResource,
    id_entity: int,
    keys: Collection[Key] | None = None,
) -> dict[Key, StoredRow]:
    """Return the list columns of a mirror's rows as digests, all rows of the list or those of `keys`.

    `id_entity` is 0 if the mirror's list is not per entity. A row of `keys` may belong to another
    entity, whose list contains the row too.
    """
    table = resource.table
    unlisted = case((table.c["_list_hash"].is_(None), "unlisted"))
    query = select(
        table.c[resource.key],
        table.c["_version"],
        func.coalesce(table.c["_removal_reason"], unlisted),
        *resource.listed.values(),
    )
    if id_entity and keys is None:
        query = query.where(table.c["_entity"] == id_entity)
    if keys is not None:
        query = query.where(_among(table.c[resource.key], keys))
    return {
        row[0]: StoredRow(digest(_plain(list(row[3:]))), row[1], gone=row[2])
        for row in connection.execute(query)
    }


def mirrored_at(
    connection: Connection, resource: MirroredResource, id_entity: int
) -> datetime | None:
    """Return the start of the last complete run that read the whole list, None without one."""
    whole = func.coalesce(step_run.c.details["whole"].as_boolean(), True)
    begun = select(func.max(step_run.c.started_at)).where(
        step_run.c.flow == LOADED_BY[resource.name].dag_id, step_run.c.state == "complete", whole
    )
    if id_entity:
        begun = begun.where(step_run.c.id_entity == id_entity)
    moment: datetime | None = connection.scalar(begun)
    return moment


def _among(column: Column[Any], keys: Collection[Key]) -> ColumnElement[bool]:
    """Return the condition that a row's key is one of `keys`; keys of another type never match."""
    fitting = [key for key in keys if isinstance(key, column.type.python_type)]
    return column == any_(literal(fitting, ARRAY(column.type)))


def _plain(values: list[Any]) -> list[Any]:
    """Return values in canonical form: 12.50 and 12.5 are the same amount."""
    return [
        f"{value.normalize():f}"
        if isinstance(value, Decimal)
        else value.timestamp()
        if isinstance(value, datetime)
        else value
        for value in values
    ]
