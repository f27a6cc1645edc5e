"""Publication of a mirror run in one transaction: rows, versions, removals and quarantine."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, Text, and_, cast, func, select

from bms.counters import Counters
from bms_flows.mirror import cache
from bms_flows.mirror.diff import ListDiff
from bms_flows.mirror.profile import REMOVED, mirror_profile
from bms_flows.mirror.resource import MirroredResource
from bms_flows.runtime import manifest, profiles, quarantine, step_log
from bms_flows.runtime.checks import Finding, judge
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_id import ListId
from bms_flows.runtime.profile import Profile
from bms_flows.runtime.step_log import RowCounts
from bms_warehouse import loads, mirrors, tables
from bms_warehouse.database import clock
from bms_warehouse.history import Stamp
from bms_warehouse.locks import serialize

ACCEPT = "To publish the same changes, run with accept_gone."


class ControlTotalMismatch(RuntimeError):
    """Read and published rows differ: another process wrote to the tables; nothing was published."""


@dataclass(kw_only=True)
class MirrorOutcome:
    """Result of a run before its publication: staged rows and removed rows."""

    step_run_id: int
    diff: ListDiff
    staged: set[Key]
    removed: list[Key]
    lost: int
    """Number of removed rows that are on no undo sheet."""
    agreed: bool
    current: int
    """Rows of the mirror before the run."""
    accept: bool
    """Whether an operator accepts the removals, and what the latest run was held for."""
    accepted_by: str | None
    excess: int
    """Number of missing rows if an operator must accept the removals, otherwise 0."""
    private: bool
    details: dict[str, Any]
    counts: RowCounts = field(default_factory=RowCounts)
    findings: Sequence[Finding] = ()
    """Failed checks, for which the whole run is held."""

    @property
    def resource(self) -> MirroredResource:
        """The resource of the run."""
        return self.diff.resource

    @property
    def rows_read(self) -> int:
        """Number of rows of lists and details."""
        seen = self.diff.seen
        return len(seen) + sum(key not in seen for key in self.staged) + self.diff.keyless

    @property
    def list_id(self) -> ListId:
        """The list of the run."""
        return ListId(self.resource.name, self.diff.source.id_entity or 0)

    @property
    def state(self) -> str:
        """State of the step: complete, unstable or suspect."""
        if self.findings:
            return "suspect"
        if not self.agreed:
            return "unstable"
        return "suspect" if self.excess else "complete"

    @property
    def reason(self) -> str | None:
        """Meaning and remedy of an incomplete run; None if the run is complete."""
        if self.findings:
            held = "The run is held for review; the mirror keeps its former rows."
            return "\n".join([held, *(str(each) for each in self.findings), ACCEPT])
        if self.state == "complete":
            return None
        from bms_flows.texts import ALARMS, MANY_GONE  # noqa: PLC0415 - as in `checks`

        message = MANY_GONE if self.agreed else ALARMS["unstable"]
        many = f" Missing: {self.excess}." if self.excess else ""
        return f"{message.meaning}{many} {message.do}"

    @property
    def summary(self) -> str:
        """State and counts for the log."""
        counts = ", ".join(f"{name} {count}" for name, count in vars(self.counts).items())
        return f"{self.state}; {counts}".replace("rows_read", "read")

    @property
    def manifest(self) -> dict[str, Any]:
        """Manifest for XCom: state, counts and the folder of responses."""
        return {
            "version": manifest.VERSION,
            "step_run_id": self.step_run_id,
            "id_entity": self.diff.source.id_entity,
            "state": self.state,
            **vars(self.counts),
            **self.details,
        }


def publish(connection: Connection, outcome: MirrorOutcome, counters: Counters) -> None:
    """Write a run to the tables and finish its step, within the caller's transaction.

    A lock serialises runs of different entities, which write to the same tables.
    """
    serialize(connection, f"publication of {outcome.resource.table}")
    stamp = Stamp(outcome.step_run_id, clock(connection))
    profile, accepted = _judge(connection, outcome)
    if outcome.findings:
        diff = outcome.diff
        outcome.counts = RowCounts(len(diff.seen) + diff.keyless, quarantined=diff.rejected)
        outcome.details = _held_details(outcome)
    else:
        outcome.counts = _publish_rows(connection, outcome, stamp)
        diff = outcome.diff
        if outcome.diff.source.whole and not diff.unchanged:
            cache.save(connection, outcome.list_id, diff.volatile, diff.latest())
        profiles.save(connection, outcome.list_id, stamp, profile, accepted)
    _publish_quarantine(connection, outcome, stamp)
    step_log.finish(
        connection,
        outcome.step_run_id,
        state=outcome.state,
        counts=outcome.counts,
        service=counters,
        reason=outcome.reason,
        details=outcome.details | ({"accepted_by": outcome.accepted_by} if outcome.accept else {}),
        at=stamp.observed_at,
    )


def _judge(connection: Connection, outcome: MirrorOutcome) -> tuple[Profile, dict[str, str | None]]:
    """Judge the staged rows; return their profile, and the measures that an operator accepts.

    An acceptance covers the measures for which the latest run was held, not what is new in this run.
    """
    resource, table = outcome.resource, outcome.resource.table
    if "_entity" in resource.constants:
        mirrors.leave_to_others(connection, table, "_entity")
    mirrors.complete_staged(connection, table, resource.only_read)
    diff = outcome.diff
    profile = mirror_profile(
        connection,
        resource,
        diff.source.id_entity,
        current=outcome.current,
        removed=outcome.lost,
        quarantined=diff.rejected,
        rows_read=outcome.rows_read,
        volatile=diff.volatile,
    )
    found = judge(profile, profiles.earlier(connection, outcome.list_id, ZoneInfo("UTC")))
    accepted: dict[str, str | None] = {}
    if outcome.accept:
        held = profiles.held_measures(connection, outcome.step_run_id)
        accepted = {each: diff.day.isoformat() for each in (REMOVED, *held)}
    outcome.findings = [each for each in found if each.measure not in accepted]
    return profile, accepted


def _held_details(outcome: MirrorOutcome) -> dict[str, Any]:
    """Return the details of a held run; its details count as unread, because no row was written."""
    details = {k: v for k, v in outcome.details.items() if k not in ("turn", "reached", "retried")}
    return {
        **details,
        "violations": sorted({each.code for each in outcome.findings}),
        "measures": [each.measure for each in outcome.findings],
    }


def _publish_rows(connection: Connection, outcome: MirrorOutcome, stamp: Stamp) -> RowCounts:
    """Merge the staged rows, mark the removed rows, and return the counts."""
    resource, table = outcome.resource, outcome.resource.table
    if outcome.diff.invalid_details:
        mirrors.leave_unread(connection, table, [*outcome.diff.invalid_details])
    merged = loads.merge(connection, table, stamp)
    if merged.changed or merged.unchanged:  # an inserted row has all columns of its staged row
        mirrors.follow(connection, table)
    changed = merged.changed
    if outcome.private and resource.private_table is not None:
        loads.merge(connection, resource.private_table, stamp)
        changed += mirrors.private_changes(connection, table, resource.private_table, stamp)
    counts = _counts(outcome, merged.inserted, changed)
    counts.missing = mirrors.mark_missing(connection, table, outcome.removed, stamp)
    return counts


def _publish_quarantine(connection: Connection, outcome: MirrorOutcome, stamp: Stamp) -> None:
    """Save the invalid rows; a complete read of the whole list releases rows that are valid again."""
    quarantine.save(connection, outcome.list_id, stamp, outcome.diff.quarantined.values())
    if outcome.diff.source.whole and outcome.agreed and not outcome.findings:
        unread = _is_unread(outcome.resource)
        earlier = tables.quarantine.c.step_run_id != stamp.step_run_id
        quarantine.release(connection, outcome.list_id, earlier, ~unread)


def _is_unread(resource: MirroredResource) -> ColumnElement[bool]:
    """Return the condition of an invalid detail that no run has read as valid since."""
    table, row_key = resource.table, tables.quarantine.c.row_key
    lacking = select(cast(table.c[resource.key], Text)).where(
        ~table.c["_detailed"], table.c["_removal_reason"].is_distinct_from("missing")
    )
    is_part = func.split_part(row_key, " ", 2).in_(["detail", "private"])
    return and_(is_part, func.split_part(row_key, " ", 1).in_(lacking))


def _counts(outcome: MirrorOutcome, inserted: int, changed: int) -> RowCounts:
    """Count the rows of lists and details: loaded, unchanged or quarantined."""
    diff = outcome.diff
    lost = [key for key in diff.changed if not (key in outcome.staged or key in diff.invalid)]
    if lost or inserted + changed > len(outcome.staged):
        raise ControlTotalMismatch(
            f"{outcome.resource.name}: {len(lost)} rows were read but not loaded"
        )
    read = outcome.rows_read
    return RowCounts(
        rows_read=read,
        inserted=inserted,
        changed=changed,
        unchanged=read - diff.rejected - inserted - changed,
        quarantined=diff.rejected,
    )
