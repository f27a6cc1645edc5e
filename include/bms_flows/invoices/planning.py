"""The plan of a run: units of the requested days and the look-back, or held loads to publish."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from sqlalchemy import Engine, func, literal, select

from bms_flows.invoices.day_state import day_states
from bms_flows.invoices.lookback import LONGEST_GAP, plan_lookback, windows_of
from bms_flows.invoices.units import Unit, limit_units, split_into_units
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import Window
from bms_warehouse import locks
from bms_warehouse.tables import client_invoice_finding, step_run

LOG = logging.getLogger(__name__)

FIRST = func.coalesce(step_run.c.details["first"].as_integer(), 0)
"""Position of the first unit of a plan; a plan of an older version has none."""
END = FIRST + func.jsonb_array_length(step_run.c.details["units"])


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What a run of the DAG requests."""

    entities: Sequence[int]
    window: Window
    only_window: bool
    """Whether the run reads no other days: an operator gave the days, or the run is part of a backfill."""
    lookback_days: int | None = None
    """Replaces `BMS_LOOKBACK_DAYS`."""
    publish_held: bool = False
    """Whether the run publishes held loads instead of reading."""


def record_plan(flow: FlowContext, request: RunRequest, step: step_log.Step) -> list[int]:
    """Plan days and record their units in `bms.step_run`; return their positions.

    A run may have several plans; the positions continue those of the plans before.
    """
    today = datetime.now(UTC).astimezone(flow.settings.time_zone).date()
    units, over_budget = plan_run(flow.warehouse, request, flow.settings, today=today)
    same = (step_run.c.flow == step.flow, step_run.c.dag_run_id == step.dag_run_id)
    with flow.warehouse.begin() as connection:
        locks.serialize(connection, f"plan {step.flow} {step.dag_run_id}")
        step_run_id = step_log.begin(flow.warehouse, step)
        end = select(func.max(END)).where(*same, step_run.c.step == step.name)
        first = connection.scalar(end) or 0
        details = {
            "first": first,
            "units": [unit.as_dict() for unit in units],
            "over_budget": over_budget,
            "time_zone": flow.settings.time_zone.key,  # of the views
        }
        step_log.finish(connection, step_run_id, state="complete", details=details)
    return list(range(first, first + len(units)))


def planned_unit(flow: FlowContext, step: step_log.Step, position: int) -> Unit:
    """Return the unit that `record_plan` recorded at a position of this step; raise `StepMissing`."""
    plan = step_log.details(flow.warehouse, step, literal(position).between(FIRST, END - 1))
    return Unit.from_dict(plan["units"][position - plan.get("first", 0)])


def plan_run(
    engine: Engine, request: RunRequest, settings: FlowSettings, *, today: date
) -> tuple[list[Unit], int]:
    """Return the units of a run, one for each mapped task, and the number of days over budget."""
    over_budget = 0
    if request.publish_held:
        days = request.window if request.only_window else None
        units = held_loads(engine, request.entities, days)
    elif request.only_window:
        units = [
            unit
            for entity in request.entities
            for unit in split_into_units(entity, [request.window], unit_days=settings.unit_days)
        ]
    else:
        if request.lookback_days is not None:
            settings = replace(settings, lookback_days=request.lookback_days)
        units, over_budget = plan_with_lookback(
            engine, request.entities, request.window, settings, today=today
        )
    return limit_units(units), over_budget


def plan_with_lookback(
    engine: Engine, entities: Iterable[int], asked: Window, settings: FlowSettings, *, today: date
) -> tuple[list[Unit], int]:
    """Return the units of the requested and older days, and the number of days over budget."""
    planned: list[Unit] = []
    over_budget = 0
    for entity in entities:
        with engine.connect() as connection:
            stored = day_states(connection, entity, settings.time_zone)
        lookback = plan_lookback(asked, stored, settings, today=today)
        over_budget += lookback.over_budget
        if not stored:
            LOG.warning(
                "entity %s: first read, from %s on. If the entity has older invoices, run a backfill.",
                *(entity, lookback.windows[0].start),
            )
        for gap in lookback.gaps:
            LOG.warning(
                "entity %s: no run has read %s. The look-back leaves out gaps of more than %s days. "
                "If the entity has invoices there, run a backfill of these days.",
                *(entity, gap, LONGEST_GAP),
            )
        planned += split_into_units(entity, lookback.windows, unit_days=settings.unit_days)
    return planned, over_budget


def held_loads(
    engine: Engine, entities: Iterable[int], asked: Iterable[date] | None = None
) -> list[Unit]:
    """Return the held loads of `entities`, oldest first, with the days that they can still publish.

    A later load that has read a day replaces the held one for this day. With `asked`, only these
    days are returned.
    """
    found = client_invoice_finding.c
    held = [found.held, found.id_entity.in_([*entities])]
    if asked is not None:
        held.append(found.day.in_([*asked]))
    load = (found.id_entity, found.step_run_id)
    loads = select(*load, func.array_agg(found.day)).where(*held).group_by(*load).order_by(load[1])
    with engine.connect() as connection:
        return [
            Unit(id_entity, tuple(windows_of(days)), accepts=number)
            for id_entity, number, days in connection.execute(loads)
        ]
