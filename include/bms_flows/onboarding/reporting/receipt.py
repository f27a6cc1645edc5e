"""The receipt of a drop: each row in exactly one state, and all rows counted."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Row

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.faults.rows import RowFault, restored
from bms_flows.onboarding.ledger.entry import Entry, State
from bms_flows.onboarding.planning.approval import kept
from bms_flows.onboarding.planning.plan import Action
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.audit import Finding, audit
from bms_flows.onboarding.reporting.outcome import Candidate, Difference, Outcome, counts
from bms_flows.onboarding.reporting.outcome import State as Ended
from bms_flows.onboarding.resources import body
from bms_flows.onboarding.sending import drop_snapshot
from bms_flows.onboarding.sending.verify import READS_AT_ONCE, bodies_with_managers, verified_fields
from bms_flows.runtime.concurrently import gather_bounded

FORMAT = 1
"""Raised when the receipt's form changes."""


OTHER_DATA = "other_data"
"""Code of a row whose record has other data; only there fields are compared by value."""


class NotBalanced(RuntimeError):
    """Rows in and rows accounted for differ; no receipt is written."""


async def make_receipt(
    onboarding: OnboardingContext, drop_id: int, plan_id: str, sheet: Sheet
) -> tuple[list[Outcome], bytes]:
    """Return the outcome of every row of a drop and the content of its `receipt.json`.

    It covers plans that were applied, refused or made in a dry run. Repeatable: a later receipt
    states what has become of the rows since.
    """
    plan = await asyncio.to_thread(kept, onboarding, drop_id, plan_id)
    entries = await onboarding.ledger.by_key({row["key"] for row in plan.rows if row["key"]})
    fields = await asyncio.to_thread(verified_fields, onboarding, [e.id for e in entries.values()])
    values = {row.line: row.values for row in sheet.rows}
    findings: list[Finding] = []
    if plan.state == "applied" and entries:
        shown, _ = await drop_snapshot.refresh(onboarding, drop_id, sheet)
        findings = await audit(onboarding, list(shown.records.values()))

    async def end(row: Mapping[str, Any]) -> Outcome:
        entry = entries.get(row["key"])
        outcome = outcome_of(row, plan.state, entry, fields.get(entry.id) if entry else None)
        given = values[row["line"]]
        differences = await _differences(onboarding, outcome, entry, given)
        return replace(outcome, key=onboarding.resource.told(given), differences=differences)

    outcomes = await gather_bounded(end, plan.rows, at_once=READS_AT_ONCE)
    return outcomes, receipt(plan, sheet, outcomes, findings)


def outcome_of(
    row: Mapping[str, Any],
    plan_state: str,
    entry: Entry | None,
    fields: Mapping[str, Sequence[str]] | None,
) -> Outcome:
    """Return the one state of a planned row, by what was planned and where the ledger stands. Pure."""
    line = row["line"]
    if row["action"] in (Action.REJECTED, Action.ALREADY_THERE, Action.MANUAL_CHANGE):
        return _by_plan(row)
    if entry is None or (plan_state != "applied" and entry.state is not State.REVIEW):
        # Nothing of this row was entered: a dry run, or a plan nobody has agreed to (yet).
        if row["action"] == Action.REVIEW:
            return _undecided(line, row["reason"], row["candidates"])
        code = "underway" if row["action"] == Action.RESUME else "not_approved"
        return Outcome(line=line, state="waiting", faults=(RowFault(code, line),))
    if entry.digest != row["digest"]:
        fault = RowFault("other_data_underway", line)
        return Outcome(
            line=line,
            state="needs_review",
            guid=entry.remote_id,
            id=entry.remote_number,
            is_standby=entry.is_standby,
            faults=(fault,),
        )
    return _by_entry(line, entry, fields or {})


def _by_plan(row: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a row that is done with when it is planned."""
    line, reason = row["line"], row["reason"]
    if row["action"] == Action.REJECTED:
        faults = tuple(restored(fault, line) for fault in row["faults"])
        return Outcome(line=line, state="rejected", faults=faults)
    there = row["action"] == Action.ALREADY_THERE
    return Outcome(
        line=line,
        state="already_there" if there else "needs_review",
        guid=row["remote_id"],
        id=row["remote_number"],
        is_standby=row["is_standby"],
        evidence=(reason or "same_data") if there else "",
        faults=() if there else (RowFault(reason, line),),
        candidates=tuple(Candidate(guid=each) for each in row["candidates"]),
    )


def _by_entry(line: int, entry: Entry, fields: Mapping[str, Sequence[str]]) -> Outcome:
    match entry.state:
        case State.CREATED | State.ADOPTED:
            different = fields.get("different", ())
            if entry.existed and different:
                state: Ended = "needs_review"
            elif entry.existed:
                state = "already_there"
            else:
                state = "created" if entry.state is State.CREATED else "adopted"
            return Outcome(
                line=line,
                state=state,
                guid=entry.remote_id,
                id=entry.remote_number,
                is_standby=entry.is_standby,
                evidence=" ".join([*entry.evidence, *(f"differs:{name}" for name in different)]),
                verified=tuple(fields.get("equal", ())),
                unverifiable=tuple(fields.get("unreadable", ())),
                faults=(RowFault(OTHER_DATA, line),) if state == "needs_review" else (),
            )
        case State.REJECTED | State.GIVEN_UP:
            reason = entry.reason or ""
            code, _, status = (
                reason.partition("_") if reason[:8] == "refused_" else (reason, "", "")
            )
            fault = RowFault(code, line, details={"status": status})
            return Outcome(line=line, state="rejected", faults=(fault,))
        case State.REVIEW:
            return _undecided(line, entry.reason or "attempts_used", entry.candidates)
        case State.READY | State.SENDING | State.UNKNOWN:
            waits = entry.state is State.READY and entry.manager_key is not None
            code = "waits_for_manager" if waits else "underway"
            return Outcome(line=line, state="waiting", faults=(RowFault(code, line),))


def _undecided(line: int, reason: str, candidates: Sequence[str]) -> Outcome:
    return Outcome(
        line=line,
        state="needs_review",
        faults=(RowFault(reason, line),),
        candidates=tuple(Candidate(guid=each, evidence=reason) for each in candidates),
    )


def receipt(
    plan: Row[*tuple[Any, ...]],
    sheet: Sheet,
    outcomes: Sequence[Outcome],
    findings: Sequence[Finding],
) -> bytes:
    """Return the receipt as JSON; raise `NotBalanced` unless every row in is accounted for once."""
    ended = counts(outcomes)
    lines = [outcome.line for outcome in outcomes]
    if sorted(lines) != sorted(row.line for row in sheet.rows) or sum(ended.values()) != len(lines):
        raise NotBalanced(f"{len(sheet.rows)} rows in, {len(lines)} accounted for")
    content = {
        "format": FORMAT,
        "drop": plan.drop_id,
        "resource": plan.resource,
        "made_at": datetime.now(UTC),
        "file_sha256": sheet.sha256,
        "plan": {
            "id": plan.id,
            "state": plan.state,
            "bound": plan.bound,
            "counts": plan.counts,
            "breaches": plan.breaches,
            "decided_by": plan.decided_by,
            "decided_at": plan.decided_at,
        },
        "rows_in": len(sheet.rows),
        "counts": ended,
        "rows": [outcome.as_dict() for outcome in outcomes],
        "audit": [
            {name: value for name, value in asdict(finding).items() if name != "key"}
            for finding in findings
        ],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2)


async def _differences(
    onboarding: OnboardingContext, outcome: Outcome, entry: Entry | None, values: Mapping[str, Any]
) -> tuple[Difference, ...]:
    """Return a manual change field by field; its values are read again, the ledger stores none."""
    if all(fault.code != OTHER_DATA for fault in outcome.faults):
        return ()
    record = await onboarding.remote.read(outcome.guid or "")
    if record is None:
        return ()  # it has gone since the plan
    sent = body.build(onboarding.resource, values)
    if entry is not None and entry.existed:
        sent = (await bodies_with_managers(onboarding, [entry])).get(entry.id, sent)
    return tuple(
        Difference(
            field=each.name,
            ours=str(each.ours),
            theirs="" if each.theirs is None else str(each.theirs),
        )
        for each in body.compare(onboarding.resource, sent, record).different
    )
