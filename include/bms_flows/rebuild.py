"""Rebuild of the invoice tables from stored responses.

Loads every complete step again, in order, from its stored responses and with its original time, time
zone, language and range date. The result has the same rows, versions and days. A step without stored
responses (retention: BMS_KEEP_RAW_DAYS) is left out if later steps read all its days: its versions are
lost. The rebuild runs in one transaction; it changes nothing if other responses are missing or damaged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Engine, delete, select, text
from upath import UPath

from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.publish import publish
from bms_flows.invoices.raw import ResponsesMissing, StoredResponses, reload
from bms_flows.invoices.units import Unit
from bms_warehouse import database
from bms_warehouse.history import Stamp
from bms_warehouse.queries.records import fingerprint
from bms_warehouse.tables import (
    client_invoice,
    client_invoice_day,
    code_name,
    control_total,
    quarantine,
    step_run,
    superseded,
)


@dataclass(frozen=True)
class Rebuilt:
    """Number of loaded steps, and the table's fingerprint before and after the rebuild."""

    steps: int
    before: str
    after: str
    skipped: int = 0
    """Steps whose stored responses are missing, and whose days later steps read: their versions are lost."""


def rebuild(
    engine: Engine,
    data_root: UPath,
    progress: Callable[[int, int], None] | None = None,
) -> Rebuilt:
    """Rebuild the invoice tables.

    Raises `ResponsesMissing`; nothing is changed then.
    """
    with engine.begin() as connection:
        # The session is idle while the rebuild reads thousands of files.
        database.read_meanwhile(connection)
        # Readers see the current rows; a load waits before it publishes, and then restarts.
        connection.execute(text(f"lock table {client_invoice} in exclusive mode"))
        steps, skipped, missing = _readable(connection, data_root)
        if missing:
            raise ResponsesMissing(
                f"stored responses of steps {', '.join(map(str, missing))} are missing"
            )
        before = fingerprint(connection, client_invoice)
        numbers = [*skipped, *(number for number, _ in steps)]
        held = _empty(connection, numbers)
        for done, (number, details) in enumerate(steps, 1):
            _load_again(connection, data_root, number, details)
            if progress:
                progress(done, len(steps))
        database.upsert(connection, quarantine, held)
        after = fingerprint(connection, client_invoice)
        return Rebuilt(len(steps), before, after, len(skipped))


def _readable(
    connection: Connection, data_root: UPath
) -> tuple[list[tuple[int, dict[str, Any]]], list[int], list[int]]:
    """Return the steps to load, those that later steps cover, and those whose days no other step has."""
    complete = (
        select(step_run.c.id, step_run.c.details)
        .where(
            step_run.c.step == "extract",
            step_run.c.state == "complete",
        )
        .order_by(step_run.c.finished_at.desc(), step_run.c.id.desc())
    )
    readable, skipped, missing = [], list[int](), list[int]()
    covered = set[tuple[int, date]]()
    for number, details in connection.execute(complete).all():
        unit = Unit.from_dict(details)
        days = {(unit.id_entity, day) for day in unit.days}
        if not StoredResponses.of_step(data_root, details).lacks(unit):
            covered |= days
            readable.append((number, details))
        elif days <= covered:
            skipped.append(number)
        else:
            missing.append(number)
    return readable[::-1], skipped, missing[::-1]


def _empty(connection: Connection, steps: Sequence[int]) -> list[dict[str, Any]]:
    """Empty the tables; return the quarantined rows of held days, whose steps published nothing.

    A load that holds days meanwhile doesn't wait: its rows are deleted and returned, or not deleted.
    """
    for table in (superseded(client_invoice), client_invoice, client_invoice_day):
        connection.execute(delete(table))
    connection.execute(delete(code_name).where(code_name.c.resource == RESOURCE))
    connection.execute(delete(control_total).where(control_total.c.step_run_id.in_(steps)))
    stored = delete(quarantine).where(quarantine.c.resource == RESOURCE).returning(quarantine)
    published, rows = {*steps}, connection.execute(stored).mappings()
    return [dict(row) for row in rows if row["step_run_id"] not in published]


def _load_again(
    connection: Connection, data_root: UPath, number: int, details: dict[str, Any]
) -> None:
    unit = Unit.from_dict(details)
    stamp = Stamp(number, datetime.fromisoformat(details["seen_at"]))
    loader = Loader(connection, stamp, details["language"], details["language_shown"])
    stored = StoredResponses.of_step(data_root, details)
    load = reload(connection, loader, unit, stored, later=unit.accepts is not None)
    publish(load, loader, unit)
