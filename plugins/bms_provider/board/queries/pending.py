"""Pending items of the overview: what needs an action, why, since when, and where to act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from bms_flows.monitoring import alarms
from bms_flows.onboarding.planning.limits import ApprovalReason
from bms_flows.onboarding.reporting.approval_request import reason_text
from bms_flows.texts import WAITING
from bms_provider.board.access import Viewer
from bms_provider.board.flows import FLOWS
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


def pending_items(warehouse: Connection, who: Viewer) -> list[PendingItem]:
    """Return the pending items of the flows that the user may view: first alarms, then by kind and age."""
    flows = {made: name for name in who.views if (made := FLOWS[name].creates)}
    return [
        *_alarms(warehouse, who),
        *_plans(warehouse, flows),
        *_files(warehouse, flows),
        *_rows(warehouse, flows),
        *_contact_differences(warehouse, flows),
    ]


def _alarms(warehouse: Connection, who: Viewer) -> Iterator[PendingItem]:
    for alarm in alarms.open_alarms(warehouse):
        if alarm.flow in who.views or alarm.flow not in FLOWS:
            yield PendingItem(
                f"{_title(alarm)}: {alarm.code}",
                alarm.detail,
                alarm.since,
                "run" if alarm.dag_run_id else "flow" if alarm.flow else "none",
                alarm.flow,
                alarm.dag_run_id,
                tone="bad",
            )


def _plans(warehouse: Connection, flows: Mapping[str, str]) -> Iterator[PendingItem]:
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
        )


def _rows(warehouse: Connection, flows: Mapping[str, str]) -> Iterator[PendingItem]:
    for group in waiting.rows(warehouse, [*flows]):
        rows = group["rows"]
        yield PendingItem(
            f"Drop {group['drop_id']}: {rows} {ROW_TEXTS[group['state']][rows > 1]}",
            "",
            group["since"],
            "drop",
            flows[group["resource"]],
            drop=group["drop_id"],
        )


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
        )


def _title(alarm: alarms.Alarm) -> str:
    """Return the subject of an alarm, with the title of its flow."""
    if alarm.flow not in FLOWS:
        return alarm.subject
    return f"{FLOWS[alarm.flow].title} {alarm.subject.removeprefix(alarm.flow)}".rstrip()
