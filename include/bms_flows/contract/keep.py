"""Findings kept with their dates in `bms.contract`, and people told of what changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.dialects.postgresql import distinct_on

from bms_flows.contract.finding import Finding
from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Extent
from bms_flows.runtime.step_log import Step
from bms_warehouse.tables import contract


@dataclass(frozen=True)
class Stands:
    """What stands of a finding: since when, and what."""

    since: datetime
    value: Any
    told: str


@dataclass(frozen=True)
class Verdict:
    """What becomes of a finding beside what stands of it."""

    anew: bool
    """Whether it is a row of its own, with its own date."""
    changed: bool
    """Whether the service does otherwise than it was known to."""
    value: Any


def verdict(finding: Finding, stands: Stands | None) -> Verdict:
    """Judge one finding; pure. Not being able to tell changes nothing that is known."""
    if stands is None:
        return Verdict(True, False, finding.value)
    if not finding.known:
        return Verdict(False, False, stands.value)
    if stands.value is None:
        return Verdict(True, False, finding.value)
    if finding.grows:
        both = sorted({*stands.value, *finding.value})
        changed = both != sorted(stands.value)
        return Verdict(changed, changed, both)
    changed = finding.value != stands.value
    return Verdict(changed, changed, finding.value)


def standing(connection: Connection) -> dict[str, Stands]:
    """Return the latest row of each finding."""
    latest = (
        select(contract.c.finding, contract.c.since, contract.c.value, contract.c.told)
        .ext(distinct_on(contract.c.finding))
        .order_by(contract.c.finding, contract.c.since.desc())
    )
    return {name: Stands(*rest) for name, *rest in connection.execute(latest)}


def keep(
    connection: Connection, findings: Sequence[Finding], step: Step, run_id: int
) -> dict[str, list[str]]:
    """Keep `findings` within the caller's transaction, raise and recover their alarms.

    Returns the names of what was found (`known`), left open (`cannot_tell`), `changed`, and of
    the settings that are `contradicted`.
    """
    now = datetime.now(UTC)
    before = standing(connection)
    changed = []
    for finding in findings:
        stands = before.get(finding.name)
        judged = verdict(finding, stands)
        row = _row(finding, judged.value, now, run_id)
        if judged.anew or stands is None:
            connection.execute(insert(contract).values(since=now, **row))
        elif finding.known or stands.value is None:
            connection.execute(
                update(contract)
                .where(contract.c.finding == finding.name, contract.c.since == stands.since)
                .values(row)
            )
        _alarm(connection, finding, stands if judged.changed else None, step)
        if judged.changed:
            changed.append(finding.name)
    contradicted = _contradictions(connection, findings, step)
    return {
        "known": [each.name for each in findings if each.known],
        "cannot_tell": [each.name for each in findings if not each.known],
        "changed": changed,
        "contradicted": contradicted,
    }


def _row(finding: Finding, value: Any, now: datetime, run_id: int) -> Mapping[str, Any]:
    told = finding.told
    if finding.grows and finding.known and value != finding.value:
        told = f"{told} Seen before too: {', '.join(sorted({*value} - {*finding.value}))}."
    return {
        "finding": finding.name,
        "state": "known" if finding.known else "cannot_tell",
        "value": value,
        "told": told,
        "setting": finding.setting,
        "advice": finding.advice,
        "last_seen_at": now,
        "run_id": run_id,
    }


def _alarm(connection: Connection, finding: Finding, was: Stands | None, step: Step) -> None:
    """Tell of a change; it is over once the service was seen so again."""
    subject = f"contract {finding.name}"
    if was is not None:
        alarms.raise_(
            connection,
            "contract_changed",
            subject,
            detail=f"Now: {finding.told} Since {was.since:%Y-%m-%d}: {was.told}",
            extent=Extent([finding.told]),
            flow=step.flow,
            dag_run_id=step.dag_run_id,
        )
    elif finding.known:
        alarms.recover(connection, subject)


def _contradictions(connection: Connection, findings: Sequence[Finding], step: Step) -> list[str]:
    """Tell of settings that say otherwise than the service does; return them."""
    found = []
    for finding in findings:
        if finding.setting is None:
            continue
        if finding.advice:
            found.append(finding.setting)
            alarms.raise_(
                connection,
                "setting_contradicted",
                finding.setting,
                detail=f"{finding.told} {finding.advice}",
                extent=Extent([f"{finding.name}: {finding.advice}"]),
                flow=step.flow,
                dag_run_id=step.dag_run_id,
            )
        elif finding.known or finding.agrees:
            alarms.recover(connection, finding.setting)
    return found
