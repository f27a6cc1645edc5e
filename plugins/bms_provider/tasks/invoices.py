"""Tasks of invoice_extraction."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.sdk import Asset, get_current_context

from bms.counters import Counters
from bms_flows import runs
from bms_flows.invoices.extract import Workplace, extract_unit
from bms_flows.invoices.plan import Unit, units
from bms_provider import policy, workplace
from bms_provider.hooks.bms import BmsHook


def plan() -> list[int]:
    """Enter the run's units in `bms.run` and return their places there, one for each task."""
    settings = workplace.settings()
    window = workplace.asked_window()
    entities = get_current_context()["params"].get("entities") or BmsHook().entities
    shared_out = units(entities, [window], unit_days=settings.unit_days)
    with workplace.warehouse() as engine:
        run_id = runs.begin(engine, workplace.step("plan", window=window))
        with engine.begin() as connection:
            runs.finish(
                connection,
                run_id,
                state="complete",
                details={"units": [unit.as_dict() for unit in shared_out]},
            )
    return list(range(len(shared_out)))


def extract(place: int) -> dict[str, Any]:
    """Read and load the unit at `place`, announce its asset and return its manifest."""
    context = get_current_context()
    hook, settings, counters = BmsHook(), workplace.settings(), Counters()
    client, data_root = hook.client(counters), workplace.data_root()
    language = context["params"].get("language") or settings.language
    with workplace.warehouse() as engine:
        planned = runs.details(engine, workplace.step("plan"))["units"][place]
        unit = Unit.from_dict(planned)
        context["unit"] = f"entity {unit.id_entity}, {unit.span}"  # type: ignore[typeddict-unknown-key]  # for map_index_template
        step = workplace.step("extract", id_entity=unit.id_entity, window=unit.span)
        place_ = Workplace(engine, data_root, settings)
        try:
            manifest = asyncio.run(extract_unit(client, place_, unit, step, language=language))
        finally:
            workplace.emit(counters, "list_client_invoices")
    name = f"bms_client_invoice_{unit.id_entity}"
    asset = Asset(name, uri=f"bms://warehouse/client_invoice/{unit.id_entity}")
    context["outlet_events"][policy.INVOICES].add(asset, extra=manifest)
    return manifest
