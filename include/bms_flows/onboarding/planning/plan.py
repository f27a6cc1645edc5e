"""Immutable plan of a drop: the action for each row, and whether it needs approval. Pure.

The id of a plan is a hash of its inputs (file, ledger, records, rules) and its actions, so an approval
of the id approves exactly these actions.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.planning.matching import PlanningView
from bms_flows.onboarding.planning.rules import PlanLimits
from bms_flows.onboarding.reading.sheet import LastLine, Sheet
from bms_flows.onboarding.resources.body import Difference, body_digest
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.settings import Approval


class Action(StrEnum):
    """Action for a row."""

    CREATE = "create"
    RESUME = "resume"
    """The ledger has an unfinished row of an earlier drop or try."""
    ALREADY_THERE = "already_there"
    MANUAL_CHANGE = "manual_change"
    """The record exists with other data; the service has no update operation."""
    REJECTED = "rejected"
    REVIEW = "review"
    """A reviewer decides between the candidates."""


@dataclass(frozen=True, kw_only=True)
class PlannedRow:
    """One row of a plan; its repr shows no personal data."""

    line: int
    action: Action
    key: str | None = None
    digest: str = ""
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    manager_key: str | None = None
    faults: tuple[Fault, ...] = ()
    differences: tuple[Difference, ...] = ()
    candidates: tuple[str, ...] = ()
    reason: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    """Of the reason."""
    known: ServiceRecord | None = None

    @cached_property
    def sends(self) -> str:
        """Digest of the create request."""
        return body_digest({**self.body, "manager_key": self.manager_key})


def reject(row: PlannedRow, fault: Fault) -> PlannedRow:
    """Return the row as rejected for one more fault."""
    return replace(row, action=Action.REJECTED, faults=(*row.faults, fault), manager_key=None)


def reject_duplicates(rows: Sequence[PlannedRow]) -> list[PlannedRow]:
    """Reject repeated rows, and every row of a key that comes with different data.

    A row with faults repeats no valid row, but a valid one or another with faults is named.
    """
    by_key: dict[str, list[PlannedRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: bool(row.faults)):
        if row.key is not None:
            by_key[row.key].append(row)
    faults: dict[int, Fault] = {}
    for found in by_key.values():
        valid = [row for row in found if not row.faults]
        equal = all(row.digest == valid[0].digest for row in valid)
        accepted = valid[: equal or len(valid) == 1]
        for row in found:
            other = next((each for each in found if each is not row), None)
            if other is not None and row not in accepted:
                code = "twice_in_file" if equal and not row.faults else "key_twice_in_file"
                faults[row.line] = Fault(code, row.line, details={"other_line": other.line})
    return [reject(row, faults[row.line]) if row.line in faults else row for row in rows]


@dataclass(frozen=True)
class PlanInputs:
    """Digests of the inputs of a plan."""

    file: str
    ledger: str
    seen: str
    rules: str

    @classmethod
    def of(
        cls,
        sheet: Sheet,
        rows: Sequence[PlannedRow],
        view: PlanningView,
        match_keys: Collection[str],
        rules: str,
    ) -> "PlanInputs":
        """Return the digests of a file, the ledger's entries of its rows, the records that may match, the `rules`."""
        entries = (view.entries.get(row.key or "") for row in rows)
        ledger = sorted(
            (e.key, e.state, e.attempt, e.digest, e.remote_id or "") for e in entries if e
        )
        near = {
            known.remote_id: known for each in match_keys for known in view.by_key.get(each, ())
        }
        seen = sorted((k.remote_id, k.fingerprint, k.deleted, k.number) for k in near.values())
        return cls(sheet.sha256, digest(ledger), digest(seen), rules)


@dataclass(frozen=True)
class Plan:
    """The actions for the rows of a drop."""

    resource: str
    bound: PlanInputs
    rows: tuple[PlannedRow, ...] = field(repr=False)
    headcount: int
    """Number of records in the service, within the scopes of the rows."""
    empty_scopes: int = 0
    """Number of these scopes whose lists have no record."""

    @cached_property
    def id(self) -> str:
        """The hash that an approver approves."""
        rows = [(row.line, row.action, row.key, row.sends, row.candidates) for row in self.rows]
        bound = self.bound
        return digest([self.resource, bound.file, bound.ledger, bound.seen, bound.rules, rows])

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of rows by action, zeros included."""
        counts = {action.value: 0 for action in Action}
        for row in self.rows:
            counts[row.action] += 1
        return counts

    @cached_property
    def creates(self) -> dict[str, str]:
        """Digests of the create requests by key; unfinished rows were approved earlier."""
        return {
            row.key: row.sends
            for row in self.rows
            if row.action is Action.CREATE and row.key is not None
        }

    def within(self, approved: Mapping[str, str]) -> bool:
        """Return whether the plan creates only rows and data of `approved`, the `creates` of another plan."""
        return self.creates.items() <= approved.items()


def digest(content: Any) -> str:
    """Return the SHA-256 of `content` in hexadecimal."""
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


@dataclass(frozen=True)
class ApprovalReason:
    """Why a plan needs approval, or does not; `texts.APPROVAL` has the sentence of each code.

    `found` and `limit` are figures in no language; a share of a number is `3 / 4`.
    """

    code: str
    found: str = ""
    limit: str = ""


@dataclass(frozen=True)
class ApprovalDecision:
    """Whether a plan needs approval, and why; the receipt lists the exceeded limits in any case."""

    ask: bool
    reasons: tuple[ApprovalReason, ...]
    breaches: tuple[ApprovalReason, ...] = ()


def breaches(
    plan: Plan, limits: PlanLimits, today: date, unapproved: int = 0
) -> tuple[ApprovalReason, ...]:
    """Return the limits that `plan` exceeds on `today`, counting the rows created `unapproved` today."""
    total, rejected = len(plan.rows), plan.counts[Action.REJECTED]
    created, headcount = len(plan.creates) + unapproved, plan.headcount
    found: list[ApprovalReason] = []
    if total > limits.rows:
        found.append(ApprovalReason("rows", str(total), str(limits.rows)))
    if total and rejected > limits.rejected_share * total:
        share = f"{limits.rejected_share:.0%}"
        found.append(ApprovalReason("rejected", f"{rejected} / {total}", share))
    if headcount >= limits.created_share_from and created > limits.created_share * headcount:
        share = f"{limits.created_share:.0%}"
        found.append(ApprovalReason("created", f"{created} / {headcount}", share))
    far = sum(
        not -limits.start_days_before <= (start - today).days <= limits.start_days_after
        for start in (_start(row.body) for row in plan.rows if row.action is Action.CREATE)
        if start is not None
    )
    if far:
        window = f"-{limits.start_days_before} … +{limits.start_days_after}"
        found.append(ApprovalReason("start_date", str(far), window))
    return tuple(found)


def approval_decision(
    plan: Plan,
    limits: PlanLimits,
    approval: Approval,
    today: date,
    unapproved: int = 0,
    *,
    truncated_at: LastLine | None = None,
    columns_left_out: int = 0,
) -> ApprovalDecision:
    """Decide whether a plan needs approval; a plan that creates no row never does.

    `unapproved`: rows of other drops created today without approval; the limits apply per resource
    and day. `truncated_at`: the last line of a file whose end is missing; the plan then always needs
    approval. `columns_left_out`: filled columns that are not sent; since no record can be corrected
    later, an approver decides whether they are the user's own.
    """
    found = breaches(plan, limits, today, unapproved)
    created = len(plan.creates)
    if not created:
        return ApprovalDecision(False, (ApprovalReason("nothing"),), found)
    always: list[ApprovalReason] = []
    if truncated_at is not None:
        cells = f"{truncated_at.cells} / {truncated_at.columns}"
        always.append(ApprovalReason("truncated", str(truncated_at.line), cells))
    if columns_left_out:
        always.append(ApprovalReason("columns_left_out", str(columns_left_out)))
    if plan.empty_scopes:
        # The lists may be empty although the service has records.
        always.append(ApprovalReason("empty_scope", str(plan.empty_scopes)))
    if always:
        return ApprovalDecision(True, tuple(always), found)
    if isinstance(approval, str):
        reason = ApprovalReason("setting", approval)
        return ApprovalDecision(approval == "always", (reason,), found)
    if found:
        return ApprovalDecision(True, found, found)
    rows = f"{created} + {unapproved}" if unapproved else str(created)
    above = ApprovalReason("rows_of_day", rows, str(approval))
    return ApprovalDecision(created + unapproved > approval, (above,), found)


def _start(body: Any) -> date | None:
    start = body.get("start_date")
    return start if isinstance(start, date) else None


def changes_since_approval(approved: Mapping[str, str], plan: Plan) -> tuple[ApprovalReason, ...]:
    """Return the difference between a plan and the approved creates, in figures."""
    new = plan.creates.keys() - approved.keys()
    other = [k for k in plan.creates.keys() & approved.keys() if plan.creates[k] != approved[k]]
    found = {"more_rows": len(new), "other_data": len(other)}
    return tuple(ApprovalReason(code, str(rows)) for code, rows in found.items() if rows)
