"""Decision whether a plan needs approval: its size, the plan limits, the setting. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from bms_flows.onboarding.planning.plan import Action, Plan
from bms_flows.onboarding.planning.rules import PlanLimits
from bms_flows.onboarding.reading.sheet import LastLine
from bms_flows.onboarding.settings import Approval


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


def decide(
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
