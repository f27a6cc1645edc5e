"""Closing of pending differences that a later load has resolved; needs no request."""

from collections.abc import Iterable

from sqlalchemy import Connection

from bms_flows.audit import store, warehouse
from bms_flows.audit.compare import Key, still_open
from bms_flows.audit.parts import Part
from bms_flows.audit.store import INVOICES
from bms_flows.mirror.resource import MirroredResource
from bms_flows.runtime import quarantine


def close_resolved_days(connection: Connection, id_entity: int) -> None:
    """Close resolved differences of an entity's pending days, within the caller's transaction."""
    days = store.open_days(connection, id_entity)
    keys = _keys(days.values())
    held = warehouse.invoices(connection, id_entity, keys=keys)
    quarantined = quarantine.quarantined_keys(
        connection, keys, resource=INVOICES, id_entity=id_entity
    )
    for day, part in days.items():
        left = still_open(part.rows, held, quarantined)
        store.update_open_rows(connection, INVOICES, id_entity, part, left, day)


def close_resolved_parts(
    connection: Connection, resource: MirroredResource, id_entity: int
) -> None:
    """Close resolved differences of a list's pending parts, within the caller's transaction."""
    parts = store.parts(connection, resource.name, id_entity)
    keys = _keys(parts)
    held = warehouse.mirrored(connection, resource, id_entity, keys)
    quarantined = quarantine.quarantined_keys(
        connection, keys, resource=resource.name, id_entity=id_entity
    )
    for part in parts:
        left = still_open(part.rows, held, quarantined)
        store.update_open_rows(connection, resource.name, id_entity, part, left)


def _keys(parts: Iterable[Part]) -> set[Key]:
    return {key for part in parts for rows in part.rows.values() for key in rows}
