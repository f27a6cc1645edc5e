"""Publication of a load: versions, watermark, quarantine, totals and reports, in one transaction."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, text
from sqlalchemy.dialects.postgresql import insert

from bms.counters import Counters
from bms.endpoints import InvoiceLanguage
from bms_flows.invoices import day_state, report
from bms_flows.invoices.leases import Lease
from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.numbers import check_numbers
from bms_flows.invoices.profile import load_profile
from bms_flows.invoices.raw import StoredResponses, reload
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import manifest, profiles, quarantine, step_log
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.landing import Landing
from bms_flows.runtime.profile import Profile
from bms_flows.runtime.windows import local_date
from bms_warehouse import loads
from bms_warehouse.database import upsert
from bms_warehouse.history import Stamp
from bms_warehouse.tables import (
    client_invoice,
    client_invoice_day,
    code_name,
)


class UnbalancedCounts(RuntimeError):
    """Another writer changed rows during the load, so the counts differ; nothing was published."""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """A load: facts, enough to load it again from its stored responses, and what its publication needs."""

    flow: FlowContext
    unit: Unit
    language: InvoiceLanguage
    raw: str
    """Folder of the responses, relative to the data root."""
    lease: Lease
    landing: Landing
    committed: Connection
    """Reads what was committed before the load."""
    writing: Connection
    counters: Counters | None = None
    accepted: Mapping[str, str | None] = field(default_factory=dict)
    """Measures that an operator accepts with the load, with the first day."""
    accepted_by: str | None = None

    def manifest(self, transform: Transform) -> dict[str, Any]:
        """Return the load's manifest for XCom: numbers, days and paths, no rows."""
        totals = transform.totals.by_currency
        return {
            "version": manifest.VERSION,
            "step_run_id": self.lease.step_run_id,
            "state": "complete",
            "whole": True,
            "id_entity": self.unit.id_entity,
            "days": str(self.unit.span),
            "raw": self.raw,
            **vars(transform.counts),
            "totals": {currency: each.as_dict() for currency, each in totals.items()},
        }

    def details(self, unit: Unit, transform: Transform) -> dict[str, Any]:
        """Return the step run's details for the days of `unit`."""
        return {
            **unit.as_dict(),
            "accepted_by": self.accepted_by,
            "raw": self.raw,
            "language": self.language,
            "zone": transform.reading.zone,
            "range_date": transform.reading.range_date,
            "read_at": transform.read_at.isoformat(),
            "volatile": sorted(transform.reading.volatile),
            "fields": transform.rows.counts.as_dict(),
        }

    def loader(self, observed_at: datetime) -> Loader:
        """Return the loader of a transaction of `writing`."""
        self.lease.name_session(self.writing)
        stamp = Stamp(self.lease.step_run_id, observed_at)
        return Loader(self.writing, stamp, self.language, self.flow.settings.language)

    def renew(self) -> None:
        """Extend the lease."""
        self.lease.renew(self.committed)

    def complete_stored(
        self, unit: Unit, stored: StoredResponses, observed_at: datetime, *, later: bool
    ) -> Transform:
        """Load the days of `unit` from stored responses, and complete the load; see `reload`."""
        loader = self.loader(observed_at)
        transform = reload(self.committed, loader, unit, stored, later=later, renew=self.renew)
        loader.merge()
        profile = load_profile(transform, loader, {})
        replace(self, unit=unit).complete(transform, loader, profile)
        return transform

    def complete(self, transform: Transform, loader: Loader, profile: Profile) -> None:
        """Publish a load, write its reports and complete its step run, in the loader's transaction.

        The reports are written before the step run is complete. A crash in between leaves files of an
        unfinished step run, never a complete step run without files.
        """
        self.lease.fence(self.writing)
        unit, stamp, zone = self.unit, loader.stamp, self.flow.settings.time_zone
        _record_findings(transform, loader, unit, publish(transform, loader, unit))
        numbers = (
            check_numbers(self.writing, unit, stamp, today=local_date(transform.read_at, zone))
            if loader.inserted or loader.changed
            else []
        )
        days = (unit.span.start.isoformat(), unit.span.end.isoformat())
        totals = transform.totals.by_currency
        report.write_totals(self.landing.report("totals.csv"), unit.id_entity, days, totals)
        history = self.landing.report("history.csv")
        report.write_history(self.writing, history, stamp, zone)
        read = Stamp(stamp.step_run_id, transform.read_at)
        profiles.save(self.writing, unit.list_id, read, profile, self.accepted)
        step_log.finish(
            self.writing,
            stamp.step_run_id,
            state="complete",
            counts=transform.counts,
            service=self.counters,
            details={
                **self.details(unit, transform),
                "numbers": numbers,
                "report": self.landing.reports,
                "seen_at": stamp.observed_at.isoformat(),
                "language_shown": loader.shown,
            },
        )


def publish(transform: Transform, loader: Loader, unit: Unit) -> Sequence[Row[Any]]:
    """Write the whole load in the loader's transaction, and complete its counts.

    Returns for each day with written rows how many are changed, and how many are newly missing.
    """
    connection, at = loader.connection, loader.stamp.observed_at
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
    _save_code_names(connection, transform, loader.language, at)
    # The day is compared because another unit may have found a missing invoice on its own days.
    counts.missing = loads.mark_missing(
        connection,
        client_invoice,
        loader.stamp,
        where="id_entity = %(id_entity)s and id_invoice = any(%(ids)s) and _day = any(%(days)s)",
        given={
            "id_entity": unit.id_entity,
            "ids": transform.still_missing(),
            "days": [*transform.totals.days],
        },
    )
    if transform.cache:
        transform.cache.save(connection)
    written = _written_rows(loader, unit)
    _mark_days(connection, transform, unit, {each.day for each in written}, at)
    quarantine.save(connection, unit.list_id, loader.stamp, transform.invalid_rows)
    quarantine.release(connection, unit.list_id, quarantine.READ)
    totals = transform.totals.by_currency
    step_log.save_totals(connection, loader.stamp.step_run_id, unit.id_entity, totals)
    return written


def _written_rows(loader: Loader, unit: Unit) -> Sequence[Row[Any]]:
    """Return the changed and the newly missing rows of each day with rows that the load wrote."""
    given = {
        "id_entity": unit.id_entity,
        "days": [*unit.days],
        **loader.stamp._asdict(),
    }
    return loader.connection.execute(_WRITTEN_ROWS, given).all()


# Rows that no load has quarantined before.
_FIRST_INVALID = text("""
select first_day, last_day, code from bms.quarantine where step_run_id = :id and loads = 1
""")
_WRITTEN_ROWS = text("""
select _day as day, count(*) filter (where _missing_since is null and _version > 1) as changed,
    count(_missing_since) as missing
from bms.client_invoice
where id_entity = :id_entity and _day = any(:days) and _step_run_id = :step_run_id and _changed_at >= :observed_at
group by _day
""")


def _record_findings(
    transform: Transform, loader: Loader, unit: Unit, written: Sequence[Row[Any]]
) -> None:
    """Record the findings of published days, which are then read again sooner; none if accepted."""
    connection, step_run_id = loader.connection, loader.stamp.step_run_id
    read = unit.days & transform.complete_days.keys()
    findings: dict[date, set[str]] = {}
    if unit.accepts is None:
        findings = day_state.unusual_days(
            [each for each in written if each.day in read], transform.complete_days
        )
        for first, last, code in connection.execute(_FIRST_INVALID, {"id": step_run_id}):
            for day in (day for day in read if first <= day <= last):
                findings.setdefault(day, set()).add(code)
    stamp = Stamp(step_run_id, transform.read_at)
    day_state.record_attempt(connection, unit.id_entity, unit.days, findings, stamp, held=False)


def _save_code_names(
    connection: Connection, transform: Transform, language: str, at: datetime
) -> None:
    names = [
        {
            "resource": RESOURCE,
            "field": field,
            "code": code,
            "language": language,
            "name": name,
            "seen_at": at,
        }
        for field, code, name in sorted(transform.code_names)
    ]
    upsert(connection, code_name, names, unless_equal="name")


def _mark_days(
    connection: Connection, transform: Transform, unit: Unit, changed: Container[date], at: datetime
) -> None:
    """Move the watermark: store each complete day that was read, and whether it changed."""
    complete = transform.complete_days
    days = [
        {
            "id_entity": unit.id_entity,
            "day": day,
            "invoices": complete[day].invoices,
            "open_invoices": complete[day].open_invoices,
            "read_at": transform.read_at,
            "changed_at": at if day in changed else None,
        }
        for day in sorted(unit.days & complete.keys())
    ]
    new, stored = insert(client_invoice_day).excluded, client_invoice_day.c
    changed_at = func.coalesce(new.changed_at, stored.changed_at)
    upsert(connection, client_invoice_day, days, changed_at=changed_at)
