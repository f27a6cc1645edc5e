"""Storage of findings in `bms.contract`, with alarms for changes and contradicted settings."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from bms_flows.contract.finding import ContractFinding
from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Extent
from bms_flows.runtime.step_log import Step
from bms_warehouse.tables import contract


def store(
    connection: Connection, findings: Sequence[ContractFinding], step: Step, step_run_id: int
) -> dict[str, list[str]]:
    """Store findings in the caller's transaction; raise and close their alarms.

    Returns the names of the findings that are `known`, `undetermined` and `changed`, and of the
    settings that are `contradicted`.
    """
    now = datetime.now(UTC)
    columns = contract.c
    query = select(columns.finding, columns.since, columns.value, columns.summary)
    # A later row replaces an earlier one.
    rows = {row.finding: row for row in connection.execute(query.order_by(columns.since))}
    changed: list[str] = []
    for finding in findings:
        stored = rows.get(finding.name)
        before: Any = stored.value if stored else None
        value = finding.value if finding.known else before  # undetermined: changes nothing known
        if finding.cumulative and finding.known and before is not None:
            before, value = sorted(before), sorted({*before, *value})
        now_different = before is not None and value != before
        row = _row(finding, value, now, step_run_id)
        if stored is None or now_different or (before is None and finding.known):
            connection.execute(insert(contract).values(since=now, **row))
        elif finding.known or before is None:
            latest_row = (columns.finding == finding.name) & (columns.since == stored.since)
            connection.execute(update(contract).where(latest_row).values(row))
        _alarm(connection, finding, stored if now_different else None, step)
        if now_different:
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


def _alarm(connection: Connection, finding: ContractFinding, previous: Any, step: Step) -> None:
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
