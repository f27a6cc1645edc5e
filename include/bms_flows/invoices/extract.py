"""Extracting a unit: read ahead, keep what came, load it, check it, publish it, say how it went."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from datetime import UTC, date, datetime
from typing import Any, Literal

import pyarrow as pa

from bms.client import Client
from bms_flows import quarantine, runs
from bms_flows.field_checks import check_fields
from bms_flows.invoices import history
from bms_flows.invoices.check import Breach, Tolerance, among, check, empty_end
from bms_flows.invoices.fields import compare
from bms_flows.invoices.lease import Lease, leased
from bms_flows.invoices.load import Load
from bms_flows.invoices.merging import RESOURCE, Languages, Merging
from bms_flows.invoices.outcome import Outcome
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.progress import Progress
from bms_flows.invoices.raw import raw_name
from bms_flows.invoices.read import Answered, read
from bms_flows.invoices.window import DAY, Window
from bms_flows.landing import Landing, keep_raw, parquet_file
from bms_flows.lane import Lane
from bms_flows.settings import Settings
from bms_flows.workplace import Workplace, recorded
from bms_warehouse.database import clock


class Suspect(RuntimeError):
    """A load can't be believed; it was kept, and nothing of it was published."""

    retriable = False


DEFAULT_TOLERANCE = Tolerance()


async def extract_unit(
    client: Client,
    place: Workplace,
    unit: Unit,
    step: runs.Step,
    *,
    language: Literal["EN", "FR"],
    tolerance: Tolerance = DEFAULT_TOLERANCE,
) -> dict[str, Any]:
    """Read and load one unit, all of it or nothing, and return a manifest without a row in it.

    The manifest holds the step's number, the entity, the days, the counts, the totals and where
    the files are. Raises `Suspect` when the load can't be believed, `DaysTaken` when another run
    works on some of its days, and the client's and the warehouse's errors.
    """
    zone, settings = client.settings.time_zone, place.settings
    windows = [piece for each in unit.windows for piece in each.cut(settings.window_days)]
    progress = Progress(unit, client.counters)
    autocommit = place.warehouse.execution_options(isolation_level="AUTOCOMMIT")
    async with client:
        with recorded(place, step, client.counters) as run_id:
            landing = Landing(place.data_root, RESOURCE, datetime.now(UTC).date(), run_id)
            files = place.name(landing.raw), place.name(landing.parquet)
            date_of = settings.invoice_range_date
            outcome = Outcome(unit, run_id, *files, language, zone, date_of)
            with (
                leased(place.warehouse, unit, run_id=run_id, task=step.task) as lease,
                autocommit.connect() as before,
                place.warehouse.connect() as writing,
            ):
                at = clock(before)
                load = Load(before, unit.id_entity, zone, date_of, at)
                with writing.begin() as transaction:
                    lease.writes(writing)
                    names = Languages(language, settings.language)
                    merging = Merging(writing, run_id, names, at)
                    ahead = client.settings.concurrency
                    answers = read(client, unit.id_entity, windows, language=language, ahead=ahead)
                    await _take_in(answers, load, merging, landing, lease, progress)
                    known = history.of(before, unit, load.tally.days)
                    holidays = history.holidays(settings.holidays, load.tally.days)
                    bad = quarantine.not_accepted(
                        before, load.bad, resource=RESOURCE, id_entity=unit.id_entity
                    )
                    found = load.found(bad)
                    doubts = check(found, known, holidays=holidays, tolerance=tolerance)
                    merging.merge()
                    since = merging.at - settings.lookback_rotation * DAY
                    accepted = history.accepted_fields(before, unit.id_entity, since)
                    fields = [
                        each
                        for each in check_fields(compare(before, load.fields, merging, unit))
                        if each.field not in accepted
                    ]
                    doubts += [Breach(each.code, each.where) for each in fields]
                    end = empty_end(found, holidays)
                    if end and await _left_out(client, unit.id_entity, end, settings):
                        doubts.append(Breach("end_date_excluded", f"{end}"))
                    if doubts:
                        transaction.rollback()
                    else:
                        lease.fence(writing)
                        company = settings.time_zone
                        outcome.complete(load, merging, landing, company, client.counters)
                if doubts:
                    with writing.begin():
                        outcome.suspect(writing, load, bad, doubts, fields, client.counters)
    progress.ended("suspect" if doubts else "complete", load.counts)
    if doubts:
        raise Suspect(outcome.told(doubts))
    return outcome.manifest(load)


async def _take_in(
    answers: AsyncIterator[Answered],
    load: Load,
    merging: Merging,
    landing: Landing,
    lease: Lease,
    progress: Progress,
) -> None:
    """Load each answer, and keep it as it came and as columns.

    While one is compared, the one before is merged, files of it are written, and the next are
    on their way.
    """
    parquet: Any = None

    def keep(window: Window, body: bytes, rows: pa.Table) -> None:
        keep_raw(landing.raw / raw_name(load.id_entity, window), body)
        parquet.write_table(rows)

    with ExitStack() as writer, Lane() as files, Lane(waiting=1) as tables:
        async for window, answer in answers:
            taken = await asyncio.to_thread(load.take, window, answer)
            if parquet is None:
                parquet = writer.enter_context(parquet_file(landing.parquet, taken.rows.schema))
            await files.put(keep, window, answer.body, taken.rows)
            await tables.put(merging.add, taken.differing)
            lease.renew(load.connection)
            progress.taken(window, load.counts)
        await files.done()
        await tables.done()


async def _left_out(client: Client, id_entity: int, day: date, settings: Settings) -> bool:
    """Ask for one day more: whether that brings invoices of `day`, which came without any."""
    answer = await client.list_client_invoices(
        id_entity=id_entity, start_date=day, end_date=day + DAY
    )
    dates = (getattr(each, settings.invoice_range_date) for each in answer.records)
    return among(day, dates, client.settings.time_zone)
