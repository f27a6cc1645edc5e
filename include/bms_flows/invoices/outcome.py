"""How a load ends: complete and published, or suspect and kept for a person to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from bms.counters import Counters
from bms_flows import quarantine, runs
from bms_flows.field_checks import FieldViolation
from bms_flows.invoices import report
from bms_flows.invoices.check import Breach
from bms_flows.invoices.load import Load
from bms_flows.invoices.merging import RESOURCE, Merging
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.publish import publish
from bms_flows.landing import Landing
from bms_flows.quarantine import Bad
from bms_warehouse.database import clock


@dataclass(frozen=True)
class Outcome:
    """What is said of a load besides its counts; enough to load it again from its raw answers.

    `raw` and `parquet` are names below the data root.
    """

    unit: Unit
    run_id: int
    raw: str
    parquet: str
    language: str
    zone: str
    range_date: str
    fields_accepted: Sequence[str] = ()
    """Fields whose loss of values an operator accepts with the load."""

    def complete(
        self,
        load: Load,
        merging: Merging,
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
        report.keep_totals(totals, self.unit.id_entity, days, load.tally.totals)
        report.keep_history(connection, history, self.run_id, at, company)
        runs.finish(
            connection,
            self.run_id,
            state="complete",
            counts=load.counts,
            service=counters,
            details={
                **self._details(load),
                **({"fields_accepted": self.fields_accepted} if self.fields_accepted else {}),
                "report": landing.reports,
                "seen_at": at.isoformat(),
            },
        )

    def suspect(
        self,
        connection: Connection,
        load: Load,
        bad: list[Bad],
        doubts: list[Breach],
        fields: list[FieldViolation],
        counters: Counters,
    ) -> None:
        """Record the step of `load` as suspect, within the caller's transaction.

        `bad` are those of its rows set aside that nobody has accepted: they show in quarantine as
        seen by this step, and leave with the next good read.
        """
        quarantine.set_aside(
            connection,
            bad,
            resource=RESOURCE,
            id_entity=self.unit.id_entity,
            run_id=self.run_id,
            at=clock(connection),
        )
        runs.keep_totals(connection, self.run_id, self.unit.id_entity, load.tally.totals)
        runs.finish(
            connection,
            self.run_id,
            state="suspect",
            counts=load.counts,
            service=counters,
            reason="\n".join(str(doubt) for doubt in doubts),
            details={
                **self._details(load),
                "doubts": [doubt.code for doubt in doubts],
                "fields_held": [each.field for each in fields],
            },
        )

    def manifest(self, load: Load) -> dict[str, Any]:
        """Return what goes into the XCom: numbers, days and paths."""
        return {
            "run_id": self.run_id,
            "id_entity": self.unit.id_entity,
            "days": str(self.unit.span),
            "raw": self.raw,
            "parquet": self.parquet,
            **vars(load.counts),
            "totals": {currency: each.as_dict() for currency, each in load.tally.totals.items()},
        }

    def told(self, doubts: list[Breach]) -> str:
        """Return what a person reads when the load is suspect."""
        return "\n".join(
            [
                f"entity {self.unit.id_entity}, {self.unit.span}: suspect, nothing published.",
                *(f"- {doubt}" for doubt in doubts),
                "To publish it as it is, without reading again: trigger with accept_suspect.",
            ]
        )

    def _details(self, load: Load) -> dict[str, Any]:
        return {
            "fields": load.fields.counts.as_dict(),
            "read_at": load.read_at.isoformat(),
            **self.unit.as_dict(),
            "raw": self.raw,
            "parquet": self.parquet,
            "language": self.language,
            "zone": self.zone,
            "range_date": self.range_date,
        }
