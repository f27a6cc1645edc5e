"""Deadlines such as "by 07:30 on working days": which days kept them, and why the others did not.

By its deadline, a working day needs a complete load that has the working day before. A load can be young
and still miss Friday: it has the days up to its newest day.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, text

from bms_flows.catalog import Flow
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.working_days import Holidays

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Deadline:
    """A time of day on the working days of a country."""

    by: time
    zone: ZoneInfo
    holidays: Holidays

    @classmethod
    def of(cls, flow: Flow, settings: FlowSettings) -> "Deadline | None":
        """Return the deadline of a flow, None without one."""
        by = settings.fresh_by.get(flow.dag_id)
        if by is None:
            return None
        return cls(time.fromisoformat(by), settings.time_zone, Holidays(settings.holidays))

    def at(self, day: date) -> datetime:
        """Return the deadline of a day, in UTC; a time that clocks skip is the time to which they jump."""
        return datetime.combine(day, self.by, self.zone).astimezone(UTC)

    def needs(self, day: date) -> date:
        """Return the day that a load must have by the deadline of a working day."""
        return self.holidays.last_working(day - DAY)

    def passed(self, now: datetime) -> date:
        """Return the last working day whose deadline has passed."""
        today = now.astimezone(self.zone).date()
        return self.holidays.last_working(today if self.at(today) <= now else today - DAY)

    def missed_since(self, newest_day: date | None, now: datetime) -> datetime | None:
        """Return since when a load with a newer day is overdue, None if it is not."""
        day = self.passed(now)
        if newest_day is not None and newest_day >= self.needs(day):
            return None
        while newest_day is not None and newest_day < self.needs(earlier := self.needs(day)):
            day = earlier
        return self.at(day)


@dataclass(frozen=True)
class LoadEnd:
    """The end of an entity's load, and the newest day that it has."""

    id_entity: int | None
    ended: datetime
    state: str
    newest_day: date


@dataclass(frozen=True)
class Month:
    """How many working days of a month kept a deadline, and the causes of the others."""

    month: date
    kept: int
    missed: int
    causes: Sequence[tuple[str, int]]
    """Each cause with its days: the state of the last load before the deadline, late, or nothing_ran."""


def months(deadline: Deadline, ends: Sequence[LoadEnd], now: datetime) -> list[Month]:
    """Return the months since the first complete load, newest first. Pure."""
    complete = [each for each in ends if each.state == "complete"]
    if not complete:
        return []
    entities = {each.id_entity for each in complete}
    first = min(each.ended for each in complete).astimezone(deadline.zone).date()
    kept, causes = Counter[date](), dict[date, Counter[str]]()
    day = deadline.passed(now)
    while day > first:
        month = day.replace(day=1)
        found = [cause for each in entities if (cause := _cause(deadline, day, each, ends))]
        of_month = causes.setdefault(month, Counter())
        kept[month] += not found
        of_month.update(sorted({*found})[:1])
        day = deadline.needs(day)
    return [Month(each, kept[each], of.total(), sorted(of.items())) for each, of in causes.items()]


def _cause(
    deadline: Deadline, day: date, id_entity: int | None, ends: Iterable[LoadEnd]
) -> str | None:
    """Return why an entity missed the deadline of a day, None if it kept it."""
    at, needs = deadline.at(day), deadline.needs(day)
    own = [each for each in ends if each.id_entity == id_entity and each.newest_day >= needs]
    if any(each.state == "complete" and each.ended <= at for each in own):
        return None
    before = [each for each in own if each.ended <= at]
    if before:
        return max(before, key=lambda each: each.ended).state
    return "late" if any(each.state == "complete" for each in own) else "nothing_ran"


def read_months(
    connection: Connection, flow: Flow, settings: FlowSettings, since: datetime, now: datetime
) -> list[Month]:
    """Return the months of a flow's deadline; none without a deadline."""
    deadline = Deadline.of(flow, settings)
    if deadline is None:
        return []
    given = {"flow": flow.dag_id, "step": flow.last_step, "daily": flow.daily, "since": since}
    rows = connection.execute(_ENDS, {**given, "zone": settings.time_zone.key})
    return months(deadline, [LoadEnd(*row) for row in rows], now)


# A load has the days that were over when it started; a load of whole days has those of its window only.
_ENDS = text("""
select id_entity, finished_at, state,
    case when :daily then least(window_end, last_day) else last_day end as newest_day
from bms.step_run, cast(cast(started_at at time zone :zone as date) - 1 as date) as last_day
where flow = :flow and step = :step and started_at >= :since and state <> 'running'
    and finished_at is not null and (not :daily or window_end is not null)
    and coalesce(cast(details->>'whole' as boolean), true)
""")
