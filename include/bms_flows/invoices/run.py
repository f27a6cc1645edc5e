"""Extracting a unit: read ahead, store what came, load it, review it, publish what passed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from sqlalchemy import Connection

from bms.client import Client
from bms_flows.invoices import history
from bms_flows.invoices.fetch import WindowResponse, fetch
from bms_flows.invoices.leases import Lease, lease_days
from bms_flows.invoices.load import RESOURCE, Languages, Loader
from bms_flows.invoices.outcome import Outcome
from bms_flows.invoices.progress import Progress
from bms_flows.invoices.raw import NEARBY, raw_file_name
from bms_flows.invoices.redated import search_windows
from bms_flows.invoices.repeats import StoredResponses, reload
from bms_flows.invoices.review import Review, review_load
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.invoices.validate import Tolerance
from bms_flows.runtime import step_log
from bms_flows.runtime.background import BackgroundWriter
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.landing import Landing, parquet_file, save_raw
from bms_flows.runtime.windows import Window
from bms_warehouse.database import clock


class LoadHeld(RuntimeError):
    """Days of a load are held for review; the others are published."""

    retriable = False


DEFAULT_TOLERANCE = Tolerance()


@dataclass(frozen=True)
class Extraction:
    """What the steps of an extraction share."""

    client: Client
    flow: FlowContext
    unit: Unit
    step_run_id: int
    language: Literal["EN", "FR"]
    landing: Landing
    lease: Lease
    progress: Progress

    @property
    def outcome(self) -> Outcome:
        """How the step will be recorded."""
        files = self.flow.name(self.landing.raw), self.flow.name(self.landing.parquet)
        zone, date_of = self.client.settings.time_zone, self.flow.settings.invoice_range_date
        return Outcome(self.unit, self.step_run_id, *files, self.language, zone, date_of)

    def merging(self, connection: Connection, at: datetime) -> Loader:
        """Return what merges into the tables by `connection`, within its transaction."""
        self.lease.writes(connection)
        names = Languages(self.language, self.flow.settings.language)
        return Loader(connection, self.step_run_id, names, at)


async def extract_unit(
    client: Client,
    flow: FlowContext,
    unit: Unit,
    step: step_log.Step,
    *,
    language: Literal["EN", "FR"],
    tolerance: Tolerance = DEFAULT_TOLERANCE,
) -> dict[str, Any]:
    """Read and load one unit, and return a manifest without a row in it.

    The manifest holds the step's number, the entity, the days, the counts, the totals and where
    the files are. All is published at once, or nothing. Raises `LoadHeld` when days are held for
    review, with the others published; `Busy` when another run works on some of the days, and
    the client's and the warehouse's errors, with nothing published.
    """
    autocommit = flow.warehouse.execution_options(isolation_level="AUTOCOMMIT")
    async with client:
        with (
            recorded_step(flow, step, client.counters) as step_run_id,
            lease_days(flow.warehouse, unit, step_run_id=step_run_id, task=step.task) as lease,
            autocommit.connect() as before,
            flow.warehouse.connect() as writing,
        ):
            landing = Landing(flow.data_root, RESOURCE, datetime.now(UTC).date(), step_run_id)
            progress = Progress(unit, client.counters)
            work = Extraction(client, flow, unit, step_run_id, language, landing, lease, progress)
            load, reviewed = await _load(work, before, writing, tolerance)
            if reviewed.held:
                _publish_passed(work, before, writing, load, reviewed)
    if reviewed.held:
        progress.ended("suspect", load.counts)
        raise LoadHeld(reviewed.told)
    progress.ended("complete", load.counts)
    return work.outcome.manifest(load)


async def _load(
    work: Extraction, before: Connection, writing: Connection, tolerance: Tolerance
) -> tuple[Transform, Review]:
    """Load all of the unit in one transaction; commit unless days are to be held."""
    settings, outcome = work.flow.settings, work.outcome
    at = clock(before)
    load = Transform(before, work.unit.id_entity, outcome.zone, outcome.range_date, at)
    with writing.begin() as transaction:
        merging = work.merging(writing, at)
        windows = [part for each in work.unit.windows for part in each.cut(settings.window_days)]
        await _take_in(work, _read(work, windows), load, merging)
        await _follow(work, load, merging)
        reviewed = await review_load(
            work.client, before, load, merging, work.unit, settings, tolerance
        )
        if reviewed.held:
            transaction.rollback()
        else:
            work.lease.fence(writing)
            company = settings.time_zone
            outcome.complete(load, merging, work.landing, company, work.client.counters)
    return load, reviewed


def _publish_passed(
    work: Extraction, before: Connection, writing: Connection, load: Transform, reviewed: Review
) -> None:
    """Load the days that passed again, from the stored answers, and record those that are held."""
    outcome, counters, company = work.outcome, work.client.counters, work.flow.settings.time_zone
    published = None
    with writing.begin():
        if passed := reviewed.passed:
            merging = work.merging(writing, load.read_at)
            stored = StoredResponses(work.landing.raw, load.zone, load.range_date, load.read_at)
            published = reload(
                before,
                merging,
                passed,
                stored,
                later=False,
                parquet=work.landing.parquet,
                renew=partial(work.lease.renew, before),
            )
            work.lease.fence(writing)
            part = replace(outcome, unit=passed)
            part.complete(published, merging, work.landing, company, counters)
        outcome.hold(writing, load, reviewed, counters, published)


def _read(work: Extraction, windows: list[Window]) -> AsyncIterator[WindowResponse]:
    ahead = work.client.settings.concurrency
    entity, language = work.unit.id_entity, work.language
    return fetch(work.client, entity, windows, language=language, ahead=ahead)


async def _take_in(
    work: Extraction, answers: AsyncIterator[WindowResponse], load: Transform, merging: Loader
) -> None:
    """Load each answer, and store it as it came and as columns.

    While one is compared, the one before is merged, files of it are written, and the next are
    on their way.
    """
    parquet: Any = None

    def store(window: Window, body: bytes, rows: pa.Table) -> None:
        save_raw(work.landing.raw / raw_file_name(load.id_entity, window), body)
        parquet.write_table(rows)

    with ExitStack() as writer, BackgroundWriter() as files, BackgroundWriter(waiting=1) as tables:
        async for window, answer in answers:
            taken = await asyncio.to_thread(load.take, window, answer)
            if parquet is None:
                file = parquet_file(work.landing.parquet, taken.rows.schema)
                parquet = writer.enter_context(file)
            await files.put(store, window, answer.body, taken.rows)
            await tables.put(merging.add, taken.differing)
            work.lease.renew(load.connection)
            work.progress.taken(window, load.counts)
        await files.done()
        await tables.done()


async def _follow(work: Extraction, load: Transform, merging: Loader) -> None:
    """Look for invoices that are missing from their day on others, which a new date may have moved them to."""
    settings = work.flow.settings
    windows = search_windows(
        [each.window for each in load.windows if each.missing.intersection(load.missing)],
        load.tally.days,
        today=history.local_date(load.read_at, settings.time_zone),
        lookback_days=settings.lookback_days,
        most=settings.lookback_budget,
    )
    pieces = [part for window in windows for part in window.cut(settings.window_days)]
    async for window, answer in _read(work, pieces):
        found = load.follow(answer)
        if found.rows:
            save_raw(work.landing.raw / raw_file_name(load.id_entity, window, NEARBY), answer.body)
            merging.add(found)
        work.lease.renew(load.connection)
