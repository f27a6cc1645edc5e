"""Pending differences that a later load has settled: seen in the warehouse, without a request."""

from collections.abc import Iterable

from sqlalchemy import Connection

from bms_flows.audit import store, warehouse
from bms_flows.audit.compare import Key, settled
from bms_flows.audit.parts import Part
from bms_flows.audit.store import INVOICES
from bms_flows.mirror.resource import Resource
from bms_flows.runtime import quarantine


def settle_days(connection: Connection, id_entity: int) -> None:
    """Close what loads have settled of an entity's pending days, within the caller's transaction."""
    days = store.open_days(connection, id_entity)
    keys = _keys(days.values())
    held = warehouse.invoices(connection, id_entity, keys=keys)
    unfit = quarantine.quarantined_keys(connection, keys, resource=INVOICES, id_entity=id_entity)
    for day, part in days.items():
        left = settled(part.rows, held, unfit)
        store.renew(connection, INVOICES, id_entity, part, left, day)


def settle_parts(connection: Connection, resource: Resource, id_entity: int) -> None:
    """Close what runs of the mirror have settled of a list's pending parts, likewise."""
    parts = store.parts(connection, resource.name, id_entity)
    keys = _keys(parts)
    held = warehouse.mirrored(connection, resource, id_entity, keys)
    unfit = quarantine.quarantined_keys(
        connection, keys, resource=resource.name, id_entity=id_entity
    )
    for part in parts:
        left = settled(part.rows, held, unfit)
        store.renew(connection, resource.name, id_entity, part, left)


def _keys(parts: Iterable[Part]) -> set[Key]:
    return {key for part in parts for rows in part.rows.values() for key in rows}
