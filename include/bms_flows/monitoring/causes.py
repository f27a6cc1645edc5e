"""Causes of a flow's alarm: loads held for review, and failed steps that no later step repaired."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from bms_flows.catalog import Flow
from bms_flows.monitoring.alarms import Extent


@dataclass(frozen=True)
class HeldLoad:
    """A check that holds days of an entity, or a whole list, for review."""

    id_entity: int | None
    code: str
    days: int
    """Number of held days; 0 for a list."""

    def __str__(self) -> str:
        days = f"{self.days} day{'s' * (self.days > 1)} of " if self.days else ""
        return f"{days}{_subject(self.id_entity)} ({self.code})"


def held_loads(connection: Connection, flow: Flow) -> list[HeldLoad]:
    """Return what is held of a flow: the days of invoices, the latest run of each list of a mirror."""
    if flow.loads == "client_invoice":
        found = connection.execute(_HELD_DAYS)
    else:
        found = connection.execute(_HELD_LISTS, {"flow": flow.dag_id, "step": flow.last_step})
    return [HeldLoad(*row) for row in found]


def extent(held: list[HeldLoad]) -> Extent:
    """Return the extent of an alarm: entities with codes, and the number of days."""
    aspects = {f"{_subject(each.id_entity)} {each.code}" for each in held}
    return Extent(aspects, sum(each.days for each in held))


def describe(held: list[HeldLoad]) -> str:
    """Return a sentence about what is held."""
    return f"Held: {', '.join(map(str, held))}."


def unrepaired(
    connection: Connection, flow: str, dag_run_id: str | None, since: datetime, lookback_days: int
) -> datetime | None:
    """Return the time of the first failure of a run, or of any run since, that no later step repaired.

    A step that did not end counts as failed. A later step repairs a step of the same entity if it covers
    its days. Days at most `lookback_days` earlier count as covered: the next runs read them again.
    """
    given: dict[str, Any] = {"flow": flow, "run": dag_run_id, "since": since}
    found: datetime | None = connection.scalar(
        _UNREPAIRED, {**given, "lookback_days": lookback_days}
    )
    return found


def _subject(id_entity: int | None) -> str:
    return "the list" if id_entity is None else f"entity {id_entity}"


_HELD_DAYS = text("""
select id_entity, code, count(*) from bms.client_invoice_finding, unnest(codes) as code
where held group by 1, 2 order by 1, 2
""")

_HELD_LISTS = text("""
select id_entity, code, 0
from (
    select distinct on (id_entity) id_entity, state, details from bms.step_run
    where flow = :flow and step = :step and state in ('complete', 'unstable', 'suspect')
    order by id_entity, id desc
) as latest, jsonb_array_elements_text(coalesce(details->'violations', '["many_gone"]')) as code
where state = 'suspect' order by 1, 2
""")

# A task that was killed leaves its step running, or has not begun its planned unit.
_UNREPAIRED = text("""
with failed as (
    select step, id_entity, id, window_start, window_end, coalesce(finished_at, started_at) as at from bms.step_run
    where flow = :flow and state in ('failed', 'running')
        and (dag_run_id = :run or coalesce(finished_at, started_at) >= :since)
    union all
    select 'extract', unit.id_entity, id, cast(split_part(windows[1], '/', 1) as date),
        cast(split_part(windows[cardinality(windows)], '/', 2) as date), started_at
    from bms.step_run, jsonb_to_recordset(details->'units') as unit(id_entity bigint, windows text[], accepts bigint)
    where flow = :flow and dag_run_id = :run and step = 'plan' and state = 'complete' and accepts is null
)
select min(at) from failed
where not exists (
    select from bms.step_run as later
    where later.flow = :flow and later.step = failed.step and later.id > failed.id
        and later.id_entity is not distinct from failed.id_entity
        and later.state not in ('failed', 'running')
        and coalesce(later.window_end >= failed.window_end
            and later.window_start - failed.window_start <= :lookback_days, true)
)
""")
