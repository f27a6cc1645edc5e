"""Publishing a load: rows, versions, watermark, quarantine and totals, in one transaction."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, text
from sqlalchemy.dialects.postgresql import insert

from bms_flows import quarantine, runs
from bms_flows.invoices.load import NAMES, Load
from bms_flows.invoices.plan import Unit
from bms_warehouse import loads
from bms_warehouse.tables import (
    client_invoice,
    client_invoice_day,
    client_invoice_version,
    code_name,
)

RESOURCE = client_invoice.name
"""The resource by its table's name, as quarantine, files and names of codes know it."""


class NotBalanced(RuntimeError):
    """Rows read and rows accounted for differ: another writer was at work; nothing was published."""


@dataclass(frozen=True)
class Languages:
    """The language a load was read in, and the one that stands beside the rows."""

    read: str
    shown: str


def publish(
    connection: Connection, load: Load, unit: Unit, run_id: int, names: Languages, at: datetime
) -> None:
    """Write all of `load` within the caller's transaction, seen at `at`, and count what it did."""
    _name_codes(connection, load, names, at)
    merged = loads.merge(
        connection, client_invoice, client_invoice_version, run_id=run_id, observed_at=at
    )
    load.counts.inserted, load.counts.changed = merged.inserted, merged.changed
    load.counts.unchanged += merged.unchanged
    if not load.counts.balanced:
        raise NotBalanced(f"entity {unit.id_entity}, {unit.span}: {load.counts}")
    load.counts.vanished = loads.mark_vanished(
        connection,
        client_invoice,
        client_invoice_version,
        where="id_entity = %(id_entity)s and id_invoice = any(%(ids)s)",
        given={"id_entity": unit.id_entity, "ids": load.vanished},
        run_id=run_id,
        observed_at=at,
    )
    _mark_days(connection, load, unit, run_id, at)
    quarantine.set_aside(
        connection, load.bad, resource=RESOURCE, id_entity=unit.id_entity, run_id=run_id, at=at
    )
    for window in unit.windows:
        quarantine.release(
            connection,
            resource=RESOURCE,
            id_entity=unit.id_entity,
            days=(window.start, window.end),
            run_id=run_id,
        )
    runs.keep_totals(connection, run_id, unit.id_entity, load.tally.totals)


def _name_codes(connection: Connection, load: Load, names: Languages, at: datetime) -> None:
    """Keep the names of codes in their language; beside the rows stands the language shown."""
    if load.names:
        statement = insert(code_name)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[column.name for column in code_name.primary_key],
                set_={"name": statement.excluded.name, "seen_at": at},
                where=code_name.c.name != statement.excluded.name,
            ),
            [
                {
                    "resource": RESOURCE,
                    "field": field,
                    "code": code,
                    "language": names.read,
                    "name": name,
                    "seen_at": at,
                }
                for field, code, name in sorted(load.names)
            ],
        )
    if names.read == names.shown:
        return
    for name, code in NAMES.items():
        connection.execute(
            text(
                f"update pg_temp.{loads.staging_name(client_invoice)} s set {name} = n.name "  # noqa: S608 - our own names
                f"from {code_name} n where n.resource = :resource and n.field = :field "
                f"and n.code = s.{code} and n.language = :language"
            ),
            {"resource": RESOURCE, "field": code, "language": names.shown},
        )


def _mark_days(connection: Connection, load: Load, unit: Unit, run_id: int, at: datetime) -> None:
    """Move the watermark: every day that was read, and whether this read changed it."""
    changed = {
        *connection.scalars(
            text(
                f"select distinct _day from {client_invoice} "  # noqa: S608 - our own name
                "where id_entity = :entity and _run_id = :run_id and _day between :start and :end"
            ),
            {
                "entity": unit.id_entity,
                "run_id": run_id,
                "start": unit.span.start,
                "end": unit.span.end,
            },
        )
    }
    statement = insert(client_invoice_day)
    excluded = statement.excluded
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["id_entity", "day"],
            set_={
                "invoices": excluded.invoices,
                "open_invoices": excluded.open_invoices,
                "read_at": excluded.read_at,
                "changed_at": func.coalesce(excluded.changed_at, client_invoice_day.c.changed_at),
            },
        ),
        [
            {
                "id_entity": unit.id_entity,
                "day": day,
                "invoices": found.invoices,
                "open_invoices": found.open_invoices,
                "read_at": at,
                "changed_at": at if day in changed else None,
            }
            for day, found in sorted(load.tally.days.items())
            if any(day in window for window in unit.windows)
        ],
    )
