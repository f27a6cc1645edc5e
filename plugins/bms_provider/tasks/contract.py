"""Tasks of service_contract."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import get_current_context
from airflow.sdk.log import amask_secret

from bms.counters import Counters
from bms_flows.contract.asking import Asker
from bms_flows.contract.learn import learn
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook


def probe() -> dict[str, Any]:
    """Ask the service what its interface doesn't show; return what was told, changed, contradicted."""
    hook, counters = BmsHook(), Counters()
    asker = Asker(hook.settings, counters=counters, on_token=amask_secret)
    entities = get_current_context()["params"].get("entities") or hook.entities
    with flow_context.open_for_service(hook.settings) as flow:
        step = flow_context.step("probe")
        today = datetime.now(UTC).astimezone(flow.settings.time_zone).date()
        try:
            return asyncio.run(learn(asker, flow, step, entities=entities, today=today))
        finally:
            flow_context.emit(counters, "service_contract")
