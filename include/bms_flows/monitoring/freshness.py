"""How fresh each flow is, against what it promises; the decision is pure, what it rests on is `bms.run`.

Only complete loads count. One that is partial, suspect, unstable or failed refreshes nothing, nor
does one of old days alone, or of a part of a list.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from sqlalchemy import Connection, text

from bms_flows.runtime.settings import Settings

NotComplete = Literal["partial", "unstable", "suspect", "failed"]
State = Literal["fresh", "late"] | NotComplete

NOT_COMPLETE: tuple[NotComplete, ...] = get_args(NotComplete)
"""Ends of a load that refresh nothing, as `bms.run` names them."""

WORST_LAST: tuple[State, ...] = ("fresh", "partial", "unstable", "late", "suspect", "failed")


@dataclass(frozen=True)
class FreshnessTarget:
    """That the last complete load of a flow is never older than a setting says."""

    flow: str
    """The DAG, by its id."""
    what: str
    """What it loads, in a message's words."""
    broken: str
    """What it means for those who use the data when the promise is broken."""
    step: str | None = None
    """The step of `bms.run` that loads, where the flow has others too."""
    daily: bool = False
    """Whether it loads days: then only what reaches the last whole day keeps the promise."""

    @property
    def setting(self) -> str:
        """The field of `Settings` that holds the hours."""
        return f"fresh_hours_{self.flow}"

    def allowed(self, settings: Settings) -> timedelta | None:
        """Return how old a load may be, None where nothing is promised."""
        hours: float | None = getattr(settings, self.setting)
        return None if hours is None else timedelta(hours=hours)


FRESHNESS_TARGETS = (
    FreshnessTarget(
        "invoice_extraction",
        "Client invoices",
        "Reports on invoices lack the last days and their late changes.",
        step="extract",
        daily=True,
    ),
    FreshnessTarget(
        "contact_sync", "Contacts", "Contacts show as they were; new ones are missing."
    ),
    FreshnessTarget(
        "consultant_sync", "Consultants", "Consultants show as they were; new ones are missing."
    ),
    FreshnessTarget(
        "employee_directory",
        "Employees",
        "The directory shows employees as they were; new ones are missing.",
    ),
    FreshnessTarget(
        "reconciliation", "The self-audit", "Nobody has compared the warehouse with the service."
    ),
    FreshnessTarget(
        "service_contract", "The contract probe", "A change of the service would go unnoticed."
    ),
    FreshnessTarget(
        "retention", "The deletion of old files", "Files with personal data are kept too long."
    ),
)
"""Every flow that runs by the clock."""


@dataclass(frozen=True)
class Course:
    """What `bms.run` says of the loads of a flow, of one entity where it has entities."""

    flow: str
    id_entity: int | None
    first_at: datetime
    """When the first one began."""
    complete_at: datetime | None
    """When the last complete one ended."""
    latest: Literal["complete"] | NotComplete | None
    """How the last one that ended did; None where none has."""
    dag_run_id: str
    """Airflow's run of the last one."""


@dataclass(frozen=True)
class Standing:
    """Where a flow stands, of one entity where it has entities."""

    id_entity: int | None
    state: State
    complete_at: datetime | None
    due_at: datetime | None
    """When its last complete load is, or was, too old; None where nothing is promised."""
    dag_run_id: str


@dataclass(frozen=True)
class Freshness:
    """Where a flow stands: as its worst entity does."""

    promise: FreshnessTarget
    allowed: timedelta | None
    standings: Sequence[Standing]
    """By entity; empty where the flow never ran here, and so owes nothing yet."""
    at: datetime

    @property
    def state(self) -> State | None:
        """The worst state; None where the flow never ran here."""
        states = [each.state for each in self.standings]
        return max(states, key=WORST_LAST.index) if states else None

    @property
    def complete_at(self) -> datetime | None:
        """When the last complete load ended, of the entity that has the oldest; None without one."""
        ended = [each.complete_at for each in self.standings]
        return None if not ended or None in ended else min(each for each in ended if each)

    @property
    def age(self) -> timedelta | None:
        """How old that load is."""
        return self.at - self.complete_at if self.complete_at else None

    @property
    def late(self) -> Sequence[Standing]:
        """Those whose last complete load is too old."""
        return [each for each in self.standings if each.due_at and each.due_at < self.at]

    @property
    def wrong(self) -> Sequence[Standing]:
        """Those that a person must hear of: late, or kept back as suspect."""
        late = {each.id_entity for each in self.late}
        return [e for e in self.standings if e.id_entity in late or e.state == "suspect"]

    @property
    def since(self) -> datetime:
        """When the first promise was broken; now where none is."""
        return min((each.due_at for each in self.late if each.due_at), default=self.at)


def judge(course: Course, allowed: timedelta | None, now: datetime) -> Standing:
    """Say where a flow stands. Pure.

    How the last load ended says more than that it is late, so it goes first.
    """
    due_at = None if allowed is None else (course.complete_at or course.first_at) + allowed
    late = due_at is not None and now > due_at
    state: State = "late" if late else "fresh"
    if course.latest in NOT_COMPLETE:
        state = course.latest
    return Standing(course.id_entity, state, course.complete_at, due_at, course.dag_run_id)


def freshness(courses: Iterable[Course], settings: Settings, now: datetime) -> dict[str, Freshness]:
    """Return the freshness of every flow that promises any, by the DAG's id. Pure."""
    by_flow: dict[str, list[Course]] = {}
    for course in courses:
        by_flow.setdefault(course.flow, []).append(course)
    found = {}
    for promise in FRESHNESS_TARGETS:
        allowed = promise.allowed(settings)
        standings = [judge(each, allowed, now) for each in by_flow.get(promise.flow, [])]
        found[promise.flow] = Freshness(promise, allowed, standings, now)
    return found


def look(
    connection: Connection, settings: Settings, now: datetime | None = None
) -> dict[str, Freshness]:
    """Read the courses from `bms.run` and return the freshness of every flow, by the DAG's id."""
    flows = {"flows": [each.flow for each in FRESHNESS_TARGETS]}
    last = {row.flow: row.at for row in connection.execute(_LAST_STARTS, flows) if row.at}
    ran = [each for each in FRESHNESS_TARGETS if each.flow in last]
    courses = [c for each in ran for c in _courses(connection, each, settings, last[each.flow])]
    return freshness(courses, settings, now or datetime.now(UTC))


RECENT = timedelta(days=30)
"""Before a flow's last scheduled start: where it was complete since then, nothing older is read."""


def _courses(
    connection: Connection, promise: FreshnessTarget, settings: Settings, last: datetime
) -> list[Course]:
    """Return a flow's courses; `last` is its last scheduled start."""
    given = {
        "flow": promise.flow,
        "step": promise.step,
        "daily": promise.daily,
        "zone": settings.time_zone.key,
    }

    def since(start: datetime) -> list[Course]:
        found = connection.execute(_COURSES, {**given, "since": start})
        return [Course(**row) for row in found.mappings()]

    courses = since(last - RECENT)
    if courses and all(each.complete_at for each in courses):
        return courses
    return since(datetime.min.replace(tzinfo=UTC))


# Where a flow was never started by its schedule, its last start by hand.
_LAST_STARTS = text("""
select flow, coalesce(
    (
        select max(started_at) from bms.run
        where run.flow = each.flow and dag_run_id like 'scheduled\\_\\_%'
    ),
    (select max(started_at) from bms.run where run.flow = each.flow)
) as at
from unnest(cast(:flows as text[])) as each(flow)
""")

# A load is what a run loads of an entity, by the latest try of each of its steps; it counts where it
# reaches the last whole day and the list was whole. Where some of its days are held for review, the
# others are published and count all the same. A flow owes the entities of its latest scheduled
# run, and of the one before it: the latest may not have come to all of them yet. One that a person
# once tried by hand, or that was taken off the connection, is owed nothing.
_COURSES = text("""
with try as (
    select dag_run_id, id_entity, id, state, started_at, finished_at, details,
        not :daily or window_end >= cast(started_at at time zone :zone as date) - 1 as reaches,
        rank() over (
            partition by dag_run_id, step, id_entity, window_start
            order by coalesce(held_by, id) desc
        ) as nth
    from bms.run
    where flow = :flow and started_at >= :since
        and step = coalesce(cast(:step as text), step)
), load as (
    select dag_run_id, id_entity, max(id) as id, min(started_at) as started_at,
        max(finished_at) as finished_at,
        case
            when bool_or(state = 'running') then 'running'
            when bool_or(state = 'failed') then 'failed'
            when bool_or(state = 'suspect') then 'suspect'
            when bool_or(state = 'unstable') then 'unstable'
            when bool_or(state = 'partial') then 'partial'
            else 'complete'
        end as state,
        bool_or(state in ('running', 'failed', 'unstable', 'partial')) as broken,
        bool_or(state = 'complete' and reaches) as published
    from try
    where nth = 1
    group by dag_run_id, id_entity
    having bool_or(reaches) and bool_and(coalesce(cast(details->>'whole' as boolean), true))
), latest as (
    select dag_run_id,
        row_number() over (order by dag_run_id like 'scheduled\\_\\_%' desc, max(id) desc) as place
    from load
    group by dag_run_id
), owing as (
    select load.*,
        place = 1 or (place = 2 and dag_run_id like 'scheduled\\_\\_%') as owed
    from load join latest using (dag_run_id)
)
select :flow as flow, id_entity, min(started_at) as first_at,
    max(finished_at) filter (where published and not broken) as complete_at,
    (array_agg(state order by id desc) filter (where state <> 'running'))[1] as latest,
    (array_agg(dag_run_id order by id desc))[1] as dag_run_id
from owing
group by id_entity
having bool_or(owed)
order by id_entity
""")
