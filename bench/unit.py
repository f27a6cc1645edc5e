"""One piece of work in a separate process, as in a task; prints seconds, memory and counts as JSON.

    python -m bench.unit invoices|contacts|night|audit|lists|board URL DATABASE DATA_ROOT

`invoices` extracts days of an entity, `contacts` syncs the contacts, `night` is the daily run of an
entity's invoices, `audit` an audit of its invoices and of the lists, `lists` one of the lists alone,
`board` reads the data of the board's pages and prints the longest time of one.
"""

import asyncio
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any, cast

import msgspec
from upath import UPath

from bench.peers.task import CREDENTIALS, Task, given, timed
from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms_flows.invoices.planning import RunRequest, plan_run
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit, split_into_units
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import CONTACTS, source
from bms_flows.mirror.run import sync
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_warehouse import database

TODAY = date(2026, 4, 1)
WORKS = ("invoices", "contacts", "night", "audit", "lists", "board")
EARLIER = "earlier"
"""Variant that loads invoices before one in `EDITED_ONE_IN` was edited."""
EDITED_ONE_IN = 20
COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")


class EarlierClient(Client):
    """Client of a service before invoices were edited."""

    async def client_invoices(self, read: Callable[[bytes], Any], **asked: Any) -> Any:
        """Return the decoded response, in which some clients have another name."""

        async def read_earlier(body: bytes) -> Any:
            rows = msgspec.json.decode(body, type=list[msgspec.Raw])
            for n in range(0, len(rows), EDITED_ONE_IN):
                earlier = re.sub(rb'("client_name"\s*:\s*")', rb"\1S", bytes(rows[n]))
                rows[n] = msgspec.Raw(earlier)
            return await read(b"[%b]" % b",".join(rows))

        return await super().client_invoices(read_earlier, **asked)


class Work:
    """Service, warehouse and options of one piece of work."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.counters = Counters()
        service = ClientSettings(
            base_url=task.url,
            concurrency=task.in_flight,
            page_size=task.page_size,
            **CREDENTIALS,
        )
        settings = FlowSettings(window_days=task.window, mirror_details=1, mirror_rotation=10**9)
        client = EarlierClient if task.variant == EARLIER else Client
        self.client = client(service, counters=self.counters)
        self.flow = FlowContext(database.connect(task.database), UPath(task.folder), settings)

    def __call__(self) -> dict[str, Any]:
        """Do the work once; return its counts."""
        found: dict[str, Any] = getattr(self, self.task.work)()
        return {"requests": self.counters.requests, **found}

    def invoices(self) -> dict[str, Any]:
        """Extract the days, a unit after the other."""
        asked = Window(self.task.first, self.task.first + timedelta(days=self.task.days - 1))
        return self._extract(split_into_units(1, [asked], unit_days=self.flow.settings.unit_days))

    def night(self) -> dict[str, Any]:
        """Plan the daily run of an entity and extract its units."""
        yesterday = TODAY - timedelta(days=1)
        request = RunRequest(entities=[1], window=Window(yesterday, yesterday), only_window=False)
        units, _ = plan_run(self.flow.warehouse, request, self.flow.settings, today=TODAY)
        return self._extract(units)

    def _extract(self, units: Sequence[Unit]) -> dict[str, Any]:
        counts: Counter[str] = Counter()
        for unit in units:
            step = Step("invoice_extraction", "bench", "extract", 1, unit.span.start, unit.span.end)
            work = extract_unit(self.client, self.flow, unit, step, language="FR")
            manifest = asyncio.run(work)
            counts.update({name: manifest[name] for name in COUNTS})
        return dict(counts)

    def contacts(self) -> dict[str, Any]:
        """Sync the contacts' list, without details."""

        async def run() -> dict[str, Any]:
            step, asked = Step("contact_sync", "bench", "sync"), RunOptions(details=False)
            async with self.client as client:
                return await sync(
                    client, self.flow, CONTACTS, source(client, CONTACTS), asked, step
                )

        return asyncio.run(run())

    def audit(self) -> dict[str, Any]:
        """Audit the invoices of an entity, and the lists."""
        return self._audit([1])

    def lists(self) -> dict[str, Any]:
        """Audit the lists."""
        return self._audit([])

    def _audit(self, entities: Sequence[int]) -> dict[str, Any]:
        from bms_flows.audit.run import audit  # noqa: PLC0415 - loads do not import it in a task either
        from bms_flows.audit.settings import AuditSettings  # noqa: PLC0415

        async def run() -> None:
            step, settings = Step("reconciliation", "bench", "audit"), AuditSettings()
            flow = replace(self.flow, settings=settings)
            async with self.client as client:
                await audit(client, flow, settings, step, entities=entities, today=TODAY)

        asyncio.run(run())
        return {}

    def board(self) -> dict[str, Any]:
        """Read the data of each page twice; the second time counts, since caches are warm then."""
        from bms_provider.board.access import Viewer  # noqa: PLC0415 - imports Airflow
        from bms_provider.board.flows import FLOWS  # noqa: PLC0415
        from bms_provider.board.page import Page  # noqa: PLC0415
        from bms_provider.board.queries import overview, pages  # noqa: PLC0415

        os.environ["BMS_DATA_ROOT"] = str(self.flow.data_root)
        everyone = cast("Viewer", SimpleNamespace(views=frozenset(FLOWS), edits=frozenset(FLOWS)))
        shown: list[Callable[[Page], Any]] = [
            overview.overview,
            lambda page: pages.flow_page(page, "invoice_extraction"),
            lambda page: pages.flow_page(page, "contact_sync"),
        ]
        took = []
        for data_of in shown * 2:
            with ExitStack() as opened:
                page = Page(cast("Any", None), everyone, OnboardingSettings(), opened)
                connection = opened.enter_context(self.flow.warehouse.connect())
                vars(page)["warehouse"] = connection
                started = time.perf_counter()
                data_of(page)
                took.append(time.perf_counter() - started)
        return {"seconds": max(took[len(shown) :])}


def main() -> None:
    """Do the work that the command line names."""
    work = Work(given(WORKS))
    timed(work)
    work.flow.warehouse.dispose()


if __name__ == "__main__":
    main()
