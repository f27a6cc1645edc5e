"""Decision whether a plan needs approval: its size, the plan limits, the setting. Pure."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from bms_flows.onboarding.planning.plan import Action, Plan
from bms_flows.onboarding.planning.rules import PlanLimits
from bms_flows.onboarding.reading.sheet import LastLine
from bms_flows.onboarding.settings import Approval


@dataclass(frozen=True)
class ExceededLimit:
    """A limit that a plan exceeds; figures only."""

    code: str
    found: str
    limit: str

    def __str__(self) -> str:
        return f"{self.code}: {self.found}, the limit is {self.limit}"


@dataclass(frozen=True)
class ApprovalDecision:
    """Whether a plan needs approval, and why; the receipt lists `breaches` in any case."""

    ask: bool
    why: str
    breaches: tuple[ExceededLimit, ...] = ()


def breaches(
    plan: Plan, limits: PlanLimits, today: date, unapproved: int = 0
) -> tuple[ExceededLimit, ...]:
    """Return the limits that `plan` exceeds on `today`, counting the rows created `unapproved` today."""
    total, rejected = len(plan.rows), plan.counts[Action.REJECTED]
    created, headcount = len(plan.creates) + unapproved, plan.headcount
    found: list[ExceededLimit] = []
    if total > limits.rows:
        found.append(ExceededLimit("rows", str(total), str(limits.rows)))
    if total and rejected > limits.rejected_share * total:
        share = f"{limits.rejected_share:.0%}"
        found.append(ExceededLimit("rejected", f"{rejected} of {total} rows", share))
    if headcount >= limits.created_share_from and created > limits.created_share * headcount:
        share = f"{limits.created_share:.0%}"
        found.append(ExceededLimit("created", f"{created} on a headcount of {headcount}", share))
    far = sum(
        not -limits.start_days_before <= (start - today).days <= limits.start_days_after
        for start in (_start(row.body) for row in plan.rows if row.action is Action.CREATE)
        if start is not None
    )
    if far:
        window = f"-{limits.start_days_before} to +{limits.start_days_after} days"
        found.append(ExceededLimit("start_date", f"{far} rows", window))
    return tuple(found)


def decide(
    plan: Plan,
    limits: PlanLimits,
    approval: Approval,
    today: date,
    unapproved: int = 0,
    *,
    truncated_at: LastLine | None = None,
) -> ApprovalDecision:
    """Decide whether a plan needs approval; a plan that creates no row never does.

    `unapproved`: rows of other drops created today without approval; the limits apply per resource
    and day. `truncated_at`: the last line of a file whose end is missing; the plan then always needs
    approval.
    """
    found = breaches(plan, limits, today, unapproved)
    created = len(plan.creates)
    if not created:
        return ApprovalDecision(False, "nothing would be created", found)
    if truncated_at is not None:
        why = f"the file ends without a line break in {truncated_at}: the line may be cut off. Read"
        return ApprovalDecision(
            True, f"{why} last_line.csv of the drop's report on the board", found
        )
    if isinstance(approval, str):
        return ApprovalDecision(approval == "always", f"BMS_APPROVAL is {approval}", found)
    if found:
        return ApprovalDecision(True, "; ".join(map(str, found)), found)
    with_others = (
        f"{created} rows{f' and {unapproved} created unapproved today' if unapproved else ''}"
    )
    why = f"{with_others}, BMS_APPROVAL requires approval above {approval} a day"
    return ApprovalDecision(created + unapproved > approval, why, found)


def _start(body: Any) -> date | None:
    start = body.get("start_date")
    return start if isinstance(start, date) else None
