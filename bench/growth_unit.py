"""One piece of daily work in a separate process, as in a task; prints seconds and memory as JSON.

    python -m bench.growth_unit night|audit|lists URL DATABASE DATA_ROOT

`night` is the daily run of an entity's invoices, `audit` an audit of its invoices and of the lists,
`lists` one of the lists alone.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from datetime import date, timedelta

from upath import UPath

from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms_flows.audit.run import audit
from bms_flows.audit.settings import AuditSettings
from bms_flows.invoices.planning import RunRequest, plan_run
from bms_flows.invoices.run import extract_unit
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_warehouse import database
from tests.support.measurement import peak_memory

TODAY = date(2026, 4, 1)
IN_FLIGHT = 16


def night(flow: FlowContext, client: Client) -> None:
    """Plan the daily run of an entity and extract its units."""
    yesterday = TODAY - timedelta(days=1)
    request = RunRequest(entities=[1], window=Window(yesterday, yesterday), only_window=False)
    units, _ = plan_run(flow.warehouse, request, flow.settings, today=TODAY)
    for unit in units:
        step = Step("invoice_extraction", "growth", "extract", 1, unit.span.start, unit.span.end)
        asyncio.run(extract_unit(client, flow, unit, step, language="FR"))


def compare(flow: FlowContext, client: Client, entities: Sequence[int]) -> None:
    """Audit the invoices of `entities` in turn, and the lists."""

    async def run() -> None:
        async with client:
            step = Step("reconciliation", "growth", "audit")
            await audit(client, flow, AuditSettings(), step, entities=entities, today=TODAY)

    asyncio.run(run())


def main() -> None:
    """Do the work once."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("work", choices=("night", "audit", "lists"))
    options.add_argument("url")
    options.add_argument("database")
    options.add_argument("data_root")
    given = options.parse_args()
    client_settings = ClientSettings(
        base_url=given.url,
        client_id="demo-client",
        application_id="demo-application",
        secret="demo-secret",  # noqa: S106 - the sandbox's own
        concurrency=IN_FLIGHT,
    )
    engine = database.connect(given.database)
    counters = Counters()
    client = Client(client_settings, counters=counters)
    flow = FlowContext(engine, UPath(given.data_root), AuditSettings())
    started = time.perf_counter()
    match given.work:
        case "night":
            night(flow, client)
        case "audit":
            compare(flow, client, [1])
        case "lists":
            compare(flow, client, [])
    seconds = time.perf_counter() - started
    engine.dispose()
    print(json.dumps({"seconds": seconds, "peak": peak_memory(), "requests": counters.requests}))


if __name__ == "__main__":
    main()
