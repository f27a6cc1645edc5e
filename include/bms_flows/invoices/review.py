"""Review of a load before it is published: the days to hold, with the failed checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from bms.client import Client
from bms.errors import RangeRefused
from bms_flows.invoices import day_state, history
from bms_flows.invoices.checks import contains_day, currency_findings, empty_last_day
from bms_flows.invoices.day_counts import FEW, MANY, day_findings
from bms_flows.invoices.load import Loader
from bms_flows.invoices.profile import load_profile
from bms_flows.invoices.publish import Publication
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import quarantine, step_log
from bms_flows.runtime.checks import Finding, judge
from bms_flows.runtime.profile import Profile
from bms_flows.runtime.quarantine import InvalidRow
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, local_date
from bms_flows.runtime.working_days import Holidays
from bms_warehouse.history import Stamp


@dataclass(frozen=True)
class Review:
    """The result of a load's checks."""

    unit: Unit
    violations: Sequence[Finding]
    profile: Profile
    counts: dict[date, int]
    """Invoices of the days that have far fewer or more than usual."""
    not_accepted: Sequence[InvalidRow]
    """Invalid rows that no published load has quarantined with the same content."""

    @property
    def held(self) -> Unit | None:
        """The days to hold for review, None if all days can be published."""
        days = (each.days or self.unit.days for each in self.violations)
        return self.unit.only(day for each in days for day in each)

    @property
    def passed(self) -> Unit | None:
        """The days to publish, None if all days are held."""
        held = self.held
        return self.unit.only(self.unit.days - (held.days if held else set()))

    @property
    def measures(self) -> dict[str, str | None]:
        """The measures that an acceptance covers, with the first day."""
        return {
            each.measure: min(each.days).isoformat() if each.days else None
            for each in sorted(
                self.violations, key=lambda each: -min(each.days, default=date.min).toordinal()
            )
            if each.measure
        }

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
    transform: Transform,
    loader: Loader,
    unit: Unit,
    settings: FlowSettings,
) -> Review:
    """Check a load that is merged and not committed; may send one more request to the service."""
    loader.merge()
    committed = transform.committed
    holidays = Holidays(settings.holidays)
    known = history.load_history(
        committed, unit, transform.totals.days, settings.time_zone, holidays
    )
    not_accepted = quarantine.not_accepted(committed, unit.list_id, transform.invalid_rows)
    profile = load_profile(transform, loader, known.days, not_accepted)
    today = local_date(transform.read_at, settings.time_zone)
    days = {day: each.invoices for day, each in transform.complete_days.items()}
    findings = [
        *judge(profile, known.earlier),
        *day_findings(days, known, today=today),
        *currency_findings(transform.totals.currencies, known),
    ]
    windows = [each.window for each in transform.windows]
    invalid = {day for each in transform.invalid_rows for day in each.days}
    end = empty_last_day(windows, days, invalid, holidays)
    if end and await _end_date_excluded(client, unit.id_entity, end, settings):
        ends = frozenset(each.end for each in windows)
        findings.append(Finding("end_date_excluded", f"{end}", ends))
    counts = {
        day: days[day] for each in findings if each.measure in (FEW, MANY) for day in each.days
    }
    return Review(unit, findings, profile, counts, not_accepted)


async def _end_date_excluded(
    client: Client, id_entity: int, day: date, settings: FlowSettings
) -> bool:
    """Request one day more; return whether the response contains invoices of the empty `day`."""
    try:
        response = await client.list_client_invoices(
            id_entity=id_entity, start_date=day, end_date=day + DAY
        )
    except RangeRefused:  # a day that has not come
        return False
    dates = (getattr(each, settings.invoice_range_date) for each in response.records)
    return contains_day(day, dates, client.settings.time_zone)


def hold(
    load: Publication, review: Review, transform: Transform, published: Transform | None
) -> None:
    """Record the held days of a load, in the transaction of its writing connection.

    If the other days were `published`, the held days get a separate step run. The invalid rows of
    the held days go to quarantine until a later read returns them valid.
    """
    connection, unit = load.writing, review.held or load.unit
    step_run_id, counts = load.lease.step_run_id, transform.counts
    totals = transform.totals.by_currency
    passed = review.passed
    if published is not None and passed is not None:
        step_run_id = step_log.begin_held(connection, step_run_id, passed.span.end)
        counts = counts.less(published.counts)
        totals = step_log.subtract_totals(totals, published.totals.by_currency)
    stamp = Stamp(step_run_id, transform.read_at)
    invalid = [row for row in review.not_accepted if unit.days.issuperset(row.days)]
    quarantine.save(connection, unit.list_id, stamp, invalid)
    step_log.save_totals(connection, step_run_id, unit.id_entity, totals)
    codes = {
        day: {each.code for each in review.violations if day in (each.days or unit.days)}
        for day in unit.days
    }
    day_state.record_attempt(connection, unit.id_entity, codes.keys(), codes, stamp, held=True)
    step_log.finish(
        connection,
        step_run_id,
        state="suspect",
        counts=counts,
        service=load.counters if published is None else None,
        reason="\n".join(str(violation) for violation in review.violations),
        details={
            **load.details(unit, transform),
            "violations": sorted({violation.code for violation in review.violations}),
            "measures": review.measures,
            "few": {day.isoformat(): count for day, count in review.counts.items()},
        },
    )
