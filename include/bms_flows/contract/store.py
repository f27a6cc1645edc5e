"""Storage of findings in `bms.contract`, with alarms for changes and contradicted settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from bms_flows.contract.finding import ContractFinding
from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Extent
from bms_flows.runtime.step_log import Step
from bms_warehouse.tables import contract


@dataclass(frozen=True)
class StoredFinding:
    """The latest row of a finding."""

    since: datetime
    value: Any
    summary: str


@dataclass(frozen=True)
class FindingChange:
    """A finding compared with its latest row."""

    new_row: bool
    """Whether the finding is stored as a new row with a new date."""
    changed: bool
    """Whether the service behaves differently from before."""
    value: Any


def compare(finding: ContractFinding, stored: StoredFinding | None) -> FindingChange:
    """Compare a finding with its latest row; an undetermined finding changes nothing known."""
    if stored is None:
        return FindingChange(True, False, finding.value)
    if not finding.known:
        return FindingChange(False, False, stored.value)
    if stored.value is None:
        return FindingChange(True, False, finding.value)
    if finding.cumulative:
        union = sorted({*stored.value, *finding.value})
        changed = union != sorted(stored.value)
        return FindingChange(changed, changed, union)
    changed = finding.value != stored.value
    return FindingChange(changed, changed, finding.value)


def latest(connection: Connection) -> dict[str, StoredFinding]:
    """Return the latest row of each finding by name."""
    rows = select(contract.c.finding, contract.c.since, contract.c.value, contract.c.summary)
    found = connection.execute(rows.order_by(contract.c.since))
    # A later row replaces an earlier one.
    return {name: StoredFinding(*rest) for name, *rest in found}


def store(
    connection: Connection, findings: Sequence[ContractFinding], step: Step, step_run_id: int
) -> dict[str, list[str]]:
    """Store findings in the caller's transaction; raise and close their alarms.

    Returns the names of the findings that are `known`, `undetermined` and `changed`, and of the
    settings that are `contradicted`.
    """
    now = datetime.now(UTC)
    rows = latest(connection)
    changed = []
    for finding in findings:
        stored = rows.get(finding.name)
        change = compare(finding, stored)
        row = _row(finding, change.value, now, step_run_id)
        if stored is None or change.new_row:
            connection.execute(insert(contract).values(since=now, **row))
        elif finding.known or stored.value is None:
            connection.execute(
                update(contract)
                .where(contract.c.finding == finding.name, contract.c.since == stored.since)
                .values(row)
            )
        _alarm(connection, finding, stored if change.changed else None, step)
        if change.changed:
            changed.append(finding.name)
    return {
        "known": [each.name for each in findings if each.known],
        "undetermined": [each.name for each in findings if not each.known],
        "changed": changed,
        "contradicted": _contradictions(connection, findings, step),
    }


def _row(
    finding: ContractFinding, value: Any, now: datetime, step_run_id: int
) -> Mapping[str, Any]:
    summary = finding.summary
    if finding.cumulative and finding.known and value != finding.value:
        summary += f" Seen before: {', '.join(sorted({*value} - {*finding.value}))}."
    return {
        "finding": finding.name,
        "state": "known" if finding.known else "undetermined",
        "value": value,
        "summary": summary,
        "setting": finding.setting,
        "advice": finding.advice,
        "last_seen_at": now,
        "step_run_id": step_run_id,
    }


def _alarm(
    connection: Connection, finding: ContractFinding, previous: StoredFinding | None, step: Step
) -> None:
    """Raise an alarm for a change; close it when a later probe confirms the new behaviour."""
    subject = f"contract {finding.name}"
    if previous is not None:
        alarms.raise_(
            connection,
            "contract_changed",
            subject,
            detail=f"Now: {finding.summary} Since {previous.since:%Y-%m-%d}: {previous.summary}",
            extent=Extent([finding.summary]),
            flow=step.flow,
            dag_run_id=step.dag_run_id,
        )
    elif finding.known:
        alarms.recover(connection, subject)


def _contradictions(
    connection: Connection, findings: Sequence[ContractFinding], step: Step
) -> list[str]:
    """Return the settings that contradict the service; raise and close their alarms."""
    contradicted = []
    for finding in findings:
        if finding.setting is None:
            continue
        if finding.advice:
            contradicted.append(finding.setting)
            alarms.raise_(
                connection,
                "setting_contradicted",
                finding.setting,
                detail=f"{finding.summary} {finding.advice}",
                extent=Extent([f"{finding.name}: {finding.advice}"]),
                flow=step.flow,
                dag_run_id=step.dag_run_id,
            )
        elif finding.known or finding.agrees:
            alarms.recover(connection, finding.setting)
    return contradicted
