"""Publishing a load: versions, watermark, quarantine and totals, in the transaction of its rows."""

from datetime import datetime

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import quarantine, step_log
from bms_warehouse import loads
from bms_warehouse.tables import (
    client_invoice,
    client_invoice_day,
    client_invoice_version,
    code_name,
)


class UnbalancedCounts(RuntimeError):
    """Rows read and rows accounted for differ: another writer was at work; nothing was published."""


def publish(load: Transform, merging: Loader, unit: Unit) -> None:
    """Write all of `load` within the transaction of `merging`, and count what it did."""
    connection, step_run_id, at = merging.connection, merging.step_run_id, merging.at
    merging.merge()
    load.counts.inserted, load.counts.changed = merging.inserted, merging.changed
    load.counts.unchanged += merging.unchanged
    if not load.counts.balanced:
        raise UnbalancedCounts(f"entity {unit.id_entity}, {unit.span}: {load.counts}")
    _name_codes(connection, load, merging.names.read, at)
    # One that another unit has found on a day of its own meanwhile stands under that day now.
    load.counts.missing = loads.mark_missing(
        connection,
        client_invoice,
        client_invoice_version,
        where="id_entity = %(id_entity)s and id_invoice = any(%(ids)s) and _day = any(%(days)s)",
        given={
            "id_entity": unit.id_entity,
            "ids": load.still_missing(),
            "days": [*load.tally.days],
        },
        step_run_id=step_run_id,
        observed_at=at,
    )
    _mark_days(connection, load, unit, step_run_id, at)
    quarantine.save(
        connection,
        load.bad,
        resource=RESOURCE,
        id_entity=unit.id_entity,
        step_run_id=step_run_id,
        at=at,
    )
    quarantine.release_read(connection, resource=RESOURCE, id_entity=unit.id_entity)
    step_log.save_totals(connection, step_run_id, unit.id_entity, load.tally.totals)


def _name_codes(connection: Connection, load: Transform, language: str, at: datetime) -> None:
    """Keep the names of codes in the language they were read in."""
    if not load.names:
        return
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
                "language": language,
                "name": name,
                "seen_at": at,
            }
            for field, code, name in sorted(load.names)
        ],
    )


def _mark_days(
    connection: Connection, load: Transform, unit: Unit, step_run_id: int, at: datetime
) -> None:
    """Move the watermark: every day that was over when it was read, and whether it changed."""
    # Versions are only ever added: the index by time leads to a run's own, however long the history.
    versions = client_invoice_version.c
    changed = {
        *connection.scalars(
            select(versions["_day"])
            .where(versions["_observed_at"] == at, versions["_step_run_id"] == step_run_id)
            .distinct()
        )
    }
    statement = insert(client_invoice_day)
    excluded = statement.excluded
    read = sorted(load.days_over.items())
    if not read:
        return
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
                "read_at": load.read_at,
                "changed_at": at if day in changed else None,
            }
            for day, found in read
            if any(day in window for window in unit.windows)
        ],
    )
