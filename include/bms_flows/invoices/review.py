"""Review of a load before it is published: which of its days are held, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection

from bms.client import Client
from bms_flows.invoices import fields, history
from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.invoices.validate import Tolerance, Violation, contains_day, empty_end, validate
from bms_flows.runtime import quarantine
from bms_flows.runtime.field_checks import check_fields
from bms_flows.runtime.quarantine import InvalidRow
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY


@dataclass(frozen=True)
class Review:
    """What the checks of a load found."""

    unit: Unit
    violations: Sequence[Violation]
    fields: Sequence[str]
    """Fields that lost their values."""
    few: dict[date, int]
    """Invoices of the days that have far fewer than usual."""
    bad: Sequence[InvalidRow]
    """Quarantined rows that nobody has accepted."""

    @property
    def held(self) -> Unit | None:
        """The days to be held for review, None where all can be published."""
        return self.unit.only(day for violation in self.violations for day in violation.days)

    @property
    def passed(self) -> Unit | None:
        """The days to be published, None where all are held."""
        held = self.held
        return self.unit.only(self.unit.days - (held.days if held else set()))

    @property
    def told(self) -> str:
        """What an operator reads of days that are held."""
        held, passed = self.held, self.passed
        days = f"{len(held.days)} of {len(self.unit.days)} days" if held and passed else "all days"
        spans = ", ".join(str(window) for window in held.windows) if held else ""
        rest = "the other days are published" if passed else "nothing is published"
        return "\n".join(
            [
                f"entity {self.unit.id_entity}, {self.unit.span}: {days} held for review, {rest}.",
                *(f"- {violation}" for violation in self.violations),
                f"Held: {spans}.",
                "To publish them as they are, without reading again: trigger with accept_suspect.",
            ]
        )


async def review_load(
    client: Client,
    before: Connection,
    load: Transform,
    merging: Loader,
    unit: Unit,
    settings: FlowSettings,
    tolerance: Tolerance,
) -> Review:
    """Check a load, all of it merged and nothing committed; may ask the service for one day more."""
    merging.merge()
    known = history.load_history(before, unit, load.tally.days, settings.time_zone)
    holidays = history.holidays(settings.holidays, load.tally.days)
    bad = quarantine.not_accepted(before, load.bad, resource=RESOURCE, id_entity=unit.id_entity)
    found = load.found(bad)
    today = history.local_date(load.read_at, settings.time_zone)
    violations = validate(found, known, holidays=holidays, today=today, tolerance=tolerance)
    few = [each for each in violations if each.code == "fewer_than_usual"]
    lost = _fields(before, load, merging, unit, settings)
    end = empty_end(found, holidays)
    if end and await _left_out(client, unit.id_entity, end, settings):
        ends = frozenset(each.window.end for each in found.windows)
        violations.append(Violation("end_date_excluded", f"{end}", ends))
    return Review(
        unit,
        [*violations, *lost.values()],
        [*lost],
        {day: found.days[day] for each in few for day in each.days},
        bad,
    )


def _fields(
    before: Connection, load: Transform, merging: Loader, unit: Unit, settings: FlowSettings
) -> dict[str, Violation]:
    """Return the fields that lost their values, but for those that an operator has accepted so."""
    since = merging.at - settings.lookback_rotation * DAY
    accepted = history.accepted_fields(before, unit.id_entity, since)
    found = check_fields(fields.compare_fields(before, load.fields, merging, unit))
    lost = [each for each in found if each.field not in accepted]
    days = fields.days_without(merging, [each.field for each in lost])
    return {
        each.field: Violation(
            each.code, each.where, frozenset((days[each.field] & unit.days) or unit.days)
        )
        for each in lost
    }


async def _left_out(client: Client, id_entity: int, day: date, settings: FlowSettings) -> bool:
    """Ask for one day more: return whether that brings invoices of `day`, which came without any."""
    answer = await client.list_client_invoices(
        id_entity=id_entity, start_date=day, end_date=day + DAY
    )
    dates = (getattr(each, settings.invoice_range_date) for each in answer.records)
    return contains_day(day, dates, client.settings.time_zone)
