"""The watch over every promise: what is broken is raised, what is kept again recovers.

The watchdog DAG and the health command both do it; what either does, the other finds done.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from bms_flows.monitoring import alarms, drop_alarms
from bms_flows.monitoring.alarms import Alarm, Extent, span
from bms_flows.monitoring.freshness import WORST_LAST, Freshness, look
from bms_flows.onboarding.inbox.flows import FLOWS
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import Settings
from bms_warehouse.tables import run

LAST_STEPS = dict.fromkeys(FLOWS.values(), "conclude")
"""Of flows that promise nothing and have several steps: the one that ends a run's work."""


def watch(
    connection: Connection, settings: Settings, links: Links, now: datetime | None = None
) -> dict[str, Freshness]:
    """Raise and recover, within the caller's transaction; return the freshness of every flow."""
    found = look(connection, settings, now or datetime.now(UTC))
    standing = {alarm.subject: alarm for alarm in alarms.open_alarms(connection)}
    for flow, freshness in found.items():
        if freshness.wrong:
            _raise(connection, freshness, links)
        elif (alarm := standing.get(flow)) and over(freshness, alarm):
            alarms.recover(connection, flow)
    unpromised = [a for a in standing.values() if a.subject == a.flow and a.flow not in found]
    for subject in _done_since(connection, unpromised):
        alarms.recover(connection, subject)
    for subject in drop_alarms.over(connection, standing.values()):
        alarms.recover(connection, subject)
    return found


def over(freshness: Freshness, alarm: Alarm) -> bool:
    """Say whether the alarm of a flow is over. Pure.

    It is with a complete load that came after it began: what failed just now is not mended by
    the load an hour ago, however fresh that still is.
    """
    if freshness.allowed is None and alarm.code == "late":
        return True
    if freshness.state != "fresh":
        return False
    # A first load that is still within its time is fresh, and none has ended.
    return any(each.complete_at > alarm.since for each in freshness.standings if each.complete_at)


def told(freshness: Freshness, links: Links) -> str:
    """Return what is wrong with a flow as a sentence: times, hours and entities. Pure."""
    what = freshness.promise.what
    oldest = min((each.complete_at for each in freshness.wrong if each.complete_at), default=None)
    last = (
        f"the last complete load ended {links.time(oldest)}, {span(freshness.at - oldest)} ago"
        if oldest
        else "no load was ever complete"
    )
    promised = f"; at most {span(freshness.allowed)} are promised" if freshness.allowed else ""
    entities = [str(each.id_entity) for each in freshness.wrong if each.id_entity is not None]
    of = f" Entities: {', '.join(entities)}." if entities else ""
    return f"{what}: {last}{promised}.{of}"


def _raise(connection: Connection, freshness: Freshness, links: Links) -> None:
    worst = max(freshness.wrong, key=lambda each: WORST_LAST.index(each.state))
    alarms.raise_(
        connection,
        worst.state,
        freshness.promise.flow,
        detail=told(freshness, links),
        flow=freshness.promise.flow,
        dag_run_id=worst.dag_run_id,
        since=freshness.since,
        extent=Extent(
            [f"entity {e.id_entity}" for e in freshness.wrong if e.id_entity is not None]
        ),
    )


def _done_since(connection: Connection, standing: Iterable[Alarm]) -> list[str]:
    """Return the subjects of flows that promise nothing and have done their work since."""
    return [
        alarm.subject
        for alarm in standing
        if connection.scalar(
            select(run.c.id)
            .where(
                run.c.flow == alarm.flow,
                run.c.step == LAST_STEPS.get(str(alarm.flow), run.c.step),
                run.c.state == "complete",
                run.c.finished_at > alarm.since,
            )
            .limit(1)
        )
    ]
