"""Extraction of a unit: fetch, store, transform and load, review, publish the days that passed."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

from bms.client import Client
from bms.endpoints import InvoiceLanguage
from bms_flows.invoices.day_cache import DayCache
from bms_flows.invoices.decode import ResponseReader
from bms_flows.invoices.fetch import Fetcher, ReadResponse, WindowResponse, batches, decoded
from bms_flows.invoices.leases import lease_days
from bms_flows.invoices.load import RESOURCE, Loader
from bms_flows.invoices.lookback import search_windows
from bms_flows.invoices.progress import Progress
from bms_flows.invoices.publish import Publication
from bms_flows.invoices.raw import MOVED, StoredResponses, raw_file_name
from bms_flows.invoices.review import Review, hold, review_load
from bms_flows.invoices.rows import Reading
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import profiles, step_log
from bms_flows.runtime.background import BackgroundWriter
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.landing import Landing, save_raw
from bms_flows.runtime.windows import Window, local_date
from bms_warehouse.database import clock

LOCKED_S = 60
"""Seconds for which a load waits for a table that another session locks or waits to lock."""


@dataclass(frozen=True, kw_only=True)
class Extraction(Publication):
    """The extraction of one unit by one step run."""

    client: Client
    progress: Progress
    thread: ThreadPoolExecutor
    """Thread that splits and decodes responses."""

    async def load(self) -> tuple[Transform, Review]:
        """Load the whole unit in one transaction; commit if no day is held."""
        committed, id_entity = self.committed, self.unit.id_entity
        read_at = clock(committed)
        volatile = profiles.volatile(committed, self.unit.list_id)
        zone, range_date = self.client.settings.time_zone, self.flow.settings.invoice_range_date
        reading = Reading(id_entity, zone, range_date, volatile)
        cache = DayCache(reading)
        cache.load(committed, self.unit.days)
        transform = Transform(committed, reading, read_at, cache=cache)
        with self.writing.begin() as transaction:
            loader = self.loader(read_at)
            # Who waits for this transaction, as ALTER TABLE does, makes queries of `committed` wait too.
            committed.execute(text(f"set lock_timeout = '{LOCKED_S}s'"))
            await self._load_responses(
                self._fetch(self.unit.windows, cache.read), transform, loader
            )
            await self._find_moved(transform, loader)
            review = await review_load(
                self.client, transform, loader, self.unit, self.flow.settings
            )
            if review.held:
                transaction.rollback()
            else:
                self.complete(transform, loader, review.profile)
        return transform, review

    def publish_passed(self, transform: Transform, review: Review) -> None:
        """Load the days that passed again, from stored responses, and record the held days."""
        published = None
        stored = StoredResponses(self.landing.raw, transform.reading, transform.read_at)
        with self.writing.begin():
            if passed := review.passed:
                published = self.complete_stored(passed, stored, transform.read_at, later=False)
            hold(self, review, transform, published)

    def _fetch(
        self, windows: Iterable[Window], read: ReadResponse, *, optional: bool = False
    ) -> AsyncIterator[WindowResponse]:
        days = self.flow.settings.window_days
        parts = deque(part for window in windows for part in window.cut(days))
        unit, language = self.unit, self.language
        return Fetcher(
            self.client, unit.id_entity, parts, language, self.thread, read, optional
        ).responses()

    async def _load_responses(
        self, responses: AsyncIterator[WindowResponse], transform: Transform, loader: Loader
    ) -> None:
        """Store each response, and load its rows.

        While a batch of responses is transformed, the batch before it is merged, the next one is decoded,
        files are written, and further responses are fetched.
        """
        raw, loop = self.landing.raw, asyncio.get_running_loop()

        async def stored() -> AsyncIterator[WindowResponse]:
            async for window, response in responses:
                path = raw / raw_file_name(self.unit.id_entity, window)
                await files.put(save_raw, path, response.body)
                if loader.idle:
                    await tables.put(loader.keep)
                self.renew()
                self.progress.add(window, transform.counts)
                yield window, response

        # Each thread has its own free memory, so the same thread transforms all batches.
        with (
            ThreadPoolExecutor(1) as transforming,
            BackgroundWriter() as files,
            BackgroundWriter(waiting=1) as tables,
        ):
            async for batch in decoded(batches(stored()), self.thread):
                for each in await loop.run_in_executor(transforming, transform.add, *batch):
                    await tables.put(loader.add, each)
            await files.done()
            await tables.done()

    async def _find_moved(self, transform: Transform, loader: Loader) -> None:
        """Search other days for invoices that are missing from their day, and load them."""
        settings, missing = self.flow.settings, {*transform.missing}
        searched = search_windows(
            [each.window for each in transform.windows if each.missing & missing],
            transform.totals.days,
            settings,
            today=local_date(transform.read_at, settings.time_zone),
        )
        reader = ResponseReader()
        for each in searched:
            if not transform.missing:
                return
            # A service may refuse days that have not come, or that it has archived.
            async for window, response in self._fetch(
                each, lambda _, body: reader.read(body), optional=True
            ):
                moved = transform.add_moved(window, response)
                if moved.rows:
                    name = raw_file_name(self.unit.id_entity, window, MOVED)
                    save_raw(self.landing.raw / name, response.body)
                    loader.add(moved)
                self.renew()


async def extract_unit(
    client: Client,
    flow: FlowContext,
    unit: Unit,
    step: step_log.Step,
    *,
    language: InvoiceLanguage,
) -> dict[str, Any]:
    """Extract one unit and return its manifest: step run, counts, totals and paths, no rows.

    The unit is published in one transaction or not at all. Raises `LoadHeld` if days are held for
    review (the other days are published), `Busy` if another run works on some of the days, and
    the errors of the client and the warehouse (nothing is published).
    """
    autocommit = flow.warehouse.execution_options(isolation_level="AUTOCOMMIT")
    async with client:
        with (
            recorded_step(flow, step, client.counters) as step_run_id,
            lease_days(flow.warehouse, unit, step_run_id=step_run_id, task=step.task) as lease,
            autocommit.connect() as committed,
            flow.warehouse.connect() as writing,
            ThreadPoolExecutor(1) as thread,
        ):
            landing = Landing(flow.data_root, RESOURCE, datetime.now(UTC), step_run_id)
            extraction = Extraction(
                flow=flow,
                unit=unit,
                language=language,
                raw=flow.name(landing.raw),
                lease=lease,
                landing=landing,
                committed=committed,
                writing=writing,
                counters=client.counters,
                client=client,
                progress=Progress(unit, client.counters),
                thread=thread,
            )
            transform, review = await extraction.load()
            if review.held:
                extraction.publish_passed(transform, review)
    extraction.progress.finish("suspect" if review.held else "complete", transform.counts)
    if review.held:
        raise LoadHeld(review.message)
    return extraction.manifest(transform)
