"""Tasks of the DAG reconciliation."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from typing import Any

from airflow.sdk import get_current_context

from bms_flows.audit.run import audit as compare
from bms_flows.audit.settings import AuditSettings
from bms_flows.runtime.windows import Window
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook


def audit() -> dict[str, Any]:
    """Compare the service with itself and with the warehouse; return a summary."""
    params, hook = get_current_context()["params"], BmsHook()
    settings = AuditSettings.from_environment()
    window = None
    if first := params.get("start_date"):
        last = params.get("end_date") or first
        window = Window(date.fromisoformat(first), date.fromisoformat(last))
    step = flow_context.step("audit", window=window)

    async def run() -> dict[str, Any]:
        async with hook.client(counters) as client:
            return await compare(
                client,
                flow,
                settings,
                step,
                entities=params.get("entities") or hook.entities,
                today=datetime.now(UTC).astimezone(settings.time_zone).date(),
                window=window,
                connected=hook.entities,
            )

    with (
        flow_context.counted("reconciliation") as counters,
        flow_context.open_for_service(hook.settings) as flow,
    ):
        return asyncio.run(run())
