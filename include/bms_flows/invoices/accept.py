"""Publishing a suspect load as it is, from the answers that were kept: nothing is read again."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from bms_flows import runs
from bms_flows.invoices import lease
from bms_flows.invoices.load import Load
from bms_flows.invoices.outcome import RESOURCE, Languages, Outcome
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.raw import replay
from bms_flows.landing import Landing
from bms_flows.workplace import Workplace, recorded
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
        lease.leased(place.warehouse, unit, run_id=run_id, task=step.task),
        place.warehouse.connect() as connection,
    ):
        load = Load(connection, unit.id_entity, kept["zone"], place.settings.invoice_range_date)
        for window, answer in replay(place.path(kept["raw"])):
            load.take(window, answer)
        outcome = Outcome(unit, run_id, kept["raw"], kept["parquet"], names, kept["zone"])
        with connection.begin():
            lease.fence(connection, run_id, len(unit.windows))
            landing = Landing(place.data_root, RESOURCE, datetime.now(UTC).date(), run_id)
            outcome.complete(connection, load, landing, place.settings.time_zone)
    return outcome.manifest(load)
