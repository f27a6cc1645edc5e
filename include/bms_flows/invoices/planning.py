"""What a run will do: the units of the days asked for and of the look back, or suspect loads."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from sqlalchemy import Engine, func, select

from bms_flows.invoices import history
from bms_flows.invoices.lookback import join_windows, plan_lookback
from bms_flows.invoices.units import Unit, split_into_units
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import Window
from bms_warehouse.tables import step_run


def plan_requested(entities: Iterable[int], asked: Window, settings: FlowSettings) -> list[Unit]:
    """Return the units of just the days asked for."""
    return [
        unit
        for entity in entities
        for unit in split_into_units(entity, [asked], unit_days=settings.unit_days)
    ]


def plan_with_lookback(
    engine: Engine, entities: Iterable[int], asked: Window, settings: FlowSettings, *, today: date
) -> tuple[list[Unit], int]:
    """Return the units of the days asked for and of older ones, and how many days are over budget."""
    planned: list[Unit] = []
    over_budget = 0
    for entity in entities:
        with engine.connect() as connection:
            stored = history.read_days(connection, entity, settings.time_zone)
        lookback = plan_lookback(
            asked,
            stored,
            today=today,
            lookback_days=settings.lookback_days,
            budget=settings.lookback_budget,
            rotation=settings.lookback_rotation,
            gap=settings.lookback_gap,
        )
        over_budget += lookback.over_budget
        planned += split_into_units(entity, lookback.windows, unit_days=settings.unit_days)
    return planned, over_budget


def held_loads(
    engine: Engine, entities: Iterable[int], asked: Iterable[date] | None = None
) -> list[Unit]:
    """Return the suspect loads of `entities` that stand as the last word.

    Each with those of its days alone that were `asked` for, where days are, and that no later load
    has read: of several in doubt about a day the latest counts, and one that was published since
    is never overwritten.
    """
    ended = select(step_run.c.id, step_run.c.state, step_run.c.details).where(
        step_run.c.flow == "invoice_extraction",
        step_run.c.step == "extract",
        step_run.c.id_entity.in_(list(entities)),
    )
    oldest = (
        select(func.min(step_run.c.id))
        .where(step_run.c.flow == "invoice_extraction", step_run.c.state == "suspect")
        .scalar_subquery()
    )
    ended = ended.where(step_run.c.state.in_(("complete", "suspect")), step_run.c.id >= oldest)
    with engine.connect() as connection:
        loads = [
            # What was accepted is as old as the answers it was made of.
            (details.get("accepts") or number, state == "complete", Unit.from_dict(details))
            for number, state, details in connection.execute(ended)
        ]
    wanted = None if asked is None else {*asked}
    found = []
    read: dict[int, set[date]] = defaultdict(set)
    for number, published, unit in sorted(loads, key=lambda load: load[:2], reverse=True):
        left = unit.days - read[unit.id_entity]
        read[unit.id_entity] |= left
        if wanted is not None:
            left &= wanted
        if left and not published:
            windows = join_windows((Window(day, day) for day in left), gap=0)
            found.append(Unit(unit.id_entity, tuple(windows), accepts=number))
    return found[::-1]
