"""Two workers at once on the same days, the same mirror and the same drop, ten rounds each."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from proofs import flows, ground_truth
from proofs.flows import ContactSync, Creation, Extraction
from proofs.kill_invoices import Killing
from tests.bms_flows.onboarding import grid
from tests.proofs.conftest import KEYS, Drop
from tests.proofs.story import Story
from tests.support.warehouse_server import WarehouseServer

pytestmark = pytest.mark.prove

Figure = Callable[[str], None]
ROUNDS = 10


def test_the_same_days(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    """Separate runs: one reads the days, the other gets `Busy`, or comes later."""
    story = Story("two extractions of the same days at once")
    for number in range(ROUNDS):
        uri, root = here.warehouse(killing.before), str(tmp_path / f"{number}")
        pair = [Extraction(uri, root, sandbox.url, name) for name in ("one", "other")]
        for ending in flows.at_once(*pair):
            story.took(number, ending)
        for each in pair:
            story.found(number, [] if flows.finished(each)[-1].well else ["stuck"])
        if killing.read_state(uri) != killing.will_be:
            story.found(number, ["another table"])
        story.found(number, left_open(uri))
        here.drop(uri)
    story.report(figure)


def test_the_same_mirror(
    here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    story = Story("two syncs of the same mirror at once")
    uri, random = here.warehouse(), Random(5)
    for number in range(ROUNDS):
        sandbox.advance(1)  # lists show a change of notes by its second
        changed, gone = random.sample(sandbox.rows("contacts"), 2)
        sandbox.edit("contacts", changed["id"], notes=f"round {number}")
        sandbox.delete("contacts", gone["id"])
        sandbox.insert("contacts")
        pair = [ContactSync(uri, str(tmp_path), sandbox.url, f"{each} {number}") for each in "ab"]
        endings = flows.at_once(*pair)
        for ending in endings:
            story.took(number, ending)
        if not any(each.well for each in endings):
            story.found(number, ["neither went on"])
        engine = database.connect(uri)
        with engine.connect() as connection:
            story.found(number, ground_truth.contacts(connection, sandbox))
            story.found(number, ground_truth.stuck(connection))
        engine.dispose()
    story.report(figure)


def test_the_same_drop(here: WarehouseServer, sandbox: Sandbox, drop: Drop, figure: Figure) -> None:
    """The service loses a response, so that both have an ambiguous outcome to settle."""
    story = Story("two runs of the same drop at once")
    for number in range(ROUNDS):
        run = drop()
        sandbox.set_fault("commit_then_lose_reply", "create_employee", count=1)
        for ending in flows.at_once(Creation(run), Creation(run)):
            story.took(number, ending)
        codes = [flows.finished(Creation(run))[-1].code]
        story.found(number, grid.wrong(sandbox, run, KEYS, codes))
        made = Counter(sandbox.truth()["faults"])
        story.found(number, [] if made["commit_then_lose_reply"] else ["the fault never struck"])
        here.drop(run.warehouse)
    story.report(figure)


def left_open(uri: str) -> list[str]:
    """Return what has no end in a warehouse."""
    engine = database.connect(uri)
    with engine.connect() as connection:
        found = list(ground_truth.stuck(connection))
    engine.dispose()
    return found
