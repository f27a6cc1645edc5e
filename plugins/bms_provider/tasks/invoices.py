"""Tasks of invoice_extraction."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import Asset, get_current_context
from airflow.sdk.exceptions import AirflowSkipException

from bms.counters import Counters
from bms.endpoints import BY_NAME
from bms_flows.invoices import planning
from bms_flows.invoices.acceptance import accept_unit
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit, limit_units
from bms_flows.runtime import step_log
from bms_provider import flow_context, lineage, policy
from bms_provider.hooks.bms import BmsHook
from bms_warehouse.tables import client_invoice

ENDPOINT = BY_NAME["list_client_invoices"]


def plan() -> list[int]:
    """Enter the run's units in `bms.run` and return their places there, one for each task."""
    params = get_current_context()["params"]
    hook = BmsHook()
    entities = hook.entities_or(params.get("entities"))
    window, days_given = flow_context.asked_window(), bool(params.get("start_date"))
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
        run_id = step_log.begin(flow.warehouse, flow_context.step("plan", window=window))
        details = {"units": [unit.as_dict() for unit in units], "over_budget": over_budget}
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, run_id, state="complete", details=details)
    return list(range(len(units)))


def extract(position: int) -> dict[str, Any]:
    """Read and load the unit at `position`, announce its asset and return its manifest."""
    context = get_current_context()
    hook, counters = BmsHook(), Counters()
    client = hook.client(counters)
    with flow_context.open_for_service(hook.settings) as flow:
        planned = step_log.details(flow.warehouse, flow_context.step("plan"))["units"][position]
        unit = Unit.from_dict(planned)
        context["unit"] = f"entity {unit.id_entity}, {unit.span}"  # type: ignore[typeddict-unknown-key]  # for map_index_template
        step = flow_context.step("extract", id_entity=unit.id_entity, window=unit.span)
        try:
            if unit.accepts:
                manifest = accept_unit(flow, unit, step)
                if manifest is None:
                    raise AirflowSkipException("read again since: nothing is left to accept")
            else:
                language = context["params"].get("language") or flow.settings.language
                manifest = asyncio.run(extract_unit(client, flow, unit, step, language=language))
        finally:
            flow_context.emit(counters, ENDPOINT.name)
        flow_context.emit_rows(client_invoice.name, manifest)
        url = flow.warehouse.url
        lineage.report(ENDPOINT, hook.settings.base_url, client_invoice, url, manifest)
    name = f"bms_client_invoice_{unit.id_entity}"
    asset = Asset(name, uri=f"bms://warehouse/client_invoice/{unit.id_entity}")
    context["outlet_events"][policy.INVOICES].add(asset, extra=manifest)
    return manifest
