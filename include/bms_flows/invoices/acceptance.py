"""Publication of a held load that an operator accepted, from its stored responses."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from bms_flows.invoices.leases import lease_days
from bms_flows.invoices.load import RESOURCE
from bms_flows.invoices.planning import held_loads
from bms_flows.invoices.publish import Publication
from bms_flows.invoices.raw import ResponsesMissing, StoredResponses
from bms_flows.invoices.units import Unit
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.landing import Landing
from bms_warehouse.database import clock
from bms_warehouse.tables import step_run


def accept_unit(
    flow: FlowContext, unit: Unit, step: step_log.Step, by: str | None = None
) -> dict[str, Any] | None:
    """Publish the held load `unit.accepts`, as user `by` decided, and return its manifest.

    Days and invoices that were read again since stay unchanged; returns None if no day is left.
    Raises `ResponsesMissing` if a stored response is missing, and `Busy`.
    """
    with (
        recorded_step(flow, step) as step_run_id,
        lease_days(flow.warehouse, unit, step_run_id=step_run_id, task=step.task) as lease,
    ):
        # Another run may have published these days since; the lease prevents it from here on.
        held = held_loads(flow.warehouse, [unit.id_entity], unit.days)
        left = next((each for each in held if each.accepts == unit.accepts), None)
        if left is None:
            step_log.remove(flow.warehouse, step_run_id)
            return None
        stored_as = select(step_run.c.details).where(step_run.c.id == left.accepts)
        with (
            flow.warehouse.execution_options(isolation_level="AUTOCOMMIT").connect() as committed,
            flow.warehouse.begin() as writing,
        ):
            details = committed.scalars(stored_as).one()
            stored = StoredResponses.of_step(flow.data_root, details)
            if stored.lacks(left):
                raise ResponsesMissing(
                    f"entity {left.id_entity}, {left.span}: raw responses of step {left.accepts} are "
                    "missing; run these days again"
                )
            publication = Publication(
                flow=flow,
                unit=left,
                language=details["language"],
                raw=details["raw"],
                lease=lease,
                landing=Landing(flow.data_root, RESOURCE, datetime.now(UTC), step_run_id),
                committed=committed,
                writing=writing,
                accepted=details.get("measures", {}),  # versions before 0.1.0 stored none
                accepted_by=by,
            )
            transform = publication.complete_stored(left, stored, clock(writing), later=True)
        return publication.manifest(transform)
