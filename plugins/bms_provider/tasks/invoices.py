"""Tasks of the DAG invoice_extraction."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowSkipException

from bms_flows.invoices import planning
from bms_flows.invoices.acceptance import accept_unit
from bms_flows.invoices.run import extract_unit
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook
from bms_provider.tasks import loads
from bms_warehouse.tables import client_invoice


def plan() -> list[int]:
    """Record the units of the run in `bms.step_run`; return their positions, one for each mapped task."""
    context, hook = get_current_context(), BmsHook()
    params, window = context["params"], flow_context.window_of_run()
    request = planning.RunRequest(
        entities=hook.entities_or(params.get("entities")),
        window=window,
        only_window=bool(params.get("start_date")) or context["dag_run"].run_type == "backfill",
        lookback_days=params.get("lookback_days"),
        publish_held=bool(params.get("accept_suspect")),
    )
    with flow_context.open_for_service(hook.settings) as flow:
        return planning.record_plan(flow, request, flow_context.step("plan", window=window))


def extract(position: int) -> dict[str, Any]:
    """Read and load the unit at `position`, or publish it if it was held; return its manifest."""
    context, hook = get_current_context(), BmsHook()
    with (
        flow_context.counted("list_client_invoices") as counters,
        flow_context.rescheduled_while_busy(),
        flow_context.open_for_service(hook.settings) as flow,
    ):
        unit = planning.planned_unit(flow, flow_context.step("plan"), position)
        context["unit"] = f"entity {unit.id_entity}, {unit.span}"  # type: ignore[typeddict-unknown-key]  # for map_index_template
        step = flow_context.step("extract", id_entity=unit.id_entity, window=unit.span)
        if unit.accepts:
            manifest = accept_unit(flow, unit, step)
            if manifest is None:
                raise AirflowSkipException("Nothing to publish: the held days were read again.")
        else:
            language = context["params"].get("language") or flow.settings.language
            client = hook.client(counters)
            manifest = asyncio.run(extract_unit(client, flow, unit, step, language=language))
        loads.report(flow, hook, client_invoice, manifest)
    return manifest
