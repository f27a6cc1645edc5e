"""Tasks of reconciliation."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from typing import Any

from airflow.sdk import get_current_context

from bms.counters import Counters
from bms_flows.audit.run import audit as compare
from bms_flows.audit.settings import AuditSettings
from bms_flows.runtime.windows import Window
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook


def audit() -> dict[str, Any]:
    """Compare what the service says with itself and with the warehouse; return what was found."""
    params = get_current_context()["params"]
    hook, counters = BmsHook(), Counters()
    entities = params.get("entities") or hook.entities
    settings = AuditSettings.from_environment()
    window = None
    if params.get("start_date"):
        start = date.fromisoformat(params["start_date"])
        window = Window(start, date.fromisoformat(params.get("end_date") or params["start_date"]))
    today = datetime.now(UTC).astimezone(settings.time_zone).date()
    step = flow_context.step("audit", window=window)

    async def run() -> dict[str, Any]:
        async with hook.client(counters) as client:
            return await compare(
                client,
                flow,
                settings,
                step,
                entities=entities,
                today=today,
                window=window,
                connected=hook.entities,
            )

    with flow_context.open_for_service(hook.settings) as flow:
        try:
            return asyncio.run(run())
        finally:
            flow_context.emit(counters, "reconciliation")
