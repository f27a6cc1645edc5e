"""Publishing a load that was held for review as it is, from the stored answers: nothing is read again."""

from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import select

from bms_flows.invoices.leases import Lease, lease_days
from bms_flows.invoices.load import RESOURCE, Languages, Loader
from bms_flows.invoices.outcome import Outcome
from bms_flows.invoices.planning import held_loads
from bms_flows.invoices.raw import ResponsesMissing
from bms_flows.invoices.repeats import StoredResponses, reload
from bms_flows.invoices.units import Unit
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.landing import Landing
from bms_warehouse.database import clock
from bms_warehouse.tables import step_run


def accept_unit(flow: FlowContext, unit: Unit, step: step_log.Step) -> dict[str, Any] | None:
    """Publish the held load `unit.accepts`, an operator having found it right; return its manifest.

    Days and invoices that were read again since are left as they are; None where that is all of it.
    Raises `ResponsesMissing` when answers about its days are gone, and `Busy`.
    """
    with (
        recorded_step(flow, step) as step_run_id,
        lease_days(flow.warehouse, unit, step_run_id=step_run_id, task=step.task) as lease,
    ):
        # Another run may have published these days since; from here on none can.
        held = held_loads(flow.warehouse, [unit.id_entity], unit.days)
        left = next((each for each in held if each.accepts == unit.accepts), None)
        if left is None:
            step_log.remove(flow.warehouse, step_run_id)
            return None
        return _publish(flow, left, step_run_id, lease)


def _publish(flow: FlowContext, unit: Unit, step_run_id: int, lease: Lease) -> dict[str, Any]:
    with flow.warehouse.connect() as connection:
        kept, began = connection.execute(
            select(step_run.c.details, step_run.c.started_at).where(step_run.c.id == unit.accepts)
        ).one()
    date_of = kept.get("range_date", flow.settings.invoice_range_date)
    read_at = datetime.fromisoformat(kept["read_at"]) if "read_at" in kept else began
    stored = StoredResponses(flow.path(kept["raw"]), kept["zone"], date_of, read_at)
    if stored.lacks(unit):
        raise ResponsesMissing(
            f"entity {unit.id_entity}, {unit.span}: raw answers of step {unit.accepts} are gone; "
            "run these days again"
        )
    names = Languages(kept["language"], flow.settings.language)
    landing = Landing(flow.data_root, RESOURCE, datetime.now(UTC).date(), step_run_id)
    outcome = Outcome(
        unit,
        step_run_id,
        kept["raw"],
        flow.name(landing.parquet),
        names.read,
        kept["zone"],
        date_of,
        kept.get("fields_held", ()),
    )
    with (
        flow.warehouse.execution_options(isolation_level="AUTOCOMMIT").connect() as before,
        flow.warehouse.begin() as connection,
    ):
        lease.writes(connection)
        merging = Loader(connection, step_run_id, names, clock(connection))
        load = reload(
            before,
            merging,
            unit,
            stored,
            later=True,
            parquet=landing.parquet,
            renew=partial(lease.renew, before),
        )
        lease.fence(connection)
        outcome.complete(load, merging, landing, flow.settings.time_zone)
    return outcome.manifest(load)
