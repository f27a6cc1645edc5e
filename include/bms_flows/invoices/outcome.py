"""How a load ends: published, or held for review, in full or in part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from bms.counters import Counters
from bms_flows.invoices import report
from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.publish import publish
from bms_flows.invoices.review import Review
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import quarantine, step_log
from bms_flows.runtime.landing import Landing


@dataclass(frozen=True)
class Outcome:
    """What is said of a load besides its counts; enough to load it again from its raw answers.

    `raw` and `parquet` are names below the data root.
    """

    unit: Unit
    step_run_id: int
    raw: str
    parquet: str
    language: str
    zone: str
    range_date: str
    fields_accepted: Sequence[str] = ()
    """Fields whose loss of values an operator accepts with the load."""

    def complete(
        self,
        load: Transform,
        merging: Loader,
        landing: Landing,
        company: ZoneInfo,
        counters: Counters | None = None,
    ) -> None:
        """Publish `load`, write its reports and record its step, within the load's transaction.

        The reports are there before the step is complete: a crash in between leaves files of a
        step that never ended, never a complete step without files.
        """
        publish(load, merging, self.unit)
        connection, at = merging.connection, merging.at
        days = (self.unit.span.start.isoformat(), self.unit.span.end.isoformat())
        totals, history = landing.report("totals.csv"), landing.report("history.csv")
        report.write_totals(totals, self.unit.id_entity, days, load.tally.totals)
        report.write_history(connection, history, self.step_run_id, at, company)
        accepted = {"fields_accepted": [*self.fields_accepted]} if self.fields_accepted else {}
        step_log.finish(
            connection,
            self.step_run_id,
            state="complete",
            counts=load.counts,
            service=counters,
            details={
                **self._details(self.unit, load),
                **accepted,
                "report": landing.reports,
                "seen_at": at.isoformat(),
            },
        )

    def hold(
        self,
        connection: Connection,
        load: Transform,
        review: Review,
        counters: Counters,
        published: Transform | None,
    ) -> None:
        """Record the days of `load` that are held, within the caller's transaction.

        Where the other days were `published`, the held ones get a step of their own. Quarantined
        rows that nobody has accepted show as seen by it, and leave with the next good read.
        """
        unit = review.held or self.unit
        step_run_id, counts, totals = self.step_run_id, load.counts, load.tally.totals
        passed = review.passed
        if published is not None and passed is not None:
            step_run_id = step_log.begin_held(connection, self.step_run_id, passed.span.end)
            counts = counts.less(published.counts)
            totals = step_log.subtract_totals(totals, published.tally.totals)
        quarantine.save(
            connection,
            [bad for bad in review.bad if unit.days.issuperset(bad.days)],
            resource=RESOURCE,
            id_entity=unit.id_entity,
            step_run_id=step_run_id,
            at=load.read_at,
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
                **self._details(unit, load),
                "violations": sorted({violation.code for violation in review.violations}),
                "fields_held": [*review.fields],
                "few": {day.isoformat(): count for day, count in review.few.items()},
            },
        )

    def manifest(self, load: Transform) -> dict[str, Any]:
        """Return what goes into the XCom: numbers, days and paths."""
        return {
            "step_run_id": self.step_run_id,
            "id_entity": self.unit.id_entity,
            "days": str(self.unit.span),
            "raw": self.raw,
            "parquet": self.parquet,
            **vars(load.counts),
            "totals": {currency: each.as_dict() for currency, each in load.tally.totals.items()},
        }

    def _details(self, unit: Unit, load: Transform) -> dict[str, Any]:
        return {
            **unit.as_dict(),
            "raw": self.raw,
            "parquet": self.parquet,
            "language": self.language,
            "zone": self.zone,
            "range_date": self.range_date,
            "read_at": load.read_at.isoformat(),
            "fields": load.fields.counts.as_dict(),
        }
