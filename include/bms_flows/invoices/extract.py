"""Extracting a unit: read ahead, keep what came, load it, check it, publish it, say how it went."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, date, datetime
from typing import Any, Literal

import pyarrow as pa

from bms.client import Client
from bms.dates import parse_date
from bms_flows import runs
from bms_flows.invoices import history, lease
from bms_flows.invoices.check import Breach, Tolerance, check, empty_end
from bms_flows.invoices.load import Load
from bms_flows.invoices.outcome import RESOURCE, Languages, Outcome
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.raw import raw_name
from bms_flows.invoices.read import Answer, read
from bms_flows.invoices.window import DAY, Window
from bms_flows.landing import Landing, keep_raw, parquet_file
from bms_flows.settings import Settings
from bms_flows.workplace import Workplace, recorded


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
    async with client:
        with recorded(place, step, client.counters) as run_id:
            landing = Landing(place.data_root, RESOURCE, datetime.now(UTC).date(), run_id)
            with (
                lease.leased(place.warehouse, unit, run_id=run_id, task=step.task),
                place.warehouse.connect() as connection,
            ):
                load = Load(connection, unit.id_entity, zone, settings.invoice_range_date)
                ahead = client.settings.concurrency
                answers = read(client, unit.id_entity, windows, language=language, ahead=ahead)
                await _take_in(load, answers, landing, run_id)
                names = Languages(language, settings.language)
                files = place.name(landing.raw), place.name(landing.parquet)
                outcome = Outcome(unit, run_id, *files, names, zone)
                known = history.of(connection, unit, load.tally.days)
                holidays = history.holidays(settings.holidays, load.tally.days)
                doubts = check(load.found, known, holidays=holidays, tolerance=tolerance)
                end = empty_end(load.found, holidays)
                if end and await _left_out(client, unit.id_entity, end, settings):
                    doubts.append(Breach("end_date_excluded", f"{end}"))
                with connection.begin():
                    if doubts:
                        outcome.suspect(connection, load, doubts, client.counters)
                    else:
                        lease.fence(connection, run_id, len(unit.windows))
                        company = settings.time_zone
                        outcome.complete(connection, load, landing, company, client.counters)
    if doubts:
        raise Suspect(outcome.told(doubts))
    return outcome.manifest(load)


async def _take_in(
    load: Load, answers: AsyncIterator[Answer], landing: Landing, run_id: int
) -> None:
    """Stage what differs of each answer, and keep the answer as it came and as columns."""
    parquet: Any = None
    kept: Future[None] | None = None

    def keep(window: Window, body: bytes, rows: pa.Table) -> None:
        keep_raw(landing.raw / raw_name(load.id_entity, window), body)
        parquet.write_table(rows)

    # Files are written while the next answer is taken in; leaving the block waits for them.
    with ExitStack() as writer, ThreadPoolExecutor(1) as files:
        async for window, answer in answers:
            rows = await asyncio.to_thread(load.take, window, answer)
            if parquet is None:
                parquet = writer.enter_context(parquet_file(landing.parquet, rows.schema))
            if kept is not None:
                await asyncio.wrap_future(kept)
            kept = files.submit(keep, window, answer.body, rows)
            lease.renew(load.connection, run_id)
            load.connection.commit()
        if kept is not None:
            kept.result()


async def _left_out(client: Client, id_entity: int, day: date, settings: Settings) -> bool:
    """Ask for one day more: whether that brings invoices of `day`, which came without any."""
    answer = await client.list_client_invoices(
        id_entity=id_entity, start_date=day, end_date=day + DAY
    )
    zone = client.settings.time_zone
    listed = (getattr(each, settings.invoice_range_date) for each in answer.records)
    return any(parse_date(given, zone) == day for given in listed)
