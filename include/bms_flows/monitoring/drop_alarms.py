"""Alarms of dropped files: each failed drop is a subject and recovers with the end of that drop.

If the flow were the subject, a second failed file would go unnoticed while the first alarm is open,
and another file's success would close both.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, exists, select

from bms_flows.catalog import CREATED_BY
from bms_flows.monitoring import approvals
from bms_flows.monitoring.alarms import Alarm
from bms_flows.onboarding.inbox.claim import ENDED
from bms_flows.onboarding.ledger.entry import OPEN
from bms_warehouse.tables import creation, dropped_file

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


def over(connection: Connection, alarms: Iterable[Alarm]) -> set[str]:
    """Return the subjects among `alarms` whose drops are finished."""
    creating = {flow.dag_id for flow in CREATED_BY.values()}
    of_drops = {
        a.subject
        for a in alarms
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
