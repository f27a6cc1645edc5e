"""Test environment that runs mirrors against the sandbox and reads the warehouse."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from upath import UPath

from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms_flows.mirror.resource import MirroredResource, MirrorSource, RunOptions
from bms_flows.mirror.resources import MIRRORED, source
from bms_flows.mirror.run import sync
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_sandbox.serve import Sandbox
from tests.support.sql import fetch

KINDS: dict[str, tuple[MirroredResource, Callable[..., MirrorSource]]] = {
    name: (resource, partial(source, resource=resource)) for name, resource in MIRRORED.items()
}

NEVER = 10_000_000
"""Runs of a rotation that no test reaches."""


@dataclass
class Mirror:
    """Runs mirrors one after the other."""

    sandbox: Sandbox
    warehouse: Engine
    data_root: Path
    client_settings: ClientSettings
    settings: FlowSettings = field(default_factory=FlowSettings)
    runs: int = 0
    counters: Counters = field(default_factory=Counters)

    def run(
        self,
        name: str = "contact",
        *,
        page_size: int = 10,
        concurrency: int = 8,
        asked: RunOptions | None = None,
        **given: Any,
    ) -> dict[str, Any]:
        """Run once; `given` restricts the list. Returns the manifest."""
        resource, source_of = KINDS[name]
        self.runs += 1
        self.counters = Counters()

        async def once() -> dict[str, Any]:
            settings = replace(self.client_settings, page_size=page_size, concurrency=concurrency)
            flow = FlowContext(self.warehouse, UPath(self.data_root), self.settings)
            step = Step(f"{name}_sync", f"run {self.runs}", "sync", given.get("id_entity"))
            async with Client(settings, counters=self.counters) as client:
                return await sync(
                    client, flow, resource, source_of(client, **given), asked or RunOptions(), step
                )

        return asyncio.run(once())

    def requests(self, endpoint: str) -> int:
        """Return the number of requests of the last run to an endpoint."""
        return len(self.counters.latencies.get(endpoint, ()))

    def contact(self, number: int) -> dict[str, Any]:
        """Return a contact of the service."""
        return next(row for row in self.sandbox.rows("contacts") if row["id"] == number)

    def last_step(self) -> dict[str, Any]:
        """Return the recorded step of the last run."""
        [found] = fetch(self.warehouse, "select * from bms.step_run order by id desc limit 1")
        return dict(found._asdict())

    def rows(self, table: str, condition: str = "true") -> list[dict[str, Any]]:
        """Return rows of a table, by key and version."""
        order = "guid_employee" if "employee" in table else "id"
        query = f"select * from {table} where {condition} order by {order}, _version"
        return [row._asdict() for row in fetch(self.warehouse, query)]

    def places(self, *tables: str) -> dict[str, list[tuple[str, ...]]]:
        """Return the physical position and transaction ids of each row: any write changes them."""
        names = tables or ("bms.contact", "bms.contact_superseded")
        query = "select ctid, xmin, xmax from {} order by ctid"
        return {
            name: [tuple(map(str, row)) for row in fetch(self.warehouse, query.format(name))]
            for name in names
        }
