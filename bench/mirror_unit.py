"""Sync of contacts in a separate process, as in a task; prints seconds, counts and memory as JSON."""

import argparse
import asyncio
import json
import time
from typing import Any

from upath import UPath

from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import CONTACTS, source
from bms_flows.mirror.run import sync
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_warehouse import database
from tests.support.measurement import peak_memory


def main() -> None:
    """Sync once."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("url")
    options.add_argument("database")
    options.add_argument("data_root")
    options.add_argument("--run", default="bench")
    options.add_argument("--details", type=int, default=0, help="read at most; 0: the list alone")
    options.add_argument("--rotation", type=int, default=10**9, help="runs until all come again")
    options.add_argument("--page-size", type=int, default=100)
    options.add_argument("--in-flight", type=int, default=16)
    given = options.parse_args()
    client_settings = ClientSettings(
        base_url=given.url,
        client_id="demo-client",
        application_id="demo-application",
        secret="demo-secret",  # noqa: S106 - the sandbox's own
        concurrency=given.in_flight,
        page_size=given.page_size,
    )
    settings = FlowSettings(mirror_details=given.details or 1, mirror_rotation=given.rotation)
    engine = database.connect(given.database)
    flow = FlowContext(engine, UPath(given.data_root), settings)
    counters = Counters()

    async def run() -> dict[str, Any]:
        step = Step("contact_sync", given.run, "sync")
        asked = RunOptions(details=given.details > 0)
        async with Client(client_settings, counters=counters) as client:
            return await sync(client, flow, CONTACTS, source(client, CONTACTS), asked, step)

    started = time.perf_counter()
    manifest = asyncio.run(run())
    seconds = time.perf_counter() - started
    engine.dispose()
    summary = {"seconds": seconds, "peak": peak_memory(), "requests": counters.requests}
    print(json.dumps({**summary, **manifest}))


if __name__ == "__main__":
    main()
