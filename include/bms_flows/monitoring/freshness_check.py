"""Check of all freshness targets: raises alarms of missed targets and recovers alarms of met ones.

The watchdog DAG and the health command run the same check and share its alarms.
"""

from datetime import datetime

from sqlalchemy import Connection, select

from bms_flows.catalog import FLOWS
from bms_flows.monitoring import alarms, causes, drop_alarms, number_alarms, quarantine_alarms
from bms_flows.monitoring.alarms import Alarm, Extent, span
from bms_flows.monitoring.causes import HeldLoad
from bms_flows.monitoring.freshness import BY_SEVERITY, Freshness, read_freshness
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings
from bms_flows.texts import ERRORS_OF_TASKS
from bms_warehouse.database import clock
from bms_warehouse.tables import step_run


def check_targets(
    connection: Connection, settings: FlowSettings, links: Links, now: datetime | None = None
) -> dict[str, Freshness]:
    """Raise and recover alarms within the caller's transaction; return the freshness by DAG id."""
    alarms.decide(connection)
    now = now or clock(connection)
    found = read_freshness(connection, settings, now)
    open_alarms = {alarm.subject: alarm for alarm in alarms.open_alarms(connection)}

    def failed(alarm: Alarm) -> bool:
        run, since = alarm.dag_run_id, alarm.since
        first = causes.unrepaired(connection, str(alarm.flow), run, since, settings.lookback_days)
        return first is not None

    for flow, freshness in found.items():
        # A later night does not read the days of a held backfill.
        held = causes.held_loads(connection, freshness.flow)
        if freshness.alarming or held:
            _raise(connection, freshness, held, links, open_alarms.get(flow))
        elif alarm := open_alarms.get(flow):
            ended = alarm.code == "overdue" and _completed_since(
                connection, alarm, alarm.dag_run_id
            )
            if (ended or is_over(freshness, alarm)) and not failed(alarm):
                alarms.recover(connection, flow)
    for alarm in open_alarms.values():
        own = alarm.subject == alarm.flow and alarm.flow not in found
        if own and _completed_since(connection, alarm):
            alarms.recover(connection, alarm.subject)
    for subject in drop_alarms.over(connection, open_alarms.values()):
        alarms.recover(connection, subject)
    drop_alarms.check(connection, open_alarms.keys(), now, links)
    quarantine_alarms.check(connection)
    number_alarms.check(connection, now)
    return found


def is_over(freshness: Freshness, alarm: Alarm) -> bool:
    """Return whether the alarm of a flow is over. Pure.

    Only a complete load that ended after the alarm began ends the alarm: an older load does not fix
    a failure, even if the load is still fresh. The failed task may have belonged to any entity.
    """
    if freshness.limit is None and alarm.code == "late":
        return True
    if freshness.state != "fresh":
        return False
    # A flow whose first load is still running is fresh without a complete load.
    later = [e for e in freshness.entities if e.complete_at and e.complete_at > alarm.since]
    if alarm.code in ("failed", "overdue"):
        run, rest = str(alarm.dag_run_id), [e for e in freshness.entities if e not in later]
        repeated = any(each.dag_run_id == run for each in later)
        # A scheduled run loads every entity: of each that is not loaded later, it has the last load.
        whole = not run.startswith("scheduled__") or all(each.dag_run_id == run for each in rest)
        return not rest or (repeated and whole)
    return bool(later)


def describe(freshness: Freshness, links: Links) -> str:
    """Return a sentence about a missed target: times, limit and entities. Pure."""
    # A held backfill raises an alarm although every entity is fresh.
    loads = freshness.alarming or freshness.entities
    oldest = min((each.complete_at for each in loads if each.complete_at), default=None)
    last = (
        f"the last complete load ended {links.time(oldest)}, {span(freshness.at - oldest)} ago"
        if oldest
        else "no load was ever complete"
    )
    limit = f"; limit {span(freshness.limit)}" if freshness.limit else ""
    if freshness.deadline:
        newest = f"{freshness.newest_day:%a %Y-%m-%d}" if freshness.newest_day else "none"
        limit += f"; newest day {newest}, deadline {freshness.deadline.by:%H:%M} on working days"
    ids = [str(each.id_entity) for each in freshness.alarming if each.id_entity is not None]
    entities = f" Entities: {', '.join(ids)}." if ids else ""
    return f"{freshness.flow.title}: {last}{limit}.{entities}"


def _raise(
    connection: Connection,
    freshness: Freshness,
    held: list[HeldLoad],
    links: Links,
    before: Alarm | None,
) -> None:
    worst = max(freshness.alarming, key=lambda each: BY_SEVERITY.index(each.state), default=None)
    late = {f"entity {e.id_entity} late" for e in freshness.late if e.id_entity is not None}
    extent = causes.extent(held)
    code = worst.state if worst else "suspect"
    errors = {*before.aspects} & ERRORS_OF_TASKS.keys() if before and code == "failed" else set()
    alarms.raise_(
        connection,
        code,
        freshness.flow.dag_id,
        detail=" ".join([describe(freshness, links), *([causes.describe(held)] if held else [])]),
        flow=freshness.flow.dag_id,
        dag_run_id=worst.dag_run_id if worst else None,
        since=freshness.since,
        extent=Extent({*extent.aspects, *late, *errors}, extent.size),
    )


def _completed_since(connection: Connection, alarm: Alarm, run: str | None = None) -> bool:
    """Return whether the alarm's flow, or one `run` of the flow, has completed a step of its work since."""
    flow = FLOWS.get(str(alarm.flow))
    completed = select(step_run.c.id).where(
        step_run.c.flow == alarm.flow,
        step_run.c.state == "complete",
        step_run.c.finished_at > alarm.since,
    )
    if flow and flow.last_step:
        completed = completed.where(step_run.c.step == flow.last_step)
    if run:
        completed = completed.where(step_run.c.dag_run_id == run)
    return connection.scalar(completed.limit(1)) is not None
