"""Test environment that runs audits of a sandbox and a filled warehouse."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Engine
from upath import UPath

from bms.client import Client
from bms.counters import Counters
from bms_flows.audit.run import audit
from bms_flows.audit.settings import AuditSettings
from bms_flows.monitoring import alarms
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror
from tests.support import sql

TODAY = date(2026, 3, 31)


@dataclass
class Auditor:
    """Runs loads and audits of one warehouse and one service."""

    mirror: Mirror
    extract: Callable[..., dict[str, Any]]
    window: Window = field(default_factory=lambda: Window(date(2026, 3, 1), date(2026, 3, 30)))
    settings: AuditSettings = field(default_factory=AuditSettings)
    counters: Counters = field(default_factory=Counters)
    today: date = TODAY
    runs: int = 0

    @property
    def sandbox(self) -> Sandbox:
        """The service."""
        return self.mirror.sandbox

    @property
    def warehouse(self) -> Engine:
        """The warehouse."""
        return self.mirror.warehouse

    def fill(self, window: Window, **volumes: Any) -> None:
        """Fill the service, and run all flows for a window and the lists."""
        self.window = window
        self.sandbox.fill(**volumes)
        self.load()

    def load(self) -> None:
        """Run all flows for the window and the lists."""
        self.extract(str(self.window.start), str(self.window.end))
        self.read_lists()

    def read_lists(self) -> None:
        """Run the mirrors."""
        for name in ("contact", "consultant"):
            self.mirror.run(name, page_size=100)
        self.mirror.run("employee", id_entity=1)
        # In tests, mirror flows are named after their resource.
        named = "update bms.step_run set flow = 'employee_directory' where flow = 'employee_sync'"
        self.execute(named)

    def run_in_turn(self, entities: Sequence[int] = (1,), **client: Any) -> dict[str, Any]:
        """Run today's audit, then advance to the next day."""
        found = self._run(None, entities, **client)
        self.next_day()
        return found

    def run(self, window: Window | None = None, **client: Any) -> dict[str, Any]:
        """Audit the window of entity 1 and the lists; return the findings."""
        return self._run(window or self.window, [1], **client)

    def _run(self, window: Window | None, entities: Sequence[int], **client: Any) -> dict[str, Any]:
        self.runs += 1
        self.counters = Counters()
        step = Step("reconciliation", f"audit {self.runs}", "audit")
        flow = FlowContext(self.warehouse, UPath(self.mirror.data_root), self.settings)

        async def once() -> dict[str, Any]:
            settings = replace(self.mirror.client_settings, **client)
            async with Client(settings, counters=self.counters) as opened:
                return await audit(
                    opened,
                    flow,
                    self.settings,
                    step,
                    entities=entities,
                    today=self.today,
                    window=window,
                    connected=entities,
                )

        return asyncio.run(once())

    def next_day(self) -> None:
        """Advance to another day."""
        self.today += timedelta(days=1)

    def found(self) -> dict[str, dict[str, int]]:
        """Return the findings of days and lists, by resource and code."""
        found: dict[str, dict[str, int]] = {}
        for resource, counts in self.query("select resource, found from bms.reconciliation"):
            for code, rows in counts.items():
                of = found.setdefault(resource, {})
                of[code] = of.get(code, 0) + rows
        return found

    def states(self) -> dict[str, int]:
        """Return the number of results in each state."""
        return dict(self.query("select state, count(*) from bms.reconciliation group by state"))

    def states_of(self, resource: str) -> dict[str, int]:
        """Return the number of days or parts of a resource in each state."""
        return dict(
            self.query(
                "select state, count(*) from bms.reconciliation"
                f" where resource = '{resource}' group by state"
            )
        )

    def word(self, resource: str, day: str) -> tuple[str, dict[str, int]]:
        """Return state and findings of a day."""
        (row,) = self.query(
            "select state, found || pending from bms.reconciliation"
            f" where resource = '{resource}' and day = '{day}'"
        )
        return row

    def latest(self, resource: str) -> tuple[str, dict[str, int]]:
        """Return state and findings of the latest audit of a resource."""
        return self.query(
            "select state, found || pending from bms.reconciliation"
            f" where resource = '{resource}' order by day desc limit 1"
        )[0]

    def ringing(self) -> set[str]:
        """Return the subjects of open alarms."""
        with self.warehouse.connect() as connection:
            return {each.subject for each in alarms.open_alarms(connection)}

    def query(self, statement: str) -> list[Any]:
        """Return the rows of a query."""
        return [tuple(row) for row in sql.fetch(self.warehouse, statement)]

    def execute(self, statement: str) -> None:
        """Change rows of the warehouse directly."""
        sql.execute(self.warehouse, statement)
