"""Comparisons of one audit within its request budget; each result is stored immediately."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial

from sqlalchemy import Connection

from bms.client import Client
from bms.errors import BmsError, Forbidden, MissingScope
from bms_flows.audit import planning, store, warehouse
from bms_flows.audit.compare import Comparison, Key, StoredRow, still_open
from bms_flows.audit.invoices import InvoiceComparer
from bms_flows.audit.lists import ListComparison
from bms_flows.audit.mirrors import AuditedList, PartAudit, sources
from bms_flows.audit.parts import Part
from bms_flows.audit.readings import read, requests
from bms_flows.audit.settings import AuditSettings
from bms_flows.audit.store import INVOICES, Result
from bms_flows.runtime import quarantine
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.list_id import ListId
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window


@dataclass
class Comparer:
    """Compares days and parts within the request budget, and stores each result immediately."""

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
    """Numbers of the compared parts of each list."""
    parts_of: dict[str, int] = field(default_factory=dict)
    """Number of parts of each list."""
    in_turn: Counter[str] = field(default_factory=Counter)
    """Number of parts that were compared in turn."""
    failure: BmsError | None = None

    async def invoices(self, id_entity: int, window: Window) -> None:
        """Compare the invoices of `window` and store the result of each day."""
        self.windows.setdefault(id_entity, []).append(window)
        tried_at = datetime.now(UTC)
        comparisons: dict[date, Comparison] = {day: Comparison() for day in window}
        if not self.affordable(2 * requests(window.days)):
            for comparison in comparisons.values():
                comparison.not_compared.add("budget_spent")
        else:
            try:
                comparisons = await self._compared(id_entity, window)
            except BmsError as error:
                self._failed(error, comparisons.values())
        with self.flow.warehouse.begin() as connection:
            for day, comparison in comparisons.items():
                result = Result(
                    list_id=ListId(INVOICES, id_entity),
                    day=day,
                    comparison=comparison,
                    step_run_id=self.step_run_id,
                    tried_at=tried_at,
                )
                store.save(connection, result)
            store.update_alarm(connection, ListId(INVOICES, id_entity), self.step)
        self._count(comparisons.values())

    async def _compared(self, id_entity: int, window: Window) -> dict[date, Comparison]:
        settings = self.settings
        zone = self.client.settings.time_zone
        readings = await read(self.client, id_entity, window, settings.language)
        comparer = InvoiceComparer(settings.invoice_range_date, zone, readings)
        contradictory: set[Key] = set()
        if comparer.suspicious:
            again = await read(self.client, id_entity, readings.window, settings.language)
            if again.window != readings.window:
                for comparison in comparer.comparisons.values():
                    comparison.not_compared.add("not_answered")
                return comparer.comparisons
            contradictory = comparer.count_differences(again)
            readings = again
        window = readings.window
        columns = {column.name: column for column in warehouse.INVOICE_COLUMNS}
        storable = warehouse.digests(readings.month.records, columns, zone)
        keys = [*readings.month.rows, *readings.month.rejected]
        listed = {key: storable.get(key) for key in keys}
        with self.flow.warehouse.connect() as connection:
            range_date = self.flow.settings.invoice_range_date
            held = warehouse.invoices(connection, id_entity, window, range_date=range_date)
            read_at = warehouse.read_at(connection, id_entity, window)
            history = warehouse.history(connection, id_entity)
            known = store.days(connection, id_entity, window)
            unstorable = [key for key, row in listed.items() if row is None]
            quarantined = quarantine.quarantined_keys(
                connection, ListId(INVOICES, id_entity), unstorable
            )
        comparer.compare_with_warehouse(
            readings, listed, held, quarantined, read_at, known, excluded=contradictory
        )
        if history:
            comparer.never_read(readings, read_at, history)
        return comparer.comparisons

    async def listed(self, source: AuditedList, *, first: bool) -> None:
        """Compare the next part of a list and store the result.

        Only the `first` part of an audit may repeat a due part, and includes a sample of details.
        """
        name, id_entity, settings = source.resource.name, source.id_entity, self.settings
        audit = self._part_of(source)
        details = first and settings.details_of(name) != "off"
        sample = settings.audit_sample if details else 0
        tried_at, comparison = datetime.now(UTC), audit.listing.comparison
        if not self.affordable(self.list_requests + 3 * sample):
            comparison.not_compared.add("budget_spent")
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
                self.failure = self.failure or audit.listing.outage
            except BmsError as error:
                self._failed(error, [comparison])
        plan = audit.listing.plan
        if audit.compared:
            self.parts.setdefault(name, []).append(plan.part)
            self.parts_of[name] = plan.parts
            self.in_turn[name] += audit.in_turn
        result = Result(
            list_id=source.list_id,
            day=self.today,
            comparison=comparison,
            step_run_id=self.step_run_id,
            tried_at=tried_at,
            part=plan.part,
            parts=plan.parts,
        )
        with self.flow.warehouse.begin() as connection:
            store.save_part(connection, result, audit.known, audit.left())
            store.update_alarm(connection, source.list_id, self.step)
        self._count([comparison])

    def _part_of(self, source: AuditedList) -> PartAudit:
        resource, id_entity, engine = source.resource, source.id_entity, self.flow.warehouse
        listing = ListComparison(
            resource, source.page, source.detail, self.client.settings.time_zone
        )
        with engine.connect() as connection:
            known = store.parts(connection, source.list_id)
            loaded_at = warehouse.mirrored_at(connection, resource, id_entity)

        def held(keys: Collection[Key] | None) -> Mapping[Key, StoredRow]:
            with engine.connect() as connection:
                return warehouse.mirrored(connection, resource, id_entity, keys)

        def quarantined(keys: Collection[Key]) -> Collection[Key]:
            with engine.connect() as connection:
                return quarantine.quarantined_keys(connection, source.list_id, keys)

        now = partial(datetime.now, UTC)
        return PartAudit(listing, held, quarantined, known, loaded_at, now)

    def close_resolved(self, entities: Sequence[int]) -> None:
        """Close differences that loads have resolved since earlier audits."""
        with self.flow.warehouse.begin() as connection:
            for each in entities:
                days = [*store.open_days(connection, each).items()]
                held = partial(warehouse.invoices, connection, each, None)
                _close_resolved(connection, ListId(INVOICES, each), days, held)
            for source in sources(self.client, entities):
                held = partial(warehouse.mirrored, connection, source.resource, source.id_entity)
                known = [(None, part) for part in store.parts(connection, source.list_id)]
                _close_resolved(connection, source.list_id, known, held)

    async def compare(self, windows: Mapping[int, Window]) -> None:
        """Compare windows of invoices, the employees of their entities, and one part of each other list."""
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
        """Maximum number of requests for one part of a list."""
        return int(planning.LIST_SHARE * self.settings.audit_requests)

    def affordable(self, requests: int) -> bool:
        """Return whether the budget allows this number of further requests."""
        return self.client.counters.requests + requests <= self.settings.audit_requests

    def _failed(self, error: BmsError, comparisons: Iterable[Comparison]) -> None:
        """Record a failed comparison; the audit ends with its error if a later audit could succeed."""
        for comparison in comparisons:
            comparison.not_compared.add("not_answered")
        if not isinstance(error, MissingScope | Forbidden):
            self.failure = self.failure or error

    def _count(self, comparisons: Iterable[Comparison]) -> None:
        for comparison in comparisons:
            self.states[comparison.state] += 1
            self.reasons.update(comparison.reasons)


def _close_resolved(
    connection: Connection,
    list_id: ListId,
    known: Sequence[tuple[date | None, Part]],
    held_of: Callable[[Collection[Key]], Mapping[Key, StoredRow]],
) -> None:
    """Close resolved differences of `known` days or parts, within the caller's transaction."""
    keys = {key for _, part in known for of_code in part.rows.values() for key in of_code}
    held = held_of(keys)
    quarantined = quarantine.quarantined_keys(connection, list_id, keys)
    for day, part in known:
        left = still_open(part.rows, held, quarantined)
        store.update_open_rows(connection, list_id, part, left, day)
