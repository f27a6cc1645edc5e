"""Audit cycle: projected days until everything was compared once, with an alarm above the limit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection, select

from bms_flows.audit import warehouse
from bms_flows.audit.settings import AuditSettings
from bms_flows.monitoring import alarms
from bms_flows.runtime.step_log import Step
from bms_warehouse.tables import step_run

LATEST = 10
"""Number of latest audits that the projection uses."""


@dataclass(frozen=True)
class CycleProgress:
    """Number of units that one audit compared in turn, and their total."""

    compared: int
    total: int
    unit: str
    """Unit: older days, parts or entities."""
    shortest: int = 1
    """Minimum number of daily audits that compare everything once."""


def older_days(connection: Connection, entities: Sequence[int], before: date) -> int:
    """Return the number of days before `before` to compare, over all entities."""
    histories = (warehouse.history(connection, entity) for entity in entities)
    return sum(max(0, (before - each.start).days) for each in histories if each)


def project(
    connection: Connection, progress: Mapping[str, CycleProgress], step: Step
) -> dict[str, dict[str, Any]]:
    """Return the progress of each resource and its projected days at the rate of the latest audits."""
    details = step_run.c.details["cycle"]
    before = [
        *connection.scalars(
            select(details)
            .where(step_run.c.flow == step.flow, step_run.c.step == step.name, details.is_not(None))
            .order_by(step_run.c.id.desc())
            .limit(LATEST - 1)
        )
    ]
    found = {}
    for resource, this in progress.items():
        rates = [this.compared, *(b[resource]["compared"] for b in before if resource in b)]
        days = cycle_days(rates, this.total, this.shortest)
        found[resource] = {**vars(this), "days": days}
    return found


def update_alarm(
    connection: Connection,
    cycle: Mapping[str, Mapping[str, Any]],
    settings: AuditSettings,
    step: Step,
) -> None:
    """Raise or recover the alarm of each resource by the limit of its cycle."""
    for resource, found in cycle.items():
        subject = f"reconciliation cycle {resource}"
        if found["days"] <= settings.audit_cycle_days:
            alarms.recover(connection, subject)
            continue
        alarms.raise_(
            connection,
            "audit_cycle",
            subject,
            detail=f"{resource}: {found['total']} {found['unit']} take about {found['days']} days; "
            f"limit {settings.audit_cycle_days} (BMS_AUDIT_CYCLE_DAYS). One audit may send "
            f"{settings.audit_requests} requests (BMS_AUDIT_REQUESTS).",
            flow=step.flow,
            dag_run_id=step.dag_run_id,
        )


def cycle_days(compared: Sequence[int], total: int, shortest: int) -> int:
    """Return the number of daily audits that compare `total` units at the latest rate. Pure.

    `compared` are the units per audit; `shortest` is the minimum number of days.
    """
    done = sum(compared)
    return max(shortest, -(-total * len(compared) // done) if done else total)
