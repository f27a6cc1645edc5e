"""Extraction of invoices in a separate process, as in a task; prints seconds, counts and memory as JSON."""

import argparse
import asyncio
import json
import time
from datetime import date, timedelta

from upath import UPath

from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit, split_into_units
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_warehouse import database
from tests.support.measurement import peak_memory

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")


def main() -> None:
    """Extract the days, a unit after the other."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("url")
    options.add_argument("database")
    options.add_argument("data_root")
    options.add_argument("--run", default="bench")
    options.add_argument("--first", type=date.fromisoformat, default=date(2025, 4, 1))
    options.add_argument("--days", type=int, default=365)
    options.add_argument("--window", type=int, default=FlowSettings.window_days)
    options.add_argument("--in-flight", type=int, default=16)
    given = options.parse_args()
    client = ClientSettings(
        base_url=given.url,
        client_id="demo-client",
        application_id="demo-application",
        secret="demo-secret",  # noqa: S106 - the sandbox's own
        concurrency=given.in_flight,
    )
    engine = database.connect(given.database)
    flow = FlowContext(engine, UPath(given.data_root), FlowSettings(window_days=given.window))
    asked = Window(given.first, given.first + timedelta(days=given.days - 1))
    counts = dict.fromkeys(COUNTS, 0)
    peaks: list[int] = []
    counters = Counters()

    def extract(unit: Unit) -> None:
        step = Step("invoice_extraction", given.run, "extract", 1, unit.span.start, unit.span.end)
        reader = Client(client, counters=counters)
        work = extract_unit(reader, flow, unit, step, language="FR")
        manifest = asyncio.run(work)
        for name in COUNTS:
            counts[name] += manifest[name]
        peaks.append(peak_memory())

    started = time.perf_counter()
    for unit in split_into_units(1, [asked], unit_days=flow.settings.unit_days):
        extract(unit)
    seconds = time.perf_counter() - started
    engine.dispose()
    print(
        json.dumps(
            {
                "seconds": seconds,
                "requests": counters.requests,
                "peak": peaks[-1],
                "peaks": peaks,
                **counts,
            }
        )
    )


if __name__ == "__main__":
    main()
