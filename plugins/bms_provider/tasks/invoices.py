"""Tasks of the DAG invoice_extraction."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowSkipException

from bms_flows.invoices import planning
from bms_flows.invoices.acceptance import accept_unit
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit, limit_units
from bms_flows.runtime import step_log
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook
from bms_provider.tasks import loads
from bms_warehouse.tables import client_invoice


def plan() -> list[int]:
    """Record the units of the run in `bms.step_run`; return their positions, one for each mapped task."""
    params, hook = get_current_context()["params"], BmsHook()
    entities = hook.entities_or(params.get("entities"))
    window, days_given = flow_context.window_of_run(), bool(params.get("start_date"))
    over_budget = 0
    with flow_context.open_for_service(hook.settings) as flow:
        settings = flow.settings
        if params.get("lookback_days") is not None:
            settings = replace(settings, lookback_days=params["lookback_days"])
        if params.get("accept_suspect"):
            units = planning.held_loads(flow.warehouse, entities, window if days_given else None)
        elif days_given:
            units = planning.plan_requested(entities, window, settings)
        else:
            today = datetime.now(UTC).astimezone(settings.time_zone).date()
            units, over_budget = planning.plan_with_lookback(
                flow.warehouse, entities, window, settings, today=today
            )
        units = limit_units(units)
        step_run_id = step_log.begin(flow.warehouse, flow_context.step("plan", window=window))
        details = {"units": [unit.as_dict() for unit in units], "over_budget": over_budget}
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete", details=details)
    return list(range(len(units)))


def extract(position: int) -> dict[str, Any]:
    """Read and load the unit at `position`, or publish it if it was held; return its manifest."""
    context, hook = get_current_context(), BmsHook()
    with (
        flow_context.counted("list_client_invoices") as counters,
        flow_context.open_for_service(hook.settings) as flow,
    ):
        client = hook.client(counters)
        planned = step_log.details(flow.warehouse, flow_context.step("plan"))["units"][position]
        unit = Unit.from_dict(planned)
        context["unit"] = f"entity {unit.id_entity}, {unit.span}"  # type: ignore[typeddict-unknown-key]  # for map_index_template
        step = flow_context.step("extract", id_entity=unit.id_entity, window=unit.span)
        if unit.accepts:
            manifest = accept_unit(flow, unit, step)
            if manifest is None:
                raise AirflowSkipException("Nothing to publish: the held days were read again.")
        else:
            language = context["params"].get("language") or flow.settings.language
            manifest = asyncio.run(extract_unit(client, flow, unit, step, language=language))
        loads.report(flow, hook, client_invoice, manifest, unit.id_entity)
    return manifest
