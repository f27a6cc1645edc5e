"""A process paused past its lease: another takes over and finishes the work, then the first resumes."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from proofs import flows, ground_truth
from proofs.flows import Creation, Extraction
from proofs.interruptions import pause
from proofs.kill_invoices import FEWEST, Killing
from stack.processes import until
from tests.bms_flows.onboarding import grid
from tests.proofs.conftest import KEYS, Drop
from tests.proofs.story import Story
from tests.support.patience import LONG_S
from tests.support.warehouse_server import WarehouseServer

pytestmark = pytest.mark.prove

Figure = Callable[[str], None]


LEASE_S = 1.0
"""Seconds that days are held here; ten minutes elsewhere."""


FEWEST_STEPS = 30


STILL_S = 1.0
"""Seconds that a transaction may be idle here; ten minutes elsewhere."""


def run_out(uri: str) -> None:
    """Wait until no days are held any more."""
    engine = database.connect(uri)
    held = text("select count(*) from bms.client_invoice_lease where expires_at > now()")

    def ended() -> bool:
        with engine.connect() as connection:
            return not connection.scalar(held)

    assert until(ended, LONG_S)
    engine.dispose()


def test_an_extraction_publishes_nothing_after_its_lease_was_taken_over(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    story = Story("an extraction that paused past its lease")
    assert len(killing.points) >= FEWEST
    for point in range(0, len(killing.points), 2):
        uri, root = here.warehouse(killing.before), str(tmp_path / f"point-{point}")
        with flows.begun(
            Extraction(uri, root, sandbox.url, lease_s=LEASE_S), point, pause
        ) as process:
            assert process.stopped()
            run_out(uri)
            flows.well(Extraction(uri, root, sandbox.url, "second"))
            if killing.read_state(uri) != killing.will_be:
                story.found(point, ["the one that took over ended with another table"])
            process.send(signal.SIGCONT)
            story.took(point, process.ended())
        if killing.read_state(uri) != killing.will_be:
            story.found(point, ["the paused process wrote"])
        engine = database.connect(uri)
        with engine.connect() as connection:
            story.found(point, ground_truth.stuck(connection))
        engine.dispose()
        here.drop(uri)
    story.report(figure)


def test_a_creation_creates_no_duplicate(
    here: WarehouseServer, sandbox: Sandbox, drop: Drop, figure: Figure
) -> None:
    """Before, in and after each POST and each commit."""
    story = Story("a creation that paused past its lease")
    steps = flows.run(Creation(drop())).points
    for step in range(1, steps):
        run = drop()
        with flows.begun(Creation(run, STILL_S), step, pause) as process:
            if not process.stopped():
                break  # this run needed fewer commits, because more rows shared them
            taken_over = flows.finished(Creation(run))
            story.found(step, grid.wrong(sandbox, run, KEYS, [taken_over[-1].code]))
            process.send(signal.SIGCONT)
            story.took(step, process.ended())
        story.found(step, grid.wrong(sandbox, run, KEYS, [0]))
        here.drop(run.warehouse)
    assert step >= FEWEST_STEPS
    story.report(figure)
