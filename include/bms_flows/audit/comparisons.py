"""Comparisons of invoices and lists within the requests of one audit; each result is stored at once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from bms.client import Client
from bms.errors import BmsError, Forbidden, MissingScope
from bms_flows.audit import confirm as settle
from bms_flows.audit import planning, store, warehouse
from bms_flows.audit.compare import Key, Tally
from bms_flows.audit.invoices import InvoiceJudge
from bms_flows.audit.lists import ListAudit
from bms_flows.audit.mirrors import PartAudit, Source, StoredList, sources
from bms_flows.audit.readings import Readings, read, requests
from bms_flows.audit.settings import AuditSettings
from bms_flows.audit.store import INVOICES, Result
from bms_flows.mirror.employees import EMPLOYEES
from bms_flows.runtime import quarantine
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window


@dataclass
class Comparisons:
    """Compares what the requests allow, and stores each result at once."""

    client: Client
    flow: FlowContext
    settings: AuditSettings
    today: date
    step: Step
    step_run_id: int
    states: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    windows: dict[int, list[Window]] = field(default_factory=dict)
    parts: dict[str, list[int]] = field(default_factory=dict)
    """Numbers of the parts of each list that were compared."""
    parts_of: dict[str, int] = field(default_factory=dict)
    """How many parts each list has."""
    in_turn: Counter[str] = field(default_factory=Counter)
    """How many of the parts were compared because it was their turn."""
    failure: BmsError | None = None

    async def invoices(self, id_entity: int, window: Window) -> None:
        """Compare the invoices of `window` and store the result of each day."""
        self.windows.setdefault(id_entity, []).append(window)
        tried_at = datetime.now(UTC)
        tallies: dict[date, Tally] = {day: Tally() for day in window}
        if not self.affordable(2 * requests(window.days)):
            for tally in tallies.values():
                tally.unasked.add("budget_spent")
        else:
            try:
                tallies = await self._compared(id_entity, window)
            except BmsError as error:
                self._failed(error, tallies.values())
        with self.flow.warehouse.begin() as connection:
            for day, tally in tallies.items():
                result = Result(
                    resource=INVOICES,
                    id_entity=id_entity,
                    day=day,
                    tally=tally,
                    step_run_id=self.step_run_id,
                    tried_at=tried_at,
                )
                store.keep(connection, result)
            store.ring(connection, INVOICES, id_entity, self.step)
        self._count(tallies.values())

    async def _compared(self, id_entity: int, window: Window) -> dict[date, Tally]:
        settings = self.settings
        judge = InvoiceJudge(settings.invoice_range_date, self.client.settings.time_zone)
        readings = await read(self.client, id_entity, window, settings.language)
        tallies = judge.compared(readings)
        aside: set[Key] = set()
        if judge.suspicious(readings):
            again = await read(self.client, id_entity, readings.window, settings.language)
            if again.window != readings.window:
                for tally in tallies.values():
                    tally.unasked.add("not_answered")
                return tallies
            aside = judge.judge(readings, again, tallies)
            readings = again
        self._invoices_held(judge, id_entity, readings, tallies, aside)
        return tallies

    def _invoices_held(
        self,
        judge: InvoiceJudge,
        id_entity: int,
        readings: Readings,
        tallies: Mapping[date, Tally],
        aside: set[Key],
    ) -> None:
        """Compare the readings with the warehouse."""
        window = readings.window
        columns = {column.name: column for column in warehouse.INVOICE_COLUMNS}
        fitting = warehouse.digests(readings.month.records, columns, self.client.settings.time_zone)
        keys = [*readings.month.rows, *readings.month.rejected]
        listed = {key: fitting.get(key) for key in keys}
        with self.flow.warehouse.connect() as connection:
            held = warehouse.invoices(connection, id_entity, window)
            read_at = warehouse.read_at(connection, id_entity, window)
            history = warehouse.history(connection, id_entity)
            known = store.days(connection, id_entity, window)
            unfit = [key for key, row in listed.items() if row is None]
            quarantined = quarantine.quarantined_keys(
                connection, unfit, resource=INVOICES, id_entity=id_entity
            )
        judge.against_warehouse(
            readings, listed, held, quarantined, read_at, known, tallies, aside=aside
        )
        if history:
            judge.never_read(readings, read_at, history, tallies)

    async def listed(self, source: Source, *, first: bool) -> None:
        """Compare the next part of a list and store the result.

        The `first` part of an audit may be one that is due again, and some of its details are read.
        """
        name, id_entity, settings = source.resource.name, source.id_entity, self.settings
        audit = self._part_of(source)
        details = first and not (name == EMPLOYEES.name and settings.employee_details == "off")
        sample = settings.audit_sample if details else 0
        tried_at, tally = datetime.now(UTC), audit.listing.tally
        if not self.affordable(self.list_requests + 3 * sample):
            tally.unasked.add("budget_spent")
        else:
            try:
                if id_entity:
                    await audit.compare_whole(sample, self.turn)
                else:
                    await audit.compare_pages(
                        self.client.settings.page_size,
                        self.list_requests // 2,
                        sample,
                        turn=self.turn,
                        again=first and self.turn % 2 == 1,
                        without=self.parts.get(name, ()),
                    )
            except BmsError as error:
                self._failed(error, [tally])
        plan = audit.listing.plan
        if audit.compared:
            self.parts.setdefault(name, []).append(plan.part)
            self.parts_of[name] = plan.parts
            self.in_turn[name] += audit.in_turn
        result = Result(
            resource=name,
            id_entity=id_entity,
            day=self.today,
            tally=tally,
            step_run_id=self.step_run_id,
            tried_at=tried_at,
            part=plan.part,
            parts=plan.parts,
        )
        with self.flow.warehouse.begin() as connection:
            store.keep_part(connection, result, audit.known, audit.left())
            store.ring(connection, name, id_entity, self.step)
        self._count([tally])

    def _part_of(self, source: Source) -> PartAudit:
        resource, id_entity, engine = source.resource, source.id_entity, self.flow.warehouse
        listing = ListAudit(resource, source.page, source.detail, self.client.settings.time_zone)
        with engine.connect() as connection:
            known = store.parts(connection, resource.name, id_entity)
            loaded_at = warehouse.mirrored_at(connection, resource, id_entity)
        stored = StoredList(engine, resource, id_entity)
        return PartAudit(listing, stored, known, loaded_at, now=lambda: datetime.now(UTC))

    def settle(self, entities: Sequence[int]) -> None:
        """Close what loads have settled since the audits that saw it."""
        with self.flow.warehouse.begin() as connection:
            for id_entity in entities:
                settle.settle_days(connection, id_entity)
            for source in sources(self.client, entities):
                settle.settle_parts(connection, source.resource, source.id_entity)

    async def compare(self, windows: Mapping[int, Window]) -> None:
        """Compare days of entities, the entities' employees, and the next part of each other list."""
        for id_entity, window in windows.items():
            await self.invoices(id_entity, window)
        for source in sources(self.client, windows):
            await self.listed(source, first=True)

    @property
    def turn(self) -> int:
        """Number of today's audit; consecutive days have consecutive numbers."""
        return self.today.toordinal()

    @property
    def list_requests(self) -> int:
        """How many requests one part of a list may take."""
        return int(planning.LIST_SHARE * self.settings.audit_requests)

    def affordable(self, wanted: int) -> bool:
        """Return whether so many more requests are allowed."""
        return self.client.counters.requests + wanted <= self.settings.audit_requests

    def _failed(self, error: BmsError, tallies: Iterable[Tally]) -> None:
        """Record a question that failed; one that a later audit may ask is raised at the end."""
        for tally in tallies:
            tally.unasked.add("not_answered")
        if not isinstance(error, MissingScope | Forbidden):
            self.failure = self.failure or error

    def _count(self, tallies: Iterable[Tally]) -> None:
        for tally in tallies:
            self.states[tally.state] += 1
            self.reasons.update(tally.reasons)
