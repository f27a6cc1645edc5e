"""Publishing a suspect load as it is, from the answers that were kept: nothing is read again."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from bms_flows import runs
from bms_flows.invoices.lease import leased
from bms_flows.invoices.load import Load
from bms_flows.invoices.merging import RESOURCE, Languages, Merging
from bms_flows.invoices.outcome import Outcome
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.raw import answered, replay
from bms_flows.landing import Landing
from bms_flows.workplace import Workplace, recorded
from bms_warehouse.database import clock
from bms_warehouse.tables import run


def accept_unit(place: Workplace, unit: Unit, step: runs.Step) -> dict[str, Any]:
    """Publish the suspect load `unit.accepts`, a person having found it right; return its manifest."""
    with place.warehouse.connect() as connection:
        kept = connection.execute(
            select(run.c.details).where(run.c.id == unit.accepts)
        ).scalar_one()
    names = Languages(kept["language"], place.settings.language)
    with (
        recorded(place, step) as run_id,
        leased(place.warehouse, unit, run_id=run_id, task=step.task) as lease,
        place.warehouse.execution_options(isolation_level="AUTOCOMMIT").connect() as before,
        place.warehouse.begin() as connection,
    ):
        lease.writes(connection)
        date_of, raw = place.settings.invoice_range_date, place.path(kept["raw"])
        since = answered(raw) - unit.days
        load = Load(before, unit.id_entity, kept["zone"], date_of, without=since)
        merging = Merging(connection, run_id, names, clock(connection))
        for window, answer in replay(raw):
            merging.add(load.take(window, answer).differing)
        lease.fence(connection)
        landing = Landing(place.data_root, RESOURCE, datetime.now(UTC).date(), run_id)
        outcome = Outcome(unit, run_id, kept["raw"], kept["parquet"], names.read, kept["zone"])
        outcome.complete(load, merging, landing, place.settings.time_zone)
    return outcome.manifest(load)
