"""One audit: invoices of an entity, contacts, consultants, employees; each within its requests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from bms.answers import Page
from bms.client import Client
from bms.errors import BmsError, Forbidden, MissingScope
from bms_flows import quarantine, runs
from bms_flows.invoices.window import Window
from bms_flows.mirror.consultants import CONSULTANTS
from bms_flows.mirror.contacts import CONTACTS
from bms_flows.mirror.employees import EMPLOYEES
from bms_flows.mirror.resource import Resource
from bms_flows.reconcile import agenda, keep, warehouse
from bms_flows.reconcile.compare import Key, Tally, against_warehouse
from bms_flows.reconcile.invoices import InvoiceJudge
from bms_flows.reconcile.lists import ListAudit, Listed
from bms_flows.reconcile.readings import Readings, read, requests
from bms_flows.reconcile.settings import Settings
from bms_flows.runs import Counts, Step
from bms_flows.workplace import Workplace, recorded

INVOICES = "client_invoice"


@dataclass
class Audit:
    """Compares what it may, and keeps the word on each day as soon as it has it."""

    client: Client
    place: Workplace
    settings: Settings
    today: date
    step: Step
    run_id: int
    states: Counter[str] = field(default_factory=Counter)
    because: Counter[str] = field(default_factory=Counter)
    failure: BmsError | None = None

    async def invoices(self, id_entity: int, window: Window) -> None:
        """Compare the invoices of `window`; keep a word on each of its days."""
        tallies: dict[date, Tally] = {day: Tally() for day in window}
        if not self._affordable(2 * requests(window.days)):
            for tally in tallies.values():
                tally.unasked.add("budget_spent")
        else:
            try:
                tallies = await self._compared(id_entity, window)
            except BmsError as error:
                self._failed(error, tallies.values())
        self._keep(INVOICES, id_entity, tallies)

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
        """Hold the readings against the warehouse."""
        window = readings.window
        columns = {column.name: column for column in warehouse.INVOICE_COLUMNS}
        fitting = warehouse.digests(readings.month.records, columns, self.client.settings.time_zone)
        keys = [*readings.month.rows, *readings.month.rejected]
        listed = {key: fitting.get(key) for key in keys}
        with self.place.warehouse.connect() as connection:
            held = warehouse.invoices(connection, id_entity, window)
            read_at = warehouse.read_at(connection, id_entity, window)
            history = warehouse.history(connection, id_entity)
            words = warehouse.words(connection, INVOICES, id_entity, window)
            unfit = [key for key, row in listed.items() if row is None]
            quarantined = quarantine.holds(
                connection, unfit, resource=INVOICES, id_entity=id_entity
            )
        judge.against_warehouse(
            readings, listed, held, quarantined, read_at, words, tallies, aside=aside
        )
        if history:
            judge.never_read(readings, read_at, history, tallies)

    async def contacts(self, turn: int) -> None:
        """Compare contacts on pages of two sizes, with details, with the warehouse."""

        async def page(number: int, size: int) -> Page[Any]:
            return await self.client.list_contacts(filter="ALL", page_number=number, page_size=size)

        audit = self._list(CONTACTS, page, self.client.read_contact)
        await self._listed(audit, 0, turn)

    async def consultants(self, turn: int) -> None:
        """Compare consultants likewise."""

        async def page(number: int, size: int) -> Page[Any]:
            return await self.client.list_consultants(page_number=number, page_size=size)

        audit = self._list(CONSULTANTS, page, self.client.read_consultant)
        await self._listed(audit, 0, turn)

    async def employees(self, id_entity: int, turn: int) -> None:
        """Compare the employees of an entity with their details and with the warehouse."""

        async def page(number: int, size: int) -> Page[Any]:
            answer = await self.client.list_employees(id_entity=id_entity, filter="ALL")
            return answer.as_page(number, size)

        audit = self._list(EMPLOYEES, page, self.client.read_employee)
        await self._listed(audit, id_entity, turn)

    def _list(self, resource: Resource, page: Any, detail: Any) -> ListAudit:
        return ListAudit(resource, page, detail, self.client.settings.time_zone)

    async def _listed(self, audit: ListAudit, id_entity: int, turn: int) -> None:
        resource, tally = audit.resource, audit.tally
        most = int(agenda.LIST_SHARE * self.settings.audit_requests)
        sample = self.settings.audit_sample
        if not self._affordable(most + 3 * sample):
            tally.unasked.add("budget_spent")
        else:
            try:
                if id_entity:
                    listed, whole = await audit.whole(), True
                else:
                    size = self.client.settings.page_size
                    listed, whole = await audit.pages(size, most // 2, turn)
                self._mirror_held(audit, listed, id_entity, whole=whole)
                if not (resource is EMPLOYEES and self.settings.employee_details == "off"):
                    await audit.details(listed, sampled(listed, sample, turn))
                    self._unreadable(audit, id_entity)
            except BmsError as error:
                self._failed(error, [tally])
        self._keep(resource.name, id_entity, {self.today: tally})

    def _mirror_held(
        self, audit: ListAudit, listed: Listed, id_entity: int, *, whole: bool
    ) -> None:
        resource, entity = audit.resource, id_entity or None
        fitting = warehouse.digests([*listed.records.values()], resource.listed, audit.zone)
        rows = {key: fitting.get(key) for key in [*listed.records, *listed.rejected]}
        with self.place.warehouse.connect() as connection:
            read_at = warehouse.mirrored_at(connection, resource, entity)
            if read_at is None:
                return
            held = warehouse.mirrored(connection, resource, entity)
            words = warehouse.words(connection, resource.name, id_entity)
            unfit = [key for key, row in rows.items() if row is None]
            quarantined = quarantine.holds(
                connection, unfit, resource=resource.name, id_entity=id_entity
            )
        word = next(iter(words.values()), None)
        since = word is not None and read_at > word.checked_at
        keys = {*rows, *(held if whole else ())}
        waiting = {*word.waiting} if word and since else set[int]()
        against_warehouse(audit.tally, keys, rows, held, quarantined, waiting)

    def _unreadable(self, audit: ListAudit, id_entity: int) -> None:
        """Count details that no record can hold: quarantined, or missing until a run reads them."""
        details = [f"{key} detail" for key in audit.unreadable]
        with self.place.warehouse.connect() as connection:
            found = quarantine.holds(
                connection, details, resource=audit.resource.name, id_entity=id_entity
            )
        for detail in details:
            audit.tally.pending["quarantined" if detail in found else "rows_missing"] += 1

    def _affordable(self, wanted: int) -> bool:
        return self.client.counters.requests + wanted <= self.settings.audit_requests

    def _failed(self, error: BmsError, tallies: Any) -> None:
        """Note that a question failed; what a better day may bring is raised at the end."""
        for tally in tallies:
            tally.unasked.add("not_answered")
        if not isinstance(error, MissingScope | Forbidden):
            self.failure = self.failure or error

    def _keep(self, resource: str, id_entity: int, tallies: Mapping[date, Tally]) -> None:
        with self.place.warehouse.begin() as connection:
            keep.keep(connection, resource, id_entity, tallies, self.step, self.run_id)
        for tally in tallies.values():
            self.states[tally.state] += 1
            self.because.update(tally.because)


def sampled(listed: Listed, size: int, turn: int) -> Sequence[Key]:
    """Return the rows whose details are read at this turn; each has its turn."""
    keys = sorted(listed.records, key=str)
    if not keys:
        return []
    start = turn * size % len(keys)
    return (keys[start:] + keys[:start])[:size]


async def audit(
    client: Client,
    place: Workplace,
    settings: Settings,
    step: Step,
    *,
    entities: Sequence[int],
    today: date,
    window: Window | None = None,
) -> dict[str, Any]:
    """Audit the entity whose turn it is, and the lists; return what was found, without a row.

    `window` names the days instead, for every entity. Raises the client's first error once all
    that could be compared is kept.
    """
    with recorded(place, step, client.counters) as run_id:
        work = Audit(client, place, settings, today, step, run_id)
        ordinal = today.toordinal()
        audited: dict[int, Window] = {}
        if window is not None:
            audited = dict.fromkeys(entities, window)
        elif entities:
            entity, turn = agenda.entity_of(entities, ordinal)
            with place.warehouse.connect() as connection:
                known = agenda.known(connection, entity)
            days = agenda.days_of(settings, known)
            audited = {entity: agenda.window_of(known, days, today=today, turn=turn)}
        for entity, days_asked in audited.items():
            await work.invoices(entity, days_asked)
        # A part of a list stands for two audits: what waits for a read is looked at again.
        await work.contacts(ordinal // 2)
        await work.consultants(ordinal // 2)
        for entity in audited:
            await work.employees(entity, ordinal // 2)
        found = {
            "invoices": {str(entity): str(each) for entity, each in audited.items()},
            "states": dict(work.states),
            "because": dict(work.because),
        }
        state = "partial" if work.failure else "complete"
        with place.warehouse.begin() as connection:
            runs.finish(
                connection,
                run_id,
                state=state,
                counts=Counts(),
                service=client.counters,
                reason=None if state == "complete" else "Not every question was answered.",
                details=found,
            )
    if work.failure is not None:
        raise work.failure
    return found | {"requests": client.counters.requests}
