"""Publishing a suspect load as it is, from the answers that were kept: nothing is read again."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from bms_flows import runs
from bms_flows.invoices.agenda import suspects
from bms_flows.invoices.lease import Lease, leased
from bms_flows.invoices.load import Load
from bms_flows.invoices.merging import RESOURCE, Languages, Merging
from bms_flows.invoices.outcome import Outcome
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.raw import AnswersMissing, answered, replay
from bms_flows.landing import Landing
from bms_flows.workplace import Workplace, recorded
from bms_warehouse.database import clock
from bms_warehouse.tables import run


def accept_unit(place: Workplace, unit: Unit, step: runs.Step) -> dict[str, Any] | None:
    """Publish the suspect load `unit.accepts`, a person having found it right; return its manifest.

    What was read again since the unit was planned is left as it stands; None where that is all of
    it. Raises `AnswersMissing` when answers about its days are gone, and `DaysTaken`.
    """
    with (
        recorded(place, step) as run_id,
        leased(place.warehouse, unit, run_id=run_id, task=step.task) as lease,
    ):
        # Another run may have published these days since; from here on none can.
        doubted = suspects(place.warehouse, [unit.id_entity], unit.days)
        left = next((each for each in doubted if each.accepts == unit.accepts), None)
        if left is None:
            runs.withdraw(place.warehouse, run_id)
            return None
        return _publish(place, left, run_id, lease)


def _publish(place: Workplace, unit: Unit, run_id: int, lease: Lease) -> dict[str, Any]:
    with place.warehouse.connect() as connection:
        kept, began = connection.execute(
            select(run.c.details, run.c.started_at).where(run.c.id == unit.accepts)
        ).one()
    raw, date_of = place.path(kept["raw"]), place.settings.invoice_range_date
    there = answered(raw)
    if not unit.days <= there:
        raise AnswersMissing(
            f"entity {unit.id_entity}, {unit.span}: raw answers of step {unit.accepts} are gone; "
            "run these days again"
        )
    names = Languages(kept["language"], place.settings.language)
    with (
        place.warehouse.execution_options(isolation_level="AUTOCOMMIT").connect() as before,
        place.warehouse.begin() as connection,
    ):
        lease.writes(connection)
        read_at = datetime.fromisoformat(kept["read_at"]) if "read_at" in kept else began
        without = there - unit.days
        load = Load(before, unit.id_entity, kept["zone"], date_of, read_at, without=without)
        merging = Merging(connection, run_id, names, clock(connection))
        for window, answer in replay(raw):
            merging.add(load.take(window, answer).differing)
        lease.fence(connection)
        landing = Landing(place.data_root, RESOURCE, datetime.now(UTC).date(), run_id)
        files = kept["raw"], kept["parquet"]
        accepted = kept.get("fields_held", ())
        outcome = Outcome(unit, run_id, *files, names.read, kept["zone"], date_of, accepted)
        outcome.complete(load, merging, landing, place.settings.time_zone)
    return outcome.manifest(load)
