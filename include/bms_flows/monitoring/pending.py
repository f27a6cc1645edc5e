"""Pending items for the board and `bms status`: what waits for whom, why, since when, and where to act."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from sqlalchemy import Connection

from bms_flows.catalog import FLOWS
from bms_flows.monitoring import alarms
from bms_flows.onboarding.planning.plan import ApprovalReason
from bms_flows.onboarding.reporting.approval_request import reason_text
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Links
from bms_flows.texts import WAITING
from bms_warehouse.queries import waiting

Page = Literal["run", "approval", "drop", "flow", "none"]

ROW_TEXTS = {
    "unknown": ("row with an unknown outcome", "rows with an unknown outcome"),
    "review": ("row needs a decision", "rows need a decision"),
}
"""Text of one row and of several rows, by state in the ledger."""


@dataclass(frozen=True)
class PendingItem:
    """An item that needs an action; `page` is the kind of page on which to act."""

    text: str
    detail: str
    since: datetime
    page: Page
    flow: str | None = None
    dag_run_id: str | None = None
    drop: int | None = None
    tone: Literal["warn", "bad"] = "warn"
    waits_for: str = "operators"
    remedy: str = ""


def alarm_items(
    warehouse: Connection, views: Collection[str], settings: OnboardingSettings
) -> Iterator[PendingItem]:
    """Yield the open alarms of the flows `views`, and those of no flow."""
    links, now = Links.of(settings), datetime.now(UTC)
    for alarm in alarms.open_alarms(warehouse):
        if alarm.flow not in views and alarm.flow in FLOWS:
            continue
        _, section = alarms.section_of(alarm)
        title = alarm.subject
        if alarm.flow in FLOWS:
            title = f"{FLOWS[alarm.flow].title} {title.removeprefix(alarm.flow)}".rstrip()
        silenced = alarms.acknowledgement(alarm, now)
        acknowledged = (
            f" Acknowledged by {silenced[0]} until {links.time(silenced[1])}: {silenced[2]}"
            if silenced
            else ""
        )
        yield PendingItem(
            f"{title}: {alarm.code}, {section.severity}",
            f"{alarm.detail}{acknowledged}",
            alarm.since,
            "run" if alarm.dag_run_id else "flow" if alarm.flow else "none",
            alarm.flow,
            alarm.dag_run_id,
            tone="warn" if silenced else "bad",
            remedy=section.do,
        )


def pending_items(
    warehouse: Connection, views: Collection[str], settings: OnboardingSettings
) -> list[PendingItem]:
    """Return what waits in the flows `views` apart from alarms, by kind and age."""
    flows = {made: name for name in views if (made := FLOWS[name].creates)}
    return [
        *_plans(warehouse, flows, settings),
        *_files(warehouse, flows),
        *_rows(warehouse, flows, settings),
        *_contact_differences(warehouse, flows),
    ]


def _plans(
    warehouse: Connection, flows: Mapping[str, str], settings: OnboardingSettings
) -> Iterator[PendingItem]:
    for plan in waiting.plans(warehouse, [*flows]):
        creates = plan["counts"].get("create", 0)
        reasons = [ApprovalReason(**each) for each in plan["asked_because"]]
        yield PendingItem(
            f"Drop {plan['drop_id']} waits for approval: {creates} to create",
            "; ".join(reason_text(each, "EN", plan["resource"]) for each in reasons),
            plan["asked_at"],
            "approval",
            flows[plan["resource"]],
            plan["dag_run_id"],
            waits_for=_approvers(plan["resource"], settings),
        )


def _files(warehouse: Connection, flows: Mapping[str, str]) -> Iterator[PendingItem]:
    for drop in waiting.files(warehouse, [*flows]):
        fault = WAITING[drop["waits_for"]]["EN"]
        yield PendingItem(
            f"Drop {drop['drop_id']} cannot be processed yet",
            f"{fault.meaning} {fault.remedy}",
            drop["since"],
            "drop",
            flows[drop["resource"]],
            drop=drop["drop_id"],
            waits_for="the user who dropped the file",
        )


def _rows(
    warehouse: Connection, flows: Mapping[str, str], settings: OnboardingSettings
) -> Iterator[PendingItem]:
    for group in waiting.rows(warehouse, [*flows]):
        rows = group["rows"]
        yield PendingItem(
            f"Drop {group['drop_id']}: {rows} {ROW_TEXTS[group['state']][rows > 1]}",
            "",
            group["since"],
            "drop",
            flows[group["resource"]],
            drop=group["drop_id"],
            waits_for=_approvers(group["resource"], settings)
            if group["state"] == "review"
            else "the next run, which settles them",
        )


def _approvers(resource: str, settings: OnboardingSettings) -> str:
    named = settings.approvers.get(REMOTES[resource].resource.inbox, ())
    return f"approvers ({', '.join(named)})" if named else "users who may edit the DAG"


def _contact_differences(warehouse: Connection, flows: Mapping[str, str]) -> Iterator[PendingItem]:
    if "contact" not in flows:
        return
    for group in waiting.contact_differences(warehouse):
        yield PendingItem(
            f"{group['fields']} differences between dropped contacts and the CRM",
            f"{group['contacts']} contacts differ. Change them in the CRM: bms.contact_difference"
            " lists the fields.",
            group["since"],
            "drop",
            flows["contact"],
            drop=group["drop_id"],
            waits_for="users of the CRM",
        )
