"""A service that lists exactly the invoices that a test gives it: copies, any order, no dates."""

import asyncio
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from sqlalchemy import Engine
from upath import UPath

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.invoices.acceptance import accept_unit
from bms_flows.invoices.planning import held_loads
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit
from bms_flows.rebuild import rebuild
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_warehouse.queries.records import fingerprint
from bms_warehouse.tables import client_invoice
from tests.support.sql import execute

Row = dict[str, Any]


def invoice(id_invoice: int, day: date | None, **given: Any) -> Row:
    """Return an invoice as the service lists it."""
    return {
        "id_invoice": id_invoice,
        "reference_number": f"F{id_invoice}",
        "invoice_date": day and day.isoformat(),
        "total_excl_vat": 100,
        "total_vat": 20,
        "total_incl_vat": 120,
        "total_due": 0,
        "currency": "EUR",
        "status": "PAID",
        "canceled": False,
        "sent": True,
        **given,
    }


@dataclass
class ListedInvoices:
    """The rows of the service.

    A row without a date is listed on the day of its creation; without this too, whatever days are asked for.
    """

    rows: list[Row] = field(default_factory=list)
    order: random.Random | None = None
    """Shuffles each response."""
    lost: set[int] = field(default_factory=set)
    """Identifiers that responses lack."""
    refused_from: date | None = None
    """First day that the service refuses to list."""
    asked: list[Window] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None
    """Called once, between the making of the next response and its sending."""
    url: str = ""

    def listed(self, window: Window) -> list[Row]:
        """Return the rows of a window."""
        rows = [
            row
            for row in self.rows
            if row["id_invoice"] not in self.lost
            and (
                (day := row["invoice_date"] or row.get("created_on")) is None
                or date.fromisoformat(day[:10]) in window
            )
        ]
        if self.order:
            self.order.shuffle(rows)
        return rows

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        if request.path.endswith("/token"):
            token = {"access_token": "t", "token_type": "Bearer", "expires_in": 3600, "scope": []}
            return web.json_response(token)
        days = (date.fromisoformat(request.query[name]) for name in ("start_date", "end_date"))
        window = Window(*days)
        self.asked.append(window)
        if self.refused_from and window.end >= self.refused_from:
            return web.json_response({"message": "the end date is in the future"}, status=400)
        response = json.dumps(self.listed(window))
        if (meanwhile := self.meanwhile) is not None:
            self.meanwhile = None
            await asyncio.to_thread(meanwhile)
        return web.Response(text=response, content_type="application/json")


@contextmanager
def serving() -> Iterator[ListedInvoices]:
    """Run the service in a separate thread."""
    service, ready, loop = ListedInvoices(), threading.Event(), asyncio.new_event_loop()

    async def start() -> web.AppRunner:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", service.answer)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    def run() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(start())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield service
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@dataclass
class Company:
    """A warehouse, the data root and the service that they are filled from."""

    warehouse: Engine
    data_root: Path
    service: ListedInvoices
    settings: FlowSettings = field(default_factory=FlowSettings)
    number: int = 0

    def read(self, start: date, end: date | None = None, *, entity: int = 1) -> dict[str, Any]:
        """Extract days in a new run; return the manifest."""
        window = Window(start, end or start)
        return asyncio.run(
            extract_unit(
                Client(self.client_settings()),
                self._flow(),
                Unit(entity, (window,)),
                self._step(window, entity),
                language="FR",
            )
        )

    def held(self, start: date, end: date | None = None, *, entity: int = 1) -> str:
        """Extract days, some of which are held; return the task's error text, empty if none is held."""
        try:
            self.read(start, end, entity=entity)
        except LoadHeld as error:
            return str(error)
        return ""

    def accept(self, *, newest_first: bool = False) -> list[dict[str, Any]]:
        """Accept all that is held; return the manifests of what was published."""
        units = held_loads(self.warehouse, [1])
        manifests = []
        for unit in reversed(units) if newest_first else units:
            manifest = accept_unit(self._flow(), unit, self._step(unit.span), "marie")
            manifests += [manifest] if manifest else []
        return manifests

    def rebuilds_equally(self) -> bool:
        """Return whether the stored responses give the table as it is."""
        made = rebuild(self.warehouse, UPath(self.data_root))
        return made.before == made.after

    def _flow(self) -> FlowContext:
        return FlowContext(self.warehouse, UPath(self.data_root), self.settings)

    def _step(self, window: Window, entity: int = 1) -> Step:
        self.number += 1
        run = f"run {self.number}"
        return Step("invoice_extraction", run, "extract", entity, window.start, window.end)

    def client_settings(self) -> ClientSettings:
        return ClientSettings(
            base_url=self.service.url,
            client_id="client",
            application_id="application",
            secret="secret",
            backoff_cap=0.02,
            trust_env=False,
        )


def days(first: date, count: int) -> list[date]:
    """Return `count` days from `first` on."""
    return [first + timedelta(days=n) for n in range(count)]


def table_hash(warehouse: Engine) -> str:
    """Return a digest of all invoices, whatever their order."""
    with warehouse.connect() as connection:
        return fingerprint(connection, client_invoice)


def empty_invoices(warehouse: Engine) -> None:
    """Delete all invoices, their versions, and what is known of their days."""
    tables = ("client_invoice", "client_invoice_superseded", "client_invoice_day")
    execute(warehouse, f"truncate {', '.join(f'bms.{name}' for name in tables)}")
