"""Extraction of a unit: fetch, store, transform and load, review, publish the days that passed."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection

from bms.client import Client
from bms_flows.invoices.fetch import WindowResponse, fetch
from bms_flows.invoices.leases import Lease, lease_days
from bms_flows.invoices.load import RESOURCE, Languages, Loader
from bms_flows.invoices.lookback import search_windows
from bms_flows.invoices.progress import Progress
from bms_flows.invoices.publish import complete
from bms_flows.invoices.raw import MOVED, StoredResponses, raw_file_name, reload
from bms_flows.invoices.record import LoadRecord
from bms_flows.invoices.review import Review, hold, profile_of, review_load
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import profiles, step_log
from bms_flows.runtime.background import BackgroundWriter
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.landing import Landing, save_raw
from bms_flows.runtime.profile import Profile
from bms_flows.runtime.windows import Window, local_date
from bms_warehouse.database import clock


@dataclass(frozen=True)
class Extraction:
    """The extraction of one unit by one step run."""

    client: Client
    flow: FlowContext
    unit: Unit
    language: Literal["EN", "FR"]
    step_run_id: int
    lease: Lease
    committed: Connection
    """Reads what was committed before the load."""
    writing: Connection
    progress: Progress
    landing: Landing

    @property
    def record(self) -> LoadRecord:
        """The record of the load."""
        return LoadRecord(
            self.unit,
            self.step_run_id,
            self.flow.name(self.landing.raw),
            self.language,
            self.client.settings.time_zone,
            self.flow.settings.invoice_range_date,
        )

    async def load(self) -> tuple[Transform, Review]:
        """Load the whole unit in one transaction; commit if no day is held."""
        settings, record = self.flow.settings, self.record
        read_at = clock(self.committed)
        transform = Transform(
            self.committed,
            self.unit.id_entity,
            record.zone,
            record.range_date,
            read_at,
            volatile=profiles.volatile(
                self.committed, resource=RESOURCE, id_entity=self.unit.id_entity
            ),
        )
        with self.writing.begin() as transaction:
            loader = self._loader(read_at)
            windows = [
                part for each in self.unit.windows for part in each.cut(settings.window_days)
            ]
            await self._load_responses(self._fetch(windows), transform, loader)
            await self._find_moved(transform, loader)
            review = await review_load(
                self.client, self.committed, transform, loader, self.unit, settings
            )
            if review.held:
                transaction.rollback()
            else:
                self._complete(record, transform, loader, review.profile)
        return transform, review

    def publish_passed(self, transform: Transform, review: Review) -> None:
        """Load the days that passed again, from stored responses, and record the held days."""
        published = None
        with self.writing.begin():
            if passed := review.passed:
                loader = self._loader(transform.read_at)
                stored = StoredResponses(
                    self.landing.raw,
                    transform.zone,
                    transform.range_date,
                    transform.read_at,
                    transform.volatile,
                )
                published = reload(
                    self.committed,
                    loader,
                    passed,
                    stored,
                    later=False,
                    renew=partial(self.lease.renew, self.committed),
                )
                loader.merge()
                profile = profile_of(self.committed, published, loader, {}, ())
                self._complete(replace(self.record, unit=passed), published, loader, profile)
            counters = self.client.counters
            hold(self.record, review, self.writing, transform, counters, published)

    def _loader(self, observed_at: datetime) -> Loader:
        self.lease.name_session(self.writing)
        names = Languages(self.language, self.flow.settings.language)
        return Loader(self.writing, self.step_run_id, names, observed_at)

    def _complete(
        self, record: LoadRecord, transform: Transform, loader: Loader, profile: Profile
    ) -> None:
        self.lease.fence(self.writing)
        zone, counters = self.flow.settings.time_zone, self.client.counters
        complete(record, transform, loader, self.landing, zone, profile, counters)

    def _fetch(self, windows: list[Window]) -> AsyncIterator[WindowResponse]:
        return fetch(
            self.client,
            self.unit.id_entity,
            windows,
            language=self.language,
            ahead=self.client.settings.concurrency,
        )

    async def _load_responses(
        self, responses: AsyncIterator[WindowResponse], transform: Transform, loader: Loader
    ) -> None:
        """Load each response, and store its body and its rows.

        One response is transformed while the response before it is merged, files are written, and
        the next responses are fetched.
        """
        raw = self.landing.raw
        with BackgroundWriter() as files, BackgroundWriter(waiting=1) as tables:
            async for window, response in responses:
                transformed = await asyncio.to_thread(transform.add, window, response)
                path = raw / raw_file_name(self.unit.id_entity, window)
                await files.put(save_raw, path, response.body)
                await tables.put(loader.add, transformed.differing)
                self.lease.renew(self.committed)
                self.progress.add(window, transform.counts)
            await files.done()
            await tables.done()

    async def _find_moved(self, transform: Transform, loader: Loader) -> None:
        """Search other days for invoices that are missing from their day, and load them."""
        settings, missing = self.flow.settings, {*transform.missing}
        windows = search_windows(
            [each.window for each in transform.windows if each.missing & missing],
            transform.totals.days,
            today=local_date(transform.read_at, settings.time_zone),
            lookback_days=settings.lookback_days,
            most=settings.lookback_budget,
        )
        parts = [part for window in windows for part in window.cut(settings.window_days)]
        async for window, response in self._fetch(parts):
            moved = transform.add_moved(response)
            if moved.rows:
                name = raw_file_name(self.unit.id_entity, window, MOVED)
                save_raw(self.landing.raw / name, response.body)
                loader.add(moved)
            self.lease.renew(self.committed)


async def extract_unit(
    client: Client,
    flow: FlowContext,
    unit: Unit,
    step: step_log.Step,
    *,
    language: Literal["EN", "FR"],
) -> dict[str, Any]:
    """Extract one unit and return its manifest: step run, counts, totals and paths, no rows.

    The unit is published in one transaction or not at all. Raises `LoadHeld` if days are held for
    review (the other days are published), `Busy` if another run works on some of the days, and
    the errors of the client and the warehouse (nothing is published).
    """
    autocommit = flow.warehouse.execution_options(isolation_level="AUTOCOMMIT")
    progress = Progress(unit, client.counters)
    async with client:
        with (
            recorded_step(flow, step, client.counters) as step_run_id,
            lease_days(flow.warehouse, unit, step_run_id=step_run_id, task=step.task) as lease,
            autocommit.connect() as committed,
            flow.warehouse.connect() as writing,
        ):
            landing = Landing(flow.data_root, RESOURCE, datetime.now(UTC), step_run_id)
            extraction = Extraction(
                *(client, flow, unit, language, step_run_id),
                *(lease, committed, writing, progress, landing),
            )
            transform, review = await extraction.load()
            if review.held:
                extraction.publish_passed(transform, review)
    progress.finish("suspect" if review.held else "complete", transform.counts)
    if review.held:
        raise LoadHeld(review.message)
    return extraction.record.manifest(transform)
