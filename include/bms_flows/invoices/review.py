"""Review of a load before it is published: the days to hold, with the failed checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection

from bms.client import Client
from bms.counters import Counters
from bms_flows.invoices import fields, history
from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.record import LoadRecord
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.invoices.validate import (
    Tolerance,
    Violation,
    contains_day,
    empty_last_day,
    validate,
)
from bms_flows.runtime import quarantine, step_log
from bms_flows.runtime.field_checks import check_fields
from bms_flows.runtime.quarantine import InvalidRow
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY


@dataclass(frozen=True)
class Review:
    """The result of a load's checks."""

    unit: Unit
    violations: Sequence[Violation]
    fields: Sequence[str]
    """Fields that lost their values."""
    low_counts: dict[date, int]
    """Invoices of the days that have far fewer than usual."""
    not_accepted: Sequence[InvalidRow]
    """Invalid rows that no published load has quarantined with the same content."""

    @property
    def held(self) -> Unit | None:
        """The days to hold for review, None if all days can be published."""
        return self.unit.only(day for violation in self.violations for day in violation.days)

    @property
    def passed(self) -> Unit | None:
        """The days to publish, None if all days are held."""
        held = self.held
        return self.unit.only(self.unit.days - (held.days if held else set()))

    @property
    def message(self) -> str:
        """The error text for the operator."""
        held, passed = self.held, self.passed
        days = f"{len(held.days)} of {len(self.unit.days)} days" if held and passed else "all days"
        spans = ", ".join(str(window) for window in held.windows) if held else ""
        rest = "the other days are published" if passed else "nothing is published"
        return "\n".join(
            [
                f"entity {self.unit.id_entity}, {self.unit.span}: {days} held for review, {rest}.",
                *(f"- {violation}" for violation in self.violations),
                f"Held: {spans}.",
                "To publish these days unchanged, without reading again: trigger with accept_suspect.",
            ]
        )


async def review_load(
    client: Client,
    committed: Connection,
    transform: Transform,
    loader: Loader,
    unit: Unit,
    settings: FlowSettings,
    tolerance: Tolerance,
) -> Review:
    """Check a load that is merged and not committed; may send one more request to the service."""
    loader.merge()
    days = transform.totals.days
    known = history.load_history(committed, unit, days, settings.time_zone)
    holidays = history.Holidays(settings.holidays)
    not_accepted = quarantine.not_accepted(
        committed, transform.invalid_rows, resource=RESOURCE, id_entity=unit.id_entity
    )
    summary = transform.summary(not_accepted)
    today = history.local_date(transform.read_at, settings.time_zone)
    violations = validate(summary, known, holidays=holidays, today=today, tolerance=tolerance)
    low = [each for each in violations if each.code == "fewer_than_usual"]
    lost = _lost_fields(committed, transform, loader, unit, settings)
    end = empty_last_day(summary, holidays)
    if end and await _end_date_excluded(client, unit.id_entity, end, settings):
        ends = frozenset(each.window.end for each in summary.windows)
        violations.append(Violation("end_date_excluded", f"{end}", ends))
    return Review(
        unit,
        [*violations, *lost.values()],
        [*lost],
        {day: summary.days[day] for each in low for day in each.days},
        not_accepted,
    )


def _lost_fields(
    committed: Connection,
    transform: Transform,
    loader: Loader,
    unit: Unit,
    settings: FlowSettings,
) -> dict[str, Violation]:
    """Return the fields that lost their values, without fields that an operator has accepted."""
    since = loader.observed_at - settings.lookback_rotation * DAY
    accepted = history.accepted_fields(committed, unit.id_entity, since)
    found = check_fields(fields.compare_fields(committed, transform.fields, loader, unit))
    lost = [each for each in found if each.field not in accepted]
    days = fields.days_without(loader, unit, [each.field for each in lost])
    return {
        each.field: Violation(each.code, each.where, frozenset(days[each.field] or unit.days))
        for each in lost
    }


async def _end_date_excluded(
    client: Client, id_entity: int, day: date, settings: FlowSettings
) -> bool:
    """Request one day more; return whether the response contains invoices of the empty `day`."""
    response = await client.list_client_invoices(
        id_entity=id_entity, start_date=day, end_date=day + DAY
    )
    dates = (getattr(each, settings.invoice_range_date) for each in response.records)
    return contains_day(day, dates, client.settings.time_zone)


def hold(
    record: LoadRecord,
    review: Review,
    connection: Connection,
    transform: Transform,
    counters: Counters,
    published: Transform | None,
) -> None:
    """Record the held days of a load, in the caller's transaction.

    If the other days were `published`, the held days get a separate step run. The invalid rows of
    the held days go to quarantine until a later read returns them valid.
    """
    unit = review.held or record.unit
    step_run_id, counts = record.step_run_id, transform.counts
    totals = transform.totals.by_currency
    passed = review.passed
    if published is not None and passed is not None:
        step_run_id = step_log.begin_held(connection, record.step_run_id, passed.span.end)
        counts = counts.less(published.counts)
        totals = step_log.subtract_totals(totals, published.totals.by_currency)
    quarantine.save(
        connection,
        [row for row in review.not_accepted if unit.days.issuperset(row.days)],
        resource=RESOURCE,
        id_entity=unit.id_entity,
        step_run_id=step_run_id,
        at=transform.read_at,
    )
    step_log.save_totals(connection, step_run_id, unit.id_entity, totals)
    step_log.finish(
        connection,
        step_run_id,
        state="suspect",
        counts=counts,
        service=counters if published is None else None,
        reason="\n".join(str(violation) for violation in review.violations),
        details={
            **record.details(unit, transform),
            "violations": sorted({violation.code for violation in review.violations}),
            "fields_held": [*review.fields],
            "few": {day.isoformat(): count for day, count in review.low_counts.items()},
        },
    )
