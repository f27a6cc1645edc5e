"""PostgreSQL stopped in mid-load, at any point: in order or not, back at once or only later."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bms_sandbox.serve import Sandbox
from proofs import flows
from proofs.flows import ContactSync, Creation, Ending, Extraction, Flow
from proofs.interruptions import pause
from proofs.kill_invoices import FEWEST, Killing, broken
from tests.bms_flows.onboarding import grid
from tests.proofs.conftest import KEYS, Drop
from tests.proofs.story import Story
from tests.support.warehouse_server import Stop, WarehouseServer

pytestmark = pytest.mark.prove

Figure = Callable[[str], None]
MOST = 13
"""Points taken of a sync and of a creation, about."""


def disturbed(here: WarehouseServer, flow: Flow, point: int, turn: int) -> Ending:
    """Stop the database while `flow` is paused at `point`.

    Every other turn without order (its log is replayed), and two of four turns it is away until
    the flow has ended.
    """
    how: Stop = "immediate" if turn % 2 else "fast"
    away = turn // 2 % 2
    with flows.begun(flow, point, pause) as process:
        if not process.stopped():
            return process.ended()
        here.stop(how)
        if not away:
            here.start()
        process.send(signal.SIGCONT)
        try:
            return process.ended()
        finally:
            if away:
                here.start()


def test_an_extraction(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    story = Story("PostgreSQL stopped in an extraction")
    assert len(killing.points) >= FEWEST
    points = range(len(killing.points))
    # The load is published after the last commit but one: each way to stop is tried there.
    for turn, point in enumerate((*points, *[points[-1]] * 3)):
        uri, root = here.warehouse(killing.before), tmp_path / f"turn-{turn}"
        flow = Extraction(uri, str(root), sandbox.url, "killed")
        story.took(point, disturbed(here, flow, point, turn))
        story.found(
            point, [f"half-written: {each.name}" for each in root.rglob("*") if broken(each)]
        )
        story.extracted(point, killing, flow)
        here.drop(uri)
    story.report(figure)


def test_a_sync_of_contacts(
    here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    story = Story("PostgreSQL stopped in a sync of contacts")
    points = flows.run(ContactSync(here.warehouse(), str(tmp_path), sandbox.url)).points
    for turn, point in enumerate(range(0, points, max(1, points // MOST))):
        uri = here.warehouse()
        flow = ContactSync(uri, str(tmp_path / f"{point}"), sandbox.url)
        story.took(point, disturbed(here, flow, point, turn))
        story.synced(point, flow, sandbox)
        here.drop(uri)
    story.report(figure)


def test_a_drop_being_created(
    here: WarehouseServer, sandbox: Sandbox, drop: Drop, figure: Figure
) -> None:
    story = Story("PostgreSQL stopped in the creation of a drop")
    steps = flows.run(Creation(drop())).points
    for turn, step in enumerate(range(1, steps, max(1, steps // MOST))):
        run = drop()
        story.took(step, disturbed(here, Creation(run), step, turn))
        endings = flows.finished(Creation(run))
        codes = [endings[-1].code]
        story.found(step, grid.wrong(sandbox, run, KEYS, codes))
        here.drop(run.warehouse)
    story.report(figure)
