"""Wall clock of a worker that jumps by two hours during its work, with a correct database clock."""

import importlib
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from bms_flows.invoices import leases
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from proofs import flows
from proofs.flows import Act, ContactSync, Creation, Extraction, Flow
from proofs.interruptions import pause
from proofs.kill_invoices import Killing
from tests.bms_flows.onboarding import grid
from tests.proofs.conftest import KEYS, Drop
from tests.proofs.story import Story
from tests.support.warehouse_server import WarehouseServer

pytestmark = pytest.mark.prove

Figure = Callable[[str], None]
JUMPS = (7200.0, -7200.0)
SPAWN = multiprocessing.get_context("spawn")
"""Processes that begin as Python does, and load the clock before anything else takes hold of it."""


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "wall_clock"))


def jump(seconds: float) -> None:
    """Set the wall clock of this process."""
    importlib.import_module("sitecustomize").jump(seconds)


@dataclass(frozen=True)
class Ahead:
    """A flow on a worker whose clock goes wrong from the start."""

    flow: Flow
    seconds: float

    def __call__(self, at: int | None, act: Act) -> list[str]:
        """Set the clock, then run."""
        jump(self.seconds)
        return self.flow(at, act)


@dataclass(frozen=True)
class Taking:
    """Another run's attempt at a file."""

    warehouse: str
    seen: FoundFile

    def __call__(self, at: int | None, act: Act) -> list[str]:  # noqa: ARG002 - a flow
        """Take it."""
        claim.claim_file(
            database.connect(self.warehouse), "employee", self.seen, dag_run_id="another"
        )
        return []


def scalar(uri: str, query: str) -> float:
    engine = database.connect(uri)
    with engine.connect() as connection:
        found = connection.scalar(text(query))
    engine.dispose()
    return float(found or 0)


@pytest.mark.parametrize("seconds", JUMPS)
def test_an_extraction(
    killing: Killing,
    here: WarehouseServer,
    sandbox: Sandbox,
    tmp_path: Path,
    figure: Figure,
    seconds: float,
) -> None:
    story = Story(f"the clock jumps {seconds:+.0f} s in an extraction")
    for point in range(0, len(killing.points), 4):
        uri = here.warehouse(killing.before)
        flow = Extraction(uri, str(tmp_path / f"{point}"), sandbox.url, "killed")
        ending = flows.run(flow, point, partial(jump, seconds), SPAWN)
        story.took(point, ending)
        if killing.read_state(uri) != killing.will_be or not ending.well:
            story.found(point, [f"another table, or not well: {ending.kind}"])
        flows.well(flow)
        if killing.read_state(uri) != killing.will_be:
            story.found(point, ["the next run ended with another table"])
        here.drop(uri)
    story.report(figure)


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_sync_of_contacts(
    here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure, seconds: float
) -> None:
    story = Story(f"the clock jumps {seconds:+.0f} s in a sync of contacts")
    for point in (1, 6, 12, 24):
        uri = here.warehouse()
        flow = ContactSync(uri, str(tmp_path / f"{point}"), sandbox.url)
        sandbox.set_fault("token_revoked", "read_contact", count=1)
        story.took(point, flows.run(flow, point, partial(jump, seconds), SPAWN))
        sandbox.clear_faults()
        sandbox.advance(1)  # lists show a change of notes by its second
        for row in sandbox.rows("contacts")[:2]:
            sandbox.edit("contacts", row["id"], notes=f"{seconds} {point}")
        story.synced(point, flow, sandbox)
        here.drop(uri)
    story.report(figure)


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_drop_being_created(
    here: WarehouseServer, sandbox: Sandbox, drop: Drop, figure: Figure, seconds: float
) -> None:
    """The token dies too, when a clock that went back still takes it for alive."""
    story = Story(f"the clock jumps {seconds:+.0f} s in the creation of a drop")
    for step in range(2, 34, 4):
        run = drop()
        sandbox.set_fault("commit_then_lose_reply", "create_employee", count=1)
        sandbox.set_fault("token_revoked", "create_employee", count=1)
        story.took(step, flows.run(Creation(run), step, partial(jump, seconds), SPAWN))
        codes = [flows.finished(Creation(run))[-1].code]
        story.found(step, grid.wrong(sandbox, run, KEYS, codes))
        here.drop(run.warehouse)
    story.report(figure)


def test_leased_days_are_not_taken_over_by_a_fast_clock(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path
) -> None:
    uri, root = here.warehouse(killing.before), str(tmp_path / "held")
    first, other = (Extraction(uri, root, sandbox.url, name) for name in ("first", "other"))
    with flows.begun(first, len(killing.points) // 2, pause) as process:
        assert process.stopped()
        assert flows.run(Ahead(other, JUMPS[0]), context=SPAWN).kind == "Busy"


def test_a_dead_worker_with_a_fast_clock_holds_days_no_longer(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path
) -> None:
    uri = here.warehouse(killing.before)
    flow = Ahead(Extraction(uri, str(tmp_path / "dead"), sandbox.url), JUMPS[0])
    assert flows.run(flow, len(killing.points) // 2, context=SPAWN).killed
    left = "select extract(epoch from max(expires_at) - now()) from bms.client_invoice_lease"
    assert 0 < scalar(uri, left) <= leases.LIFE.total_seconds()


def test_a_claimed_file_is_not_taken_over_by_a_fast_clock(here: WarehouseServer) -> None:
    uri, seen = here.warehouse(), FoundFile("a.csv", 1, "1")
    engine = database.connect(uri)
    claim.claim_file(engine, "employee", seen)
    engine.dispose()
    assert flows.run(Ahead(Taking(uri, seen), JUMPS[0]), context=SPAWN).kind == "Busy"
