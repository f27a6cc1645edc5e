"""One audit: what has its turn, then what the requests that are left allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from bms.client import Client
from bms_flows.audit import cycle, planning, store, warehouse
from bms_flows.audit.comparisons import Comparisons
from bms_flows.audit.cycle import Progress
from bms_flows.audit.mirrors import sources
from bms_flows.audit.planning import ServiceRecord
from bms_flows.audit.readings import requests
from bms_flows.audit.settings import AuditSettings
from bms_flows.audit.store import INVOICES
from bms_flows.mirror.employees import EMPLOYEES
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
    """Audit the entity whose turn it is, and the lists; return what was found, without a row.

    `window` names the days instead, for every entity. `connected` are the entities of the connection,
    where it names any: alarms of others are closed. Raises the client's first error once all
    that could be compared is stored.
    """
    with recorded_step(flow, step, client.counters) as step_run_id:
        work = Comparisons(client, flow, settings, today, step, step_run_id)
        work.settle(entities)
        progress: dict[str, Progress] = {}
        if window is None:
            progress = await Turns(work, entities).take()
        else:
            await work.compare(dict.fromkeys(entities, window))
        with flow.warehouse.begin() as connection:
            projected = cycle.project(connection, progress, step)
            cycle.ring(connection, projected, settings, step)
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
                reason="Not every question was answered." if work.failure else None,
                details=found,
            )
    if work.failure is not None:
        raise work.failure
    return found | {"requests": client.counters.requests}


@dataclass
class Turns:
    """Chooses what an audit compares: first what has its turn, then where a cycle is longest."""

    work: Comparisons
    entities: Sequence[int]
    id_entity: int = 0
    """The entity whose turn it is."""
    days: int = 0
    """Days of one window of invoices."""
    older: int = 0
    """Older days of all entities that have their turn."""
    compared: int = 0
    """Older days that this audit compared because it was their turn."""

    async def take(self) -> dict[str, Progress]:
        """Compare; return how much of what had its turn."""
        windows = {}
        if self.entities:
            self.id_entity, turn = planning.entity_of(self.entities, self.work.turn)
            known = self._known()
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
        """Compare more where a cycle is longest, as long as the requests allow."""
        work = self.work
        lists = {each.resource.name: each for each in sources(work.client, ())}
        while work.failure is None:
            rest = {
                name: work.parts_of[name] / len(done)
                for name, done in work.parts.items()
                if len(done) < work.parts_of[name] and work.affordable(work.list_requests)
            }
            window = self._next_window()
            if window is not None and work.affordable(2 * requests(window.days)):
                rest[INVOICES] = self.older / max(self.compared, self.days / 2)
            if not rest:
                return
            longest = max(rest, key=lambda name: rest[name])
            if longest != INVOICES:
                await work.listed(lists[longest], first=False)
            elif window is not None:
                self.compared += window.days
                await work.invoices(self.id_entity, window)

    def _progress(self) -> dict[str, Progress]:
        work = self.work
        found = {
            name: Progress(work.in_turn[name], parts, "parts")
            for name, parts in work.parts_of.items()
            if name != EMPLOYEES.name
        }
        entities = len(self.entities)
        if entities:
            found[EMPLOYEES.name] = Progress(1, entities, "entities")
            found[INVOICES] = Progress(self.compared, self.older, "older days", entities)
        return found

    @property
    def _latest(self) -> Window:
        return planning.latest_of(self.days, self.work.today)

    def _next_window(self) -> Window | None:
        if not self.entities:
            return None
        done = {day for window in self.work.windows[self.id_entity] for day in window}
        return planning.older_window(
            self._known(), self.days, before=self._latest.start, without=done
        )

    def _known(self) -> ServiceRecord:
        id_entity = self.id_entity
        with self.work.flow.warehouse.connect() as connection:
            history = warehouse.history(connection, id_entity)
            open_days = store.open_days(connection, id_entity)
            read_at = warehouse.read_at(connection, id_entity, history) if history else {}
            due = [day for day, part in open_days.items() if part.due(read_at.get(day))]
            return ServiceRecord(
                first=history.start if history else None,
                due=min(due, default=None),
                rows=warehouse.busy_rows(connection, id_entity),
                tried=store.tried(connection, id_entity),
            )
