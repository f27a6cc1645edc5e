"""Publishing a run of a mirror: rows, versions, who is gone, quarantine, in one transaction."""

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from sqlalchemy import Connection

from bms.counters import Counters
from bms_flows.mirror.diff import Intake
from bms_flows.mirror.resource import Resource
from bms_flows.runtime import quarantine, step_log
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.reasons import MIRROR_REASONS
from bms_flows.runtime.step_log import RowCounts
from bms_warehouse import loads, mirrors
from bms_warehouse.database import clock

EVER = (date(1, 1, 1), date(9999, 12, 31))


class NotBalanced(RuntimeError):
    """Rows read and rows accounted for differ: another writer was at work; nothing was published."""


@dataclass(kw_only=True)
class Outcome:
    """What a run has staged, and what it knows of rows that are gone."""

    resource: Resource
    step_run_id: int
    intake: Intake
    staged: set[Key]
    missing: list[Key]
    agreed: bool
    asks: int
    """Rows that are gone and too many to be marked without asking."""
    whole: bool
    private: bool
    details: dict[str, Any]
    counts: RowCounts = field(default_factory=RowCounts)

    @property
    def state(self) -> str:
        """How the run ends: complete, unstable, or suspect."""
        if not self.agreed:
            return "unstable"
        return "suspect" if self.asks else "complete"

    @property
    def told(self) -> str | None:
        """What a person reads of a run that isn't complete."""
        if self.state == "complete":
            return None
        reason = MIRROR_REASONS["unstable" if not self.agreed else "many_gone"]
        many = f" Gone: {self.asks}." if self.asks else ""
        return f"{reason.meaning}{many} {reason.remedy}"

    @property
    def summary(self) -> str:
        """What the log says of a run at its end."""
        counts = ", ".join(f"{name} {count}" for name, count in vars(self.counts).items())
        return f"{self.state}; {counts}".replace("rows_read", "read")

    @property
    def manifest(self) -> dict[str, Any]:
        """Return what goes into the XCom: state, numbers, where the answers are."""
        return {
            "step_run_id": self.step_run_id,
            "state": self.state,
            **vars(self.counts),
            **self.details,
        }


def publish(connection: Connection, outcome: Outcome, counters: Counters) -> None:
    """Write all of a run within the caller's transaction, seen now, and record its step.

    Runs of other entities write the same tables; they take turns.
    """
    resource, intake = outcome.resource, outcome.intake
    mirrors.take_turns(connection, resource.table)
    at = clock(connection)
    id_entity = intake.source.constants.get("_entity", 0)
    if "_entity" in resource.constants:
        mirrors.leave_to_others(connection, resource.table, "_entity")
    mirrors.complete_staged(connection, resource.table, resource.only_read)
    mirrors.leave_unread(connection, resource.table, [*intake.unread])
    merged = loads.merge(
        connection,
        resource.table,
        resource.versions,
        step_run_id=outcome.step_run_id,
        observed_at=at,
    )
    mirrors.follow(connection, resource.table)
    if resource.private and outcome.private:
        loads.merge(
            connection,
            resource.private.table,
            resource.private.versions,
            step_run_id=outcome.step_run_id,
            observed_at=at,
        )
    counts = _counts(outcome, merged.inserted, merged.changed)
    counts.missing = mirrors.mark_missing(
        connection,
        resource.table,
        resource.versions,
        outcome.missing,
        step_run_id=outcome.step_run_id,
        observed_at=at,
    )
    outcome.counts = counts
    quarantine.save(
        connection,
        intake.aside.values(),
        resource=resource.name,
        id_entity=id_entity,
        step_run_id=outcome.step_run_id,
        at=at,
    )
    if outcome.whole and outcome.agreed:
        quarantine.release(
            connection,
            resource=resource.name,
            id_entity=id_entity,
            days=EVER,
            step_run_id=outcome.step_run_id,
        )
    step_log.finish(
        connection,
        outcome.step_run_id,
        state=outcome.state,
        counts=counts,
        service=counters,
        reason=outcome.told,
        details=outcome.details,
        at=at,
    )


def _counts(outcome: Outcome, inserted: int, changed: int) -> RowCounts:
    """Count rows: each that a list or a detail returned is loaded, as it stood, or set aside."""
    intake = outcome.intake
    lost = intake.changed.keys() - outcome.staged - intake.bad
    if lost or inserted + changed > len(outcome.staged):
        raise NotBalanced(f"{outcome.resource.name}: {len(lost)} rows read and not loaded")
    returned = intake.seen | outcome.staged
    quarantined = len(intake.bad) + intake.keyless
    read = len(returned) + intake.keyless
    return RowCounts(
        rows_read=read,
        inserted=inserted,
        changed=changed,
        unchanged=read - quarantined - inserted - changed,
        quarantined=quarantined,
    )
