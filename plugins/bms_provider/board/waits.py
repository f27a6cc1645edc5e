"""What waits for a person: each with its reason, since when, and where to go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from bms_flows.monitoring import alarms
from bms_flows.onboarding.faults.files import WAITING
from bms_provider.board.access import Viewer
from bms_provider.board.flows import FLOWS
from bms_warehouse.queries import waiting

Place = Literal["run", "approval", "drop", "flow", "none"]


@dataclass(frozen=True)
class Wait:
    """Something that waits; `place` says which page leads on, and of what."""

    text: str
    detail: str
    since: datetime
    place: Place
    flow: str | None = None
    dag_run_id: str | None = None
    drop: int | None = None
    tone: Literal["warn", "bad"] = "warn"


WORDS = {
    "unknown": ("row whose outcome is unknown", "rows whose outcome is unknown"),
    "review": ("row needs a decision", "rows need a decision"),
}


def waits(warehouse: Connection, who: Viewer) -> list[Wait]:
    """Return what waits, of the flows that `who` may view: alarms first, then the oldest first."""
    flows = {made: name for name in who.views if (made := FLOWS[name].creates)}
    resources = [*flows]
    found = [
        Wait(
            f"{_titled(each)}: {each.code}",
            each.detail,
            each.since,
            "run" if each.dag_run_id else "flow" if each.flow else "none",
            each.flow,
            each.dag_run_id,
            tone="bad",
        )
        for each in alarms.open_alarms(warehouse)
        if each.flow in who.views or each.flow not in FLOWS
    ]
    for plan in waiting.plans(warehouse, resources):
        many = plan["counts"].get("create", 0)
        breaches = ", ".join(each["code"] for each in plan["breaches"])
        found.append(
            Wait(
                f"Drop {plan['drop_id']} waits for approval: {many} to create",
                f"Beyond the limits: {breaches}" if breaches else "",
                plan["made_at"],
                "approval",
                flows[plan["resource"]],
                plan["dag_run_id"],
            )
        )
    found += [
        Wait(
            f"Drop {each['drop_id']} can't be taken yet",
            f"{WAITING[each['waits_for']].meaning} {WAITING[each['waits_for']].remedy}",
            each["since"],
            "drop",
            flows[each["resource"]],
            drop=each["drop_id"],
        )
        for each in waiting.files(warehouse, resources)
    ]
    found += [
        Wait(
            f"Drop {each['drop_id']}: {each['rows']} {WORDS[each['state']][each['rows'] > 1]}",
            "",
            each["since"],
            "drop",
            flows[each["resource"]],
            drop=each["drop_id"],
        )
        for each in waiting.rows(warehouse, resources)
    ]
    if "contact" in flows:
        found += [
            Wait(
                f"{each['fields']} differences between dropped contacts and the CRM",
                f"Of {each['contacts']} contacts; bms.contact_difference has them.",
                each["since"],
                "drop",
                flows["contact"],
                drop=each["drop_id"],
            )
            for each in waiting.contact_differences(warehouse)
        ]
    return found


def _titled(alarm: alarms.Alarm) -> str:
    """Return what an alarm is about, its flow by its title."""
    if alarm.flow not in FLOWS:
        return alarm.subject
    return f"{FLOWS[alarm.flow].title} {alarm.subject.removeprefix(alarm.flow)}".rstrip()
