"""Tasks of the DAG service_contract."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import get_current_context

from bms_flows.contract.probe import run_probe
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook


def probe() -> dict[str, Any]:
    """Probe unspecified behaviour of the service; return the findings' names by result."""
    hook = BmsHook()
    entities = get_current_context()["params"].get("entities") or hook.entities
    with (
        flow_context.counted("service_contract") as counters,
        flow_context.open_for_service(hook.settings) as flow,
    ):
        client, step = hook.client(counters), flow_context.step("probe")
        today = datetime.now(UTC).astimezone(flow.settings.time_zone).date()
        return asyncio.run(run_probe(client, flow, step, entities=entities, today=today))
