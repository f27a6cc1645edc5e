"""One audit: compares what has its turn, then as much as the remaining requests allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from bms.client import Client
from bms_flows.audit import cycle, planning, store, warehouse
from bms_flows.audit.comparisons import Comparer
from bms_flows.audit.cycle import CycleProgress
from bms_flows.audit.mirrors import sources
from bms_flows.audit.planning import InvoiceHistory
from bms_flows.audit.readings import requests
from bms_flows.audit.settings import AuditSettings
from bms_flows.audit.store import INVOICES
from bms_flows.mirror.resources import EMPLOYEES
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.step_log import RowCounts, Step
from bms_flows.runtime.windows import Window


async def audit(
    client: Client,
    flow: FlowContext,
    settings: AuditSettings,
    step: Step,
    *,
    entities: Sequence[int],
    today: date,
    window: Window | None = None,
    connected: Sequence[int] = (),
) -> dict[str, Any]:
    """Audit one entity in turn and the lists; return the findings without personal data.

    With `window`, audit these days of every entity instead. `connected` are the entities of the
    connection, if it lists any: alarms of other entities are closed. Raises the client's first error
    after all results are stored.
    """
    with recorded_step(flow, step, client.counters) as step_run_id:
        work = Comparer(client, flow, settings, today, step, step_run_id)
        work.close_resolved(entities)
        progress: dict[str, CycleProgress] = {}
        if window is None:
            progress = await AuditSchedule(work, entities).run()
        else:
            await work.compare(dict.fromkeys(entities, window))
        with flow.warehouse.begin() as connection:
            projected = cycle.project(connection, progress, step)
            cycle.update_alarm(connection, projected, settings, step)
            if connected:
                store.close_removed(connection, connected)
            found = {
                "invoices": {str(each): " ".join(map(str, w)) for each, w in work.windows.items()},
                "states": dict(work.states),
                "reasons": dict(work.reasons),
                "cycle": projected,
            }
            step_log.finish(
                connection,
                step_run_id,
                state="partial" if work.failure else "complete",
                counts=RowCounts(),
                service=client.counters,
                reason="Some comparisons failed." if work.failure else None,
                details=found,
            )
    if work.failure is not None:
        raise work.failure
    return found | {"requests": client.counters.requests}


@dataclass
class AuditSchedule:
    """Selects what an audit compares: first what has its turn, then the longest cycle."""

    work: Comparer
    entities: Sequence[int]
    id_entity: int = 0
    """The entity whose turn it is."""
    days: int = 0
    """Days of one window of invoices."""
    older: int = 0
    """Number of older days of all entities."""
    compared: int = 0
    """Number of older days that this audit compared in turn."""

    async def run(self) -> dict[str, CycleProgress]:
        """Compare and return the progress of each cycle."""
        windows = {}
        if self.entities:
            self.id_entity, turn = planning.entity_of(self.entities, self.work.turn)
            known = self._history()
            self.days = planning.days_of(self.work.settings, known)
            with self.work.flow.warehouse.connect() as connection:
                self.older = cycle.older_days(connection, self.entities, self._latest.start)
            window = planning.window_of(known, self.days, today=self.work.today, turn=turn)
            windows[self.id_entity] = window
            if window == planning.older_window(known, self.days, before=self._latest.start):
                self.compared += window.days
        await self.work.compare(windows)
        await self._fill()
        return self._progress()

    async def _fill(self) -> None:
        """Compare more of the longest cycles while requests remain."""
        work = self.work
        lists = {each.resource.name: each for each in sources(work.client, ())}
        while work.failure is None:
            remaining = {
                name: work.parts_of[name] / len(done)
                for name, done in work.parts.items()
                if len(done) < work.parts_of[name] and work.affordable(work.list_requests)
            }
            window = self._next_window()
            if window is not None and work.affordable(2 * requests(window.days)):
                remaining[INVOICES] = self.older / max(self.compared, self.days / 2)
            if not remaining:
                return
            longest = max(remaining, key=lambda name: remaining[name])
            if longest != INVOICES:
                await work.listed(lists[longest], first=False)
            elif window is not None:
                self.compared += window.days
                await work.invoices(self.id_entity, window)

    def _progress(self) -> dict[str, CycleProgress]:
        work = self.work
        found = {
            name: CycleProgress(work.in_turn[name], parts, "parts")
            for name, parts in work.parts_of.items()
            if name != EMPLOYEES.name
        }
        entities = len(self.entities)
        if entities:
            found[EMPLOYEES.name] = CycleProgress(1, entities, "entities")
            found[INVOICES] = CycleProgress(self.compared, self.older, "older days", entities)
        return found

    @property
    def _latest(self) -> Window:
        return planning.latest_of(self.days, self.work.today)

    def _next_window(self) -> Window | None:
        if not self.entities:
            return None
        done = {day for window in self.work.windows[self.id_entity] for day in window}
        return planning.older_window(
            self._history(), self.days, before=self._latest.start, without=done
        )

    def _history(self) -> InvoiceHistory:
        id_entity = self.id_entity
        with self.work.flow.warehouse.connect() as connection:
            history = warehouse.history(connection, id_entity)
            open_days = store.open_days(connection, id_entity)
            read_at = warehouse.read_at(connection, id_entity, history) if history else {}
            due = [day for day, part in open_days.items() if part.due(read_at.get(day))]
            return InvoiceHistory(
                first=history.start if history else None,
                due=min(due, default=None),
                rows=warehouse.busy_rows(connection, id_entity),
                tried=store.tried(connection, id_entity),
            )
