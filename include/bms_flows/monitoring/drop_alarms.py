"""Alarms of drops: a file whose run gave up is told of by itself, and only its own end ends that.

Files are dropped one beside the other. Were the flow the subject, a second file's failure would not
be told while the first one's is, and another file's success would end both.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, exists, select

from bms_flows.monitoring.alarms import Alarm
from bms_flows.onboarding.inbox.claim import ENDED
from bms_flows.onboarding.inbox.flows import FLOWS
from bms_flows.onboarding.ledger.entry import OPEN
from bms_warehouse.tables import creation, drop

_UNFINISHED = drop.c.state.not_in(ENDED) | exists().where(
    creation.c.drop_id == drop.c.id, creation.c.state.in_(OPEN)
)


def subject(connection: Connection, flow: str, dag_run_id: str) -> str:
    """Return what a run's failure is about: its drop, or the flow where it leaves no drop unfinished."""
    held = select(drop.c.id, drop.c.resource).where(drop.c.dag_run_id == dag_run_id, _UNFINISHED)
    for number, resource in connection.execute(held):
        if FLOWS[resource] == flow:
            return _name(flow, number)
    return flow


def over(connection: Connection, alarms: Iterable[Alarm]) -> set[str]:
    """Return the subjects of those `alarms` that are of drops which are finished."""
    of_drops = {a.subject for a in alarms if a.flow in FLOWS.values() and a.subject != a.flow}
    if not of_drops:
        return set()
    unfinished = connection.execute(select(drop.c.id, drop.c.resource).where(_UNFINISHED))
    return of_drops - {_name(FLOWS[resource], number) for number, resource in unfinished}


def _name(flow: str, number: int) -> str:
    return f"{flow} drop {number}"
