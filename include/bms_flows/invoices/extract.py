"""Extracting a unit: read ahead, keep what came, load it, publish it, and say how it went."""

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Engine
from upath import UPath

from bms.client import Client
from bms_flows import runs
from bms_flows.invoices.load import Load
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.publish import RESOURCE, Languages, publish
from bms_flows.invoices.read import read
from bms_flows.invoices.window import Window
from bms_flows.landing import Landing, keep_raw, parquet_file
from bms_flows.settings import Settings


@dataclass(frozen=True)
class Work:
    """What an extraction works with: the service, the warehouse, the data root, its settings."""

    client: Client
    warehouse: Engine
    data_root: UPath
    settings: Settings


async def extract_unit(
    work: Work, unit: Unit, step: runs.Step, *, language: Literal["EN", "FR"]
) -> dict[str, Any]:
    """Read and load one unit, all of it or nothing, and return a manifest without a row in it.

    The manifest holds the step's number, the entity, the days, the counts and where the files are.
    """
    run_id = await asyncio.to_thread(runs.begin, work.warehouse, step)
    try:
        return await _extract(work, unit, run_id, language)
    except BaseException as error:
        # Only the kind of error goes on record: a text from below might quote a row.
        with work.warehouse.begin() as connection:
            runs.finish(
                connection,
                run_id,
                state="failed",
                service=work.client.counters,
                reason=f"{type(error).__name__}; the task's log has the whole of it.",
            )
        raise


async def _extract(
    work: Work, unit: Unit, run_id: int, language: Literal["EN", "FR"]
) -> dict[str, Any]:
    landing = Landing(work.data_root, RESOURCE, datetime.now(UTC).date(), run_id)
    zone = work.client.settings.time_zone
    async with work.client:
        with work.warehouse.connect() as connection, ExitStack() as writer:
            load = await asyncio.to_thread(Load, connection, unit.id_entity, zone)
            parquet: Any = None
            windows = [w for window in unit.windows for w in window.cut(work.settings.window_days)]
            ahead = work.client.settings.concurrency
            async for window, answer in read(
                work.client, unit.id_entity, windows, language=language, ahead=ahead
            ):
                rows, _ = await asyncio.gather(
                    asyncio.to_thread(load.take, window, answer),
                    asyncio.to_thread(keep_raw, landing.raw / _raw_name(unit, window), answer.body),
                )
                if parquet is None:
                    parquet = writer.enter_context(parquet_file(landing.parquet, rows.schema))
                await asyncio.to_thread(parquet.write_table, rows)
            await asyncio.to_thread(writer.close)
            names = Languages(language, work.settings.language)
            await asyncio.to_thread(_publish, work, load, unit, run_id, names)
    return {
        "run_id": run_id,
        "id_entity": unit.id_entity,
        "days": str(unit.span),
        "raw": str(landing.raw),
        "parquet": str(landing.parquet),
        **vars(load.counts),
        "totals": {currency: total.as_dict() for currency, total in load.tally.totals.items()},
    }


def _raw_name(unit: Unit, window: Window) -> str:
    return f"entity-{unit.id_entity}_{window.start}_{window.end}.json.zst"


def _publish(work: Work, load: Load, unit: Unit, run_id: int, names: Languages) -> None:
    connection = load.connection
    with connection.begin():
        publish(connection, load, unit, run_id, names)
        runs.finish(
            connection,
            run_id,
            state="complete",
            counts=load.counts,
            service=work.client.counters,
        )
