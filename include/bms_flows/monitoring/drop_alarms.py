"""Alarms of dropped files: each failed drop is a subject and recovers with the end of that drop.

If the flow were the subject, a second failed file would go unnoticed while the first alarm is open,
and another file's success would close both.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, exists, func, select

from bms_flows.catalog import CREATED_BY
from bms_flows.monitoring import alarms, approvals
from bms_flows.monitoring.alarms import Alarm
from bms_flows.onboarding.inbox.claim import ENDED
from bms_flows.onboarding.ledger.entry import OPEN
from bms_flows.runtime.notice import Links
from bms_warehouse.queries import waiting
from bms_warehouse.tables import creation, dropped_file

STALLED: Final = timedelta(hours=6)
"""Longer than a task retries. A run that was marked by hand, or deleted, reports no failure."""

_UNFINISHED = dropped_file.c.state.not_in(ENDED) | exists().where(
    creation.c.drop_id == dropped_file.c.id, creation.c.state.in_(OPEN)
)


def subject(connection: Connection, flow: str, dag_run_id: str) -> str:
    """Return the alarm subject of a failed DAG run: its unfinished drop, otherwise the flow."""
    drops = select(dropped_file.c.id, dropped_file.c.resource).where(
        dropped_file.c.dag_run_id == dag_run_id, _UNFINISHED
    )
    for number, resource in connection.execute(drops):
        if CREATED_BY[resource].dag_id == flow:
            return _name(flow, number)
    return flow


def check(connection: Connection, reported: Collection[str], now: datetime, links: Links) -> None:
    """Raise the alarm of each unfinished drop, not `reported` yet, on which no run has worked for hours."""
    asked = {plan["drop_id"] for plan in waiting.plans(connection, [*CREATED_BY])}
    changed = select(func.max(creation.c.changed_at)).where(creation.c.drop_id == dropped_file.c.id)
    worked_at = func.greatest(dropped_file.c.expires_at, changed.scalar_subquery())
    stalled = select(dropped_file, worked_at.label("worked_at")).where(
        dropped_file.c.state == "open", worked_at < now - STALLED
    )
    for drop in connection.execute(stalled):
        flow = CREATED_BY[drop.resource].dag_id
        if drop.id not in asked and (subject := _name(flow, drop.id)) not in reported:
            at = links.time(drop.worked_at)
            detail = f"Drop {drop.id} is unfinished, and no run has worked on it since {at}."
            about = {"flow": flow, "dag_run_id": drop.dag_run_id, "since": drop.worked_at}
            alarms.raise_(connection, "partial", subject, detail=detail, **about)


def over(connection: Connection, opened: Iterable[Alarm]) -> set[str]:
    """Return the subjects among the `opened` alarms whose drops are finished."""
    creating = {flow.dag_id for flow in CREATED_BY.values()}
    of_drops = {
        a.subject
        for a in opened
        if a.flow in creating and a.subject != a.flow and a.code not in approvals.CODES
    }
    if not of_drops:
        return set()
    unfinished = connection.execute(
        select(dropped_file.c.id, dropped_file.c.resource).where(_UNFINISHED)
    )
    return of_drops - {
        _name(CREATED_BY[resource].dag_id, number) for number, resource in unfinished
    }


def _name(flow: str, number: int) -> str:
    return f"{flow} drop {number}"
