"""Receipt of a drop: each row in exactly one state, and control totals."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Row

from bms.errors import Forbidden
from bms_flows.onboarding.faults import Fault, fault_from_json
from bms_flows.onboarding.ledger.entering import verified_fields
from bms_flows.onboarding.ledger.entry import Entry, State
from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.planning import approval
from bms_flows.onboarding.planning.matching import finders_of
from bms_flows.onboarding.planning.plan import Action
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.duplicates import (
    DuplicateFinding,
    appeared,
    contradictions,
    find_duplicates,
)
from bms_flows.onboarding.reporting.report import (
    Candidate,
    OutcomeState,
    RowOutcome,
    counts,
)
from bms_flows.onboarding.resources import body
from bms_flows.onboarding.resources.evidence import contradicted
from bms_flows.onboarding.resources.normal_forms import NAMES
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_flows.onboarding.sending.drop_lists import DropLists
from bms_flows.onboarding.sending.verify import MAX_CONCURRENT_READS, bodies_with_managers
from bms_flows.runtime.concurrently import gather_bounded

FORMAT = 1
"""Version of the receipt format."""

OF_PLAN = ("id", "state", "bound", "counts", "breaches", "decided_by", "decided_at")
"""What the receipt has of the plan."""

CONTRADICTED: Final[Mapping[str, Collection[OutcomeState]]] = {
    "created_not_found": {"created"},
    "duplicate_found": {"created", "adopted", "already_there"},
    "refused_but_created": {"rejected"},
}
"""States, by contradiction of the service, in which it sends a row of this drop to review."""
OTHER_DATA, OTHER_NAME = "other_data", "created_with_other_name"
"""Codes of rows whose record has other data; only these rows list differences."""


class NotBalanced(RuntimeError):
    """The control totals differ; no receipt is written."""


async def make_receipt(snapshots: DropLists, plan_id: str) -> tuple[list[RowOutcome], bytes]:
    """Return the outcome of each row of a drop and the content of its `receipt.json`.

    Works for plans that were applied, refused or made in a dry run. A later receipt has the outcomes at
    that time.
    """
    ledger, remote, sheet = snapshots.ledger, snapshots.remote, snapshots.sheet
    plan = await asyncio.to_thread(approval.Plans(ledger.engine, snapshots.drop_id).load, plan_id)
    entries = await ledger.by_key({row["key"] for row in plan.rows if row["key"]})
    sent = [entry.id for entry in entries.values()]
    fields = await asyncio.to_thread(verified_fields, ledger.engine, sent)
    values = {row.line: row.values for row in sheet.rows}
    findings: list[DuplicateFinding] = []
    contradicting: dict[int, tuple[str, Collection[str]]] = {}
    shown: ServiceLists | None = None
    if plan.state == "applied" and entries:
        shown = await snapshots.refresh()
        findings = await find_duplicates(ledger, remote.identity, [*shown.records.values()])
        identifying = {*NAMES, *remote.resource.key} - {remote.identity.scope}
        contradicting = contradictions(entries.values(), fields, shown, findings, identifying)
        likenesses = {r["key"]: finders_of(sheet, remote.identity)[r["line"]] for r in plan.rows}
        similar = appeared(entries.values(), likenesses, await snapshots.appeared(shown))
        contradicting = {**similar, **contradicting}

    async def complete(row: Mapping[str, Any]) -> RowOutcome:
        entry = entries.get(row["key"])
        outcome = outcome_of(
            row, plan.state, entry, fields.get(entry.id) if entry else None, plan.drop_id
        )
        code, ids = contradicting.get(entry.id if entry else 0, ("", ()))
        # A record that replaces the row's deleted one is no duplicate.
        own = entry is not None and outcome.guid in (None, entry.remote_id)
        if own and outcome.state in CONTRADICTED.get(code, ()):
            outcome = replace(
                outcome,
                state="needs_review",
                faults=(Fault(code, outcome.line),),
                candidates=tuple(Candidate(guid=each, evidence=code) for each in ids),
            )
        elif shown is not None and await _deleted(remote, shown, outcome):
            deleted = (Fault("record_deleted", outcome.line),)
            outcome = replace(outcome, state="needs_review", faults=deleted)
        given = values[row["line"]]
        if await _has_other_name(remote, outcome, given):
            other_name = (Fault(OTHER_NAME, outcome.line),)
            outcome = replace(outcome, state="needs_review", faults=other_name)
        differences = await _differences(ledger, remote, outcome, entry, given)
        found = [each.numbered(shown.records if shown else {}) for each in outcome.candidates]
        key = remote.resource.row_label(given)
        return replace(outcome, key=key, candidates=found, differences=differences)

    outcomes = await gather_bounded(complete, plan.rows, at_once=MAX_CONCURRENT_READS)
    return outcomes, receipt(plan, sheet, outcomes, findings)


def outcome_of(
    row: Mapping[str, Any],
    plan_state: str,
    entry: Entry | None,
    fields: Mapping[str, Sequence[str]] | None,
    drop_id: int,
) -> RowOutcome:
    """Return the outcome of a planned row of a drop, from its action and its ledger entry. Pure."""
    line, there = row["line"], row["action"] == Action.ALREADY_THERE
    own = entry if entry and entry.made and entry.drop_id == drop_id else None
    if there and own and own.remote_id == row["remote_id"] and plan_state == "applied":
        return _by_entry(row, own, fields or {}, drop_id)  # an earlier run made it
    if there or row["action"] in (Action.REJECTED, Action.MANUAL_CHANGE):
        return _by_plan(row)
    if entry is None or (plan_state != "applied" and entry.state is not State.REVIEW):
        # The row was not entered: dry run, or the plan is not approved.
        if row["action"] == Action.REVIEW:
            return _undecided(line, row["reason"], row["candidates"], row.get("details"))
        code = "in_flight" if row["action"] == Action.RESUME else "not_approved"
        return RowOutcome(line=line, state="waiting", faults=(Fault(code, line),))
    if entry.digest != row["digest"]:
        code = "waits_with_other_data" if entry.state is State.REVIEW else "in_flight_other_data"
        return replace(
            _undecided(line, code, (), {"drop": str(entry.drop_id)}),
            guid=entry.remote_id,
            id=entry.remote_number,
            is_standby=entry.is_standby,
        )
    return _by_entry(row, entry, fields or {}, drop_id)


def _by_plan(row: Mapping[str, Any]) -> RowOutcome:
    """Return the outcome of a row that the plan finishes."""
    line, reason = row["line"], row["reason"]
    if row["action"] == Action.REJECTED:
        faults = tuple(fault_from_json(fault, line) for fault in row["faults"])
        return RowOutcome(line=line, state="rejected", faults=faults)
    there = row["action"] == Action.ALREADY_THERE
    return RowOutcome(
        line=line,
        state="already_there" if there else "needs_review",
        guid=row["remote_id"],
        id=row["remote_number"],
        is_standby=row["is_standby"],
        evidence=(reason or "same_data") if there else "",
        faults=() if there else (Fault(reason, line, details=row.get("details") or {}),),
        candidates=tuple(Candidate(guid=each) for each in row["candidates"]),
    )


def _by_entry(
    row: Mapping[str, Any], entry: Entry, fields: Mapping[str, Sequence[str]], drop_id: int
) -> RowOutcome:
    line = row["line"]
    match entry.state:
        case State.CREATED | State.ADOPTED:
            different = fields.get("different", ())
            if entry.existed and different:
                state: OutcomeState = "needs_review"
            elif entry.existed or (entry.drop_id != drop_id and row["action"] != Action.REVIEW):
                # The report of the drop that last entered the row, or asked a reviewer, has the creation.
                state = "already_there"
            else:
                state = "created" if entry.state is State.CREATED else "adopted"
            return RowOutcome(
                line=line,
                state=state,
                guid=entry.remote_id,
                id=entry.remote_number,
                is_standby=entry.is_standby,
                evidence=" ".join([*entry.evidence, *(f"differs:{name}" for name in different)]),
                verified=tuple(fields.get("equal", ())),
                unverifiable=tuple(fields.get("unreadable", ())),
                faults=(Fault(OTHER_DATA, line),) if state == "needs_review" else (),
            )
        case State.REJECTED | State.GIVEN_UP:
            code = entry.reason or ""
            code, _, status = code.partition("_") if code[:8] == "refused_" else (code, "", "")
            fault = Fault(code, line, details={"status": status})
            return RowOutcome(line=line, state="rejected", faults=(fault,))
        case State.REVIEW:
            details = row.get("details") if entry.reason == row["reason"] else None
            return _undecided(line, entry.reason or "attempts_used", entry.candidates, details)
        case State.READY | State.SENDING | State.UNKNOWN:
            waits = entry.state is State.READY and entry.manager_key is not None
            code = "waits_for_manager" if waits else "in_flight"
            return RowOutcome(line=line, state="waiting", faults=(Fault(code, line),))


def _undecided(
    line: int, reason: str, candidates: Sequence[str], details: Mapping[str, str] | None = None
) -> RowOutcome:
    return RowOutcome(
        line=line,
        state="needs_review",
        faults=(Fault(reason, line, details=details or {}),),
        candidates=tuple(Candidate(guid=each, evidence=reason) for each in candidates),
    )


def receipt(
    plan: Row[*tuple[Any, ...]],
    sheet: Sheet,
    outcomes: Sequence[RowOutcome],
    findings: Sequence[DuplicateFinding],
) -> bytes:
    """Return the receipt as JSON; raise `NotBalanced` unless each row has exactly one outcome."""
    ended = counts(outcomes)
    lines = [outcome.line for outcome in outcomes]
    if sorted(lines) != sorted(row.line for row in sheet.rows) or sum(ended.values()) != len(lines):
        raise NotBalanced(f"the file has {len(sheet.rows)} rows, the receipt {len(lines)}")
    content = {
        "format": FORMAT,
        "drop": plan.drop_id,
        "resource": plan.resource,
        "made_at": datetime.now(UTC),
        "file_sha256": sheet.sha256,
        "plan": {name: getattr(plan, name) for name in OF_PLAN},
        "rows_in": len(sheet.rows),
        "left_out": [{"code": note.code, "line": note.line} for note in sheet.notes],
        "counts": ended,
        "rows": [outcome.as_dict() for outcome in outcomes],
        "audit": [
            {name: value for name, value in asdict(finding).items() if name != "key"}
            for finding in findings
        ],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2)


async def _deleted(remote: ServiceRemote, shown: ServiceLists, outcome: RowOutcome) -> bool:
    """Return whether a user of the service deleted the record of a row since the plan.

    A record that an earlier drop created may not be readable yet; the plan decides when it counts as missing.
    """
    remote_id, by_us = outcome.guid or "", outcome.evidence == "by_us"
    if outcome.state in ("created", "adopted", "already_there") and shown.contains(remote_id):
        return shown.shows_deleted(remote_id)
    with suppress(Forbidden):
        return (
            outcome.state == "already_there" and not by_us and await remote.read(remote_id) is None
        )
    return False


async def _has_other_name(
    remote: ServiceRemote, outcome: RowOutcome, values: Mapping[str, Any]
) -> bool:
    """Return whether the service stored a created row under another name or date, not only in another form."""
    differing = {each.removeprefix("differs:") for each in outcome.evidence.split()}
    sent = remote.identity.comparison_digests(values)
    if outcome.state not in ("created", "adopted") or differing.isdisjoint({*NAMES, *sent}):
        return False
    record = await remote.read_permitted(outcome.guid or "")
    return record is not None and contradicted(sent, remote.known(record).comparison_fields)


async def _differences(
    ledger: PostgresLedger,
    remote: ServiceRemote,
    outcome: RowOutcome,
    entry: Entry | None,
    values: Mapping[str, Any],
) -> Sequence[body.Difference]:
    """Return the differences of a manual change; reads the record again, since values are not stored."""
    if all(fault.code not in (OTHER_DATA, OTHER_NAME) for fault in outcome.faults):
        return ()
    record = await remote.read_permitted(outcome.guid or "")
    if record is None:
        return ()  # deleted since the plan
    sent = body.build(remote.resource, values)
    if entry is not None and entry.existed:
        sent = (await bodies_with_managers(ledger, [entry])).get(entry.id, sent)
    return body.compare(remote.resource, sent, record).different
