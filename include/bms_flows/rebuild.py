"""Rebuild of the invoice tables from stored responses.

Loads every complete step again, in order, from its stored responses and with its original time, time
zone, language and range date. The result has the same rows, versions and days. The rebuild runs in one
transaction; it changes nothing if responses are missing or damaged (retention: BMS_KEEP_RAW_DAYS).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Date,
    DateTime,
    Engine,
    cast,
    delete,
    func,
    select,
    text,
)
from upath import UPath

from bms_flows.invoices.load import RESOURCE, Languages, Loader
from bms_flows.invoices.publish import publish
from bms_flows.invoices.raw import ResponsesMissing, StoredResponses, reload
from bms_flows.invoices.units import Unit
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse import database
from bms_warehouse.queries import fingerprint
from bms_warehouse.tables import (
    client_invoice,
    client_invoice_day,
    client_invoice_version,
    code_name,
    control_total,
    quarantine,
    step_run,
    superseded,
)


class RangeDateUnknown(RuntimeError):
    """Steps record no range date, and their rows contradict the setting."""


@dataclass(frozen=True)
class Rebuilt:
    """Number of loaded steps, and the table's fingerprint before and after the rebuild."""

    steps: int
    before: str
    after: str


def rebuild(
    engine: Engine,
    data_root: UPath,
    settings: FlowSettings,
    progress: Callable[[int, int], None] | None = None,
) -> Rebuilt:
    """Rebuild the invoice tables.

    Raises `ResponsesMissing` and `RangeDateUnknown`; nothing is changed then.
    """
    with engine.begin() as connection:
        # The session is idle while the rebuild reads thousands of files.
        database.read_meanwhile(connection)
        # Readers see the current rows; a load waits before it publishes, and then restarts.
        connection.execute(text(f"lock table {client_invoice} in exclusive mode"))
        steps = _steps(connection, settings)
        missing = [
            number
            for number, details in steps
            if _stored(data_root, details).lacks(Unit.from_dict(details))
        ]
        if missing:
            raise ResponsesMissing(
                f"stored responses of steps {', '.join(map(str, missing))} are missing"
            )
        before = fingerprint(connection, client_invoice)
        _empty(connection, [number for number, _ in steps])
        for done, (number, details) in enumerate(steps, 1):
            _load_again(connection, data_root, settings, number, details)
            if progress:
                progress(done, len(steps))
        return Rebuilt(len(steps), before, fingerprint(connection, client_invoice))


def _steps(connection: Connection, settings: FlowSettings) -> list[tuple[int, dict[str, Any]]]:
    complete = (
        select(step_run.c.id, step_run.c.details, step_run.c.finished_at)
        .where(
            step_run.c.flow == "invoice_extraction",
            step_run.c.step == "extract",
            step_run.c.state == "complete",
        )
        .order_by(step_run.c.finished_at, step_run.c.id)
    )
    range_date = settings.invoice_range_date
    if contradicting := _contradicting_steps(connection, range_date):
        raise RangeDateUnknown(
            f"steps {', '.join(map(str, contradicting))} were not listed by {range_date}; "
            "set BMS_INVOICE_RANGE_DATE to the date with which they were loaded"
        )
    # Steps without `seen_at` saw their rows at their end.
    return [
        (number, {"seen_at": ended.isoformat(), "range_date": range_date, **details})
        for number, details, ended in connection.execute(complete)
    ]


def _contradicting_steps(connection: Connection, range_date: str) -> list[int]:
    """Return the steps without a range date that have a row under another day."""
    version = client_invoice_version.c
    listed: ColumnElement[Any] = version[range_date]
    if isinstance(listed.type, DateTime):
        listed = cast(func.timezone(step_run.c.details["zone"].astext, listed), Date)
    contradicting = (
        select(step_run.c.id)
        .join(client_invoice_version, version["_step_run_id"] == step_run.c.id)
        .where(~step_run.c.details.has_key("range_date"), version["_day"].is_distinct_from(listed))
        .distinct()
        .order_by(step_run.c.id)
    )
    return [*connection.scalars(contradicting)]


def _stored(data_root: UPath, details: dict[str, Any]) -> StoredResponses:
    """Return the stored responses of a step."""
    read_at = datetime.fromisoformat(details.get("read_at", details["seen_at"]))
    return StoredResponses(
        data_root / details["raw"],
        details["zone"],
        details["range_date"],
        read_at,
        details.get("volatile", ()),
    )


def _empty(connection: Connection, steps: list[int]) -> None:
    for table in (superseded(client_invoice), client_invoice, client_invoice_day):
        connection.execute(delete(table))
    for table in (quarantine, code_name):
        connection.execute(delete(table).where(table.c.resource == RESOURCE))
    connection.execute(delete(control_total).where(control_total.c.step_run_id.in_(steps)))


def _load_again(
    connection: Connection,
    data_root: UPath,
    settings: FlowSettings,
    number: int,
    details: dict[str, Any],
) -> None:
    unit = Unit.from_dict(details)
    names = Languages(details["language"], details.get("language_shown", settings.language))
    loader = Loader(connection, number, names, datetime.fromisoformat(details["seen_at"]))
    load = reload(
        connection, loader, unit, _stored(data_root, details), later=unit.accepts is not None
    )
    publish(load, loader, unit)
