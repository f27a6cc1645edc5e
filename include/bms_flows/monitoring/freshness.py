"""Freshness of each flow: the age of its last complete load in `bms.step_run`, compared with its target.

Only complete loads count. A load that is partial, unstable, held for review or failed does not count
(if only some days are held, the published days count), nor does a load that covers only older days or
a part of a list, nor a run of a backfill.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal

from sqlalchemy import Connection, text

from bms_flows.catalog import WITH_TARGET, Flow
from bms_flows.monitoring.deadlines import Deadline
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse.database import clock
from bms_warehouse.queries.loads import INCOMPLETE, WORST_LAST, Incomplete

State = Literal["fresh", "late"] | Incomplete

BY_SEVERITY: tuple[State, ...] = ("fresh", "partial", "unstable", "late", "suspect", "failed")


RECENT: Final = timedelta(days=30)
"""Period before a flow's last scheduled start in which an entity's scheduled load is expected again.

This period is read first; usually it is enough.
"""


@dataclass(frozen=True)
class LoadHistory:
    """Loads of a flow in `bms.step_run`, or of one entity of the flow."""

    flow: str
    id_entity: int | None
    first_at: datetime
    """Start of the first load."""
    complete_at: datetime | None
    """End of the last complete load."""
    latest: Literal["complete"] | Incomplete | None
    """State of the last finished load."""
    dag_run_id: str
    """DAG run of the last load."""
    newest_day: date | None = None
    """Newest day that a complete load has."""


@dataclass(frozen=True, kw_only=True)
class EntityFreshness(LoadHistory):
    """Freshness of one entity of a flow; of the whole flow if it has no entities."""

    state: State
    due_at: datetime | None
    """Time from which the entity is late: the limit or a deadline is exceeded; None without both."""


@dataclass(frozen=True)
class Freshness:
    """Freshness of a flow; the worst entity determines its state."""

    flow: Flow
    limit: timedelta | None
    """Maximum age of the last complete load; None if the target is switched off."""
    entities: Sequence[EntityFreshness]
    """Empty if the flow has never run, unless other flows have run for longer than its limit."""
    at: datetime
    deadline: Deadline | None = None

    @property
    def newest_day(self) -> date | None:
        """The newest day that every entity has."""
        days = [each.newest_day for each in self.entities]
        return None if not days or None in days else min(day for day in days if day)

    @property
    def state(self) -> State | None:
        """The worst state; None if the flow has never run."""
        states = [each.state for each in self.entities]
        return max(states, key=BY_SEVERITY.index) if states else None

    @property
    def complete_at(self) -> datetime | None:
        """End of the oldest among the entities' last complete loads; None if an entity has none."""
        ended = [each.complete_at for each in self.entities]
        return None if not ended or None in ended else min(each for each in ended if each)

    @property
    def age(self) -> timedelta | None:
        """Age of that load."""
        return self.at - self.complete_at if self.complete_at else None

    @property
    def late(self) -> Sequence[EntityFreshness]:
        """Entities whose last complete load exceeds the limit."""
        return [each for each in self.entities if each.due_at and each.due_at < self.at]

    @property
    def alarming(self) -> Sequence[EntityFreshness]:
        """Entities that raise an alarm: late, or with a load held for review."""
        late = {each.id_entity for each in self.late}
        return [e for e in self.entities if e.id_entity in late or e.state == "suspect"]

    @property
    def since(self) -> datetime:
        """Time at which the first entity became late; now if none is late."""
        return min((each.due_at for each in self.late if each.due_at), default=self.at)


def evaluate(
    history: LoadHistory,
    limit: timedelta | None,
    now: datetime,
    deadline: Deadline | None = None,
) -> EntityFreshness:
    """Compare a history with limit and deadline; the state of an incomplete last load precedes `late`. Pure."""
    due_at = None if limit is None else (history.complete_at or history.first_at) + limit
    missed = deadline.missed_since(history.newest_day, now) if deadline else None
    if missed and missed > history.first_at:
        due_at = min(due_at or missed, missed)
    late = due_at is not None and now > due_at
    state: State = "late" if late else "fresh"
    if history.latest in INCOMPLETE:
        state = history.latest
    return EntityFreshness(**vars(history), state=state, due_at=due_at)


def evaluate_all(
    histories: Iterable[LoadHistory],
    settings: FlowSettings,
    now: datetime,
    first_at: datetime | None = None,
) -> dict[str, Freshness]:
    """Return the freshness of every flow that has a target, by DAG id. Pure.

    `first_at` is the time of the first step of any flow: a flow that has not run since then is late
    after its limit.
    """
    by_flow: dict[str, list[LoadHistory]] = {}
    for history in histories:
        by_flow.setdefault(history.flow, []).append(history)
    found = {}
    for flow in WITH_TARGET:
        hours = settings.fresh_hours.get(flow.dag_id, flow.fresh_hours)
        limit = None if isinstance(hours, str) else timedelta(hours=hours)
        deadline = Deadline.of(flow, settings)
        entities = [evaluate(each, limit, now, deadline) for each in by_flow.get(flow.dag_id, [])]
        if not entities and limit and first_at and first_at + limit < now:
            never = LoadHistory(flow.dag_id, None, first_at, None, None, "")
            entities = [EntityFreshness(**vars(never), state="late", due_at=first_at + limit)]
        found[flow.dag_id] = Freshness(flow, limit, entities, now, deadline)
    return found


def read_freshness(
    connection: Connection, settings: FlowSettings, now: datetime | None = None
) -> dict[str, Freshness]:
    """Read the load histories; return the freshness of every flow that has a target, by DAG id."""
    flows = {"flows": [flow.dag_id for flow in WITH_TARGET]}
    last = {row.flow: row.at for row in connection.execute(_LAST_STARTS, flows) if row.at}
    histories = [
        history
        for flow in WITH_TARGET
        if flow.dag_id in last
        for history in _histories(connection, flow, settings, last[flow.dag_id])
    ]
    first_at = connection.scalar(text("select started_at from bms.step_run order by id limit 1"))
    return evaluate_all(histories, settings, now or clock(connection), first_at)


def _histories(
    connection: Connection, flow: Flow, settings: FlowSettings, last: datetime
) -> list[LoadHistory]:
    """Return a flow's load histories; `last` is its last scheduled start."""
    parameters = {
        "flow": flow.dag_id,
        "step": flow.last_step,
        "daily": flow.daily,
        "zone": settings.time_zone.key,
        "worst_last": WORST_LAST,
        "recent": last - RECENT,
    }

    def since(start: datetime) -> list[LoadHistory]:
        found = connection.execute(_HISTORIES, {**parameters, "since": start})
        return [LoadHistory(**row) for row in found.mappings()]

    histories = since(last - RECENT)
    if histories and all(each.complete_at for each in histories):
        return histories
    return since(datetime.min.replace(tzinfo=UTC))


# The last manual start counts for a flow that its schedule has never started.
_LAST_STARTS = text("""
select flow, coalesce(
    (
        select max(started_at) from bms.step_run as run
        where run.flow = each.flow and dag_run_id like 'scheduled\\_\\_%'
    ),
    (select max(started_at) from bms.step_run as run where run.flow = each.flow)
) as at
from unnest(cast(:flows as text[])) as each(flow)
""")

# A load comprises the steps of a DAG run for an entity, each with its latest attempt. It has the days that
# were over when it started. A load counts if it includes the last whole day and read the whole list. If
# some days are held for review, the published days count. A flow is expected to load the entities of its
# latest run and of all its scheduled runs since `recent`: an entity that disappears from the connection
# becomes late. Entities that were only loaded manually are not expected.
_HISTORIES = text("""
with attempt as (
    select dag_run_id, id_entity, id, state, started_at, finished_at, details, window_end,
        not :daily or last_day between coalesce(window_start, last_day) and window_end as reaches, last_day,
        rank() over (
            partition by dag_run_id, step, id_entity, window_start
            order by coalesce(held_by, id) desc
        ) as age_rank
    from bms.step_run, cast(cast(started_at at time zone :zone as date) - 1 as date) as last_day
    where flow = :flow and started_at >= :since
        and step = :step and dag_run_id not like 'backfill\\_\\_%'
), load as (
    select dag_run_id, id_entity, max(id) as id, min(started_at) as started_at,
        max(finished_at) as finished_at,
        coalesce(
            (cast(:worst_last as text[]))[max(array_position(cast(:worst_last as text[]), state))], 'complete'
        ) as state,
        bool_or(state in ('running', 'failed', 'unstable', 'partial')) as broken,
        bool_or(state = 'complete' and reaches) as published,
        max(case when not :daily then last_day
            when state = 'complete' then least(window_end, last_day) end) as newest_day
    from attempt
    where age_rank = 1
    group by dag_run_id, id_entity
    having bool_or(reaches) and bool_and(coalesce(cast(details->>'whole' as boolean), true))
), latest as (
    select dag_run_id,
        row_number() over (order by dag_run_id like 'scheduled\\_\\_%' desc, max(id) desc) as recency
    from load
    group by dag_run_id
), candidate as (
    select load.*,
        recency = 1 or (started_at >= :recent and dag_run_id like 'scheduled\\_\\_%') as expected
    from load join latest using (dag_run_id)
)
select :flow as flow, id_entity, min(started_at) as first_at,
    max(finished_at) filter (where published and not broken) as complete_at,
    (array_agg(state order by id desc) filter (where state <> 'running'))[1] as latest,
    (array_agg(dag_run_id order by id desc))[1] as dag_run_id,
    max(newest_day) filter (where published and not broken) as newest_day
from candidate
group by id_entity
having bool_or(expected)
order by id_entity
""")
