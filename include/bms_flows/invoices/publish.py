"""Publication of a load: versions, watermark, quarantine, totals and reports, in one transaction."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from bms.counters import Counters
from bms_flows.invoices import day_state, report
from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.numbers import check_numbers
from bms_flows.invoices.record import LoadRecord
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import profiles, quarantine, step_log
from bms_flows.runtime.landing import Landing
from bms_flows.runtime.profile import Profile
from bms_flows.runtime.windows import local_date
from bms_warehouse import loads
from bms_warehouse.tables import (
    client_invoice,
    client_invoice_day,
    code_name,
)


class UnbalancedCounts(RuntimeError):
    """Another writer changed rows during the load, so the counts differ; nothing was published."""


def complete(
    record: LoadRecord,
    transform: Transform,
    loader: Loader,
    landing: Landing,
    zone: ZoneInfo,
    profile: Profile,
    counters: Counters | None = None,
) -> None:
    """Publish a load, write its reports and complete its step run, in the loader's transaction.

    The reports are written before the step run is complete. A crash in between leaves files of an
    unfinished step run, never a complete step run without files.
    """
    publish(transform, loader, record.unit)
    unit, at = record.unit, loader.observed_at
    _record_findings(transform, loader, unit)
    today = local_date(transform.read_at, zone)
    numbers = (
        check_numbers(loader.connection, unit, step_run_id=record.step_run_id, at=at, today=today)
        if loader.inserted or loader.changed
        else []
    )
    days = (unit.span.start.isoformat(), unit.span.end.isoformat())
    totals = transform.totals.by_currency
    report.write_totals(landing.report("totals.csv"), unit.id_entity, days, totals)
    history = landing.report("history.csv")
    report.write_history(loader.connection, history, record.step_run_id, at, zone)
    profiles.save(
        loader.connection,
        record.step_run_id,
        profile,
        resource=RESOURCE,
        id_entity=unit.id_entity,
        read_at=transform.read_at,
        accepted=record.accepted,
    )
    step_log.finish(
        loader.connection,
        record.step_run_id,
        state="complete",
        counts=transform.counts,
        service=counters,
        details={
            **record.details(unit, transform),
            "numbers": numbers,
            "report": landing.reports,
            "seen_at": at.isoformat(),
            "language_shown": loader.names.shown,
        },
    )


def publish(transform: Transform, loader: Loader, unit: Unit) -> None:
    """Write the whole load in the loader's transaction, and complete its counts."""
    connection, step_run_id, at = loader.connection, loader.step_run_id, loader.observed_at
    loader.merge()
    counts = transform.counts
    counts.inserted, counts.changed = loader.inserted, loader.changed
    counts.unchanged += loader.unchanged
    if not counts.balanced:
        raise UnbalancedCounts(
            f"entity {unit.id_entity}, {unit.span}: {counts.rows_read} rows were read, but "
            f"{counts.inserted} inserted, {counts.changed} changed, {counts.unchanged} unchanged and "
            f"{counts.quarantined} quarantined. Another program wrote to {client_invoice} during the "
            "load, so nothing was published: find it, then clear the task"
        )
    _save_code_names(connection, transform, loader.names.read, at)
    # The day is compared because another unit may have found a missing invoice on its own days.
    counts.missing = loads.mark_missing(
        connection,
        client_invoice,
        where="id_entity = %(id_entity)s and id_invoice = any(%(ids)s) and _day = any(%(days)s)",
        given={
            "id_entity": unit.id_entity,
            "ids": transform.still_missing(),
            "days": [*transform.totals.days],
        },
        step_run_id=step_run_id,
        observed_at=at,
    )
    _mark_days(connection, transform, unit, step_run_id, at)
    quarantine.save(
        connection,
        transform.invalid_rows,
        resource=RESOURCE,
        id_entity=unit.id_entity,
        step_run_id=step_run_id,
        at=at,
    )
    quarantine.release_read(connection, resource=RESOURCE, id_entity=unit.id_entity)
    step_log.save_totals(connection, step_run_id, unit.id_entity, transform.totals.by_currency)


def _record_findings(transform: Transform, loader: Loader, unit: Unit) -> None:
    """Record the findings of published days, which are then read again sooner; none if accepted."""
    connection, invoice = loader.connection, client_invoice.c
    read = unit.days & transform.complete_days.keys()
    findings: dict[date, set[str]] = {}
    if unit.accepts is None:
        missing = invoice["_missing_since"].is_not(None)
        rows = connection.execute(
            select(invoice["_day"], func.count(), func.count().filter(missing))
            .where(
                invoice.id_entity == unit.id_entity,
                invoice["_day"].in_(read),
                invoice["_step_run_id"] == loader.step_run_id,
                invoice["_changed_at"] >= loader.observed_at,
                invoice["_version"] > 1,
            )
            .group_by(invoice["_day"])
        ).all()
        counts = {day: each.invoices for day, each in transform.complete_days.items()}
        findings = day_state.unusual_days(
            {day: changed - lost for day, changed, lost in rows},
            [day for day, _, lost in rows if lost],
            counts,
        )
        for first, last, code in quarantine.first_seen(connection, loader.step_run_id):
            for day in (day for day in read if first <= day <= last):
                findings.setdefault(day, set()).add(code)
    day_state.record_attempt(
        connection,
        unit.id_entity,
        read,
        findings,
        held=False,
        step_run_id=loader.step_run_id,
        at=transform.read_at,
    )


def _save_code_names(
    connection: Connection, transform: Transform, language: str, at: datetime
) -> None:
    """Store the code names in the language that they were read in."""
    if not transform.code_names:
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
            for field, code, name in sorted(transform.code_names)
        ],
    )


def _mark_days(
    connection: Connection, transform: Transform, unit: Unit, step_run_id: int, at: datetime
) -> None:
    """Move the watermark: store each complete day that was read, and whether it changed."""
    read = sorted(transform.complete_days.items())
    if not read:
        return
    invoice = client_invoice.c
    changed = {
        *connection.scalars(
            select(invoice["_day"])
            .where(
                invoice.id_entity == unit.id_entity,
                invoice["_day"].between(read[0][0], read[-1][0]),
                invoice["_changed_at"] >= at,
                invoice["_step_run_id"] == step_run_id,
            )
            .distinct()
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
                "invoices": counts.invoices,
                "open_invoices": counts.open_invoices,
                "read_at": transform.read_at,
                "changed_at": at if day in changed else None,
            }
            for day, counts in read
            if any(day in window for window in unit.windows)
        ],
    )
