"""What a run will do: the units of the days asked for and of the look back, or suspect loads."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from sqlalchemy import Engine, func, select

from bms_flows.invoices import history
from bms_flows.invoices.lookback import join, look_back
from bms_flows.invoices.units import Unit, units
from bms_flows.runtime.settings import Settings
from bms_flows.runtime.windows import Window
from bms_warehouse.tables import run


def exactly(entities: Iterable[int], asked: Window, settings: Settings) -> list[Unit]:
    """Return the units of just the days asked for."""
    return [
        unit for entity in entities for unit in units(entity, [asked], unit_days=settings.unit_days)
    ]


def with_look_back(
    engine: Engine, entities: Iterable[int], asked: Window, settings: Settings, *, today: date
) -> tuple[list[Unit], int]:
    """Return the units of the days asked for and of older ones, and how many days are over budget."""
    planned: list[Unit] = []
    over_budget = 0
    for entity in entities:
        with engine.connect() as connection:
            stored = history.looked(connection, entity, settings.time_zone)
        lookback = look_back(
            asked,
            stored,
            today=today,
            lookback_days=settings.lookback_days,
            budget=settings.lookback_budget,
            rotation=settings.lookback_rotation,
            gap=settings.lookback_gap,
        )
        over_budget += lookback.over_budget
        planned += units(entity, lookback.windows, unit_days=settings.unit_days)
    return planned, over_budget


def suspects(
    engine: Engine, entities: Iterable[int], asked: Iterable[date] | None = None
) -> list[Unit]:
    """Return the suspect loads of `entities` that stand as the last word.

    Each with those of its days alone that were `asked` for, where days are, and that no later load
    has read: of several in doubt about a day the latest counts, and one that was published since
    is never overwritten.
    """
    ended = select(run.c.id, run.c.state, run.c.details).where(
        run.c.flow == "invoice_extraction",
        run.c.step == "extract",
        run.c.id_entity.in_(list(entities)),
    )
    oldest = (
        select(func.min(run.c.id))
        .where(run.c.flow == "invoice_extraction", run.c.state == "suspect")
        .scalar_subquery()
    )
    ended = ended.where(run.c.state.in_(("complete", "suspect")), run.c.id >= oldest)
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
            windows = join((Window(day, day) for day in left), gap=0)
            found.append(Unit(unit.id_entity, tuple(windows), accepts=number))
    return found[::-1]
