"""What a run will do: the units of the days asked for and of the look back, or suspect loads."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from sqlalchemy import Engine, select

from bms_flows.invoices import history
from bms_flows.invoices.lookback import look_back
from bms_flows.invoices.plan import Unit, units
from bms_flows.invoices.window import Window
from bms_flows.settings import Settings
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


def suspects(engine: Engine, entities: Iterable[int], asked: Window | None) -> list[Unit]:
    """Return the suspect loads of `entities`, within `asked` where given, that stand as the last word.

    One that was read again since, or accepted, is no longer up for acceptance.
    """
    later = run.alias()
    overtaken = (
        select(later.c.id)
        .where(
            later.c.id > run.c.id,
            later.c.id_entity == run.c.id_entity,
            later.c.step == run.c.step,
            later.c.state == "complete",
            later.c.window_start <= run.c.window_start,
            later.c.window_end >= run.c.window_end,
        )
        .exists()
    )
    query = select(run.c.id, run.c.details).where(
        run.c.flow == "invoice_extraction",
        run.c.state == "suspect",
        run.c.id_entity.in_(list(entities)),
        ~overtaken,
    )
    if asked:
        query = query.where(run.c.window_start <= asked.end, run.c.window_end >= asked.start)
    with engine.connect() as connection:
        found = [(number, _unit(details)) for number, details in connection.execute(query)]
    return [Unit(unit.id_entity, unit.windows, accepts=number) for number, unit in found]


def _unit(details: dict[str, Any]) -> Unit:
    return Unit.from_dict({name: details[name] for name in ("id_entity", "windows")})
