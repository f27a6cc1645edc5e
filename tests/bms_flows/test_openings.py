"""Flows write only to their folders and leave no temporary or partial file."""

import itertools
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from proofs import flows
from tests.bms_flows.onboarding.onboarding import Run
from tests.bms_flows.openings import Telling

HEAD = "id_entity;payroll_number;last_name;first_name;start_date"
FILE = f"{HEAD}\n1;900001;Canari;Zoé;2026-05-15\n".encode()


@dataclass(frozen=True)
class Careless:
    """A flow that keeps what it reads in a temporary file for a moment."""

    def __call__(self, at: int | None, act: flows.Act) -> list[str]:
        """Write and forget; never stops on its way."""
        del at, act
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"Canari")
        return []


class Failed(Exception):
    """What a flow is made to raise."""


def fail() -> None:
    raise Failed


def strangers(opened: list[Path], data: Path) -> list[Path]:
    """Return what was opened that isn't a half-written file of the data root."""
    return [path for path in opened if data not in path.parents or path.suffix != ".part"]


Played = Callable[..., tuple[flows.Ending, list[Path]]]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def played(tmp_path: Path, temporary: Path) -> Played:
    def play(flow: flows.Flow, at: int | None = None) -> tuple[flows.Ending, list[Path]]:
        told = tmp_path / "told.json"
        ending = flows.run(Telling(flow, str(temporary), str(told)), at, fail)
        return ending, [Path(each) for each in json.loads(told.read_text())]

    return play


@pytest.fixture(params=["extraction", "contact sync", "creation"])
def flow(
    request: pytest.FixtureRequest, sandbox: Sandbox, warehouse_uri: str, data: Path
) -> flows.Flow:
    root = str(data)
    match request.param:
        case "extraction":
            return flows.Extraction(warehouse_uri, root, sandbox.url)
        case "contact sync":
            return flows.ContactSync(warehouse_uri, root, sandbox.url, page_size=100)
    engine = database.connect(warehouse_uri)
    number = claim.claim_file(engine, "employee", FoundFile("a.csv", len(FILE), "1")).id
    engine.dispose()
    told = replace(flows.service(sandbox.url), backoff_cap=0.02)
    return flows.Creation(Run(warehouse_uri, told, number, FILE))


def test_a_flow_opens_only_files_beside_its_data(
    flow: flows.Flow, played: Played, temporary: Path, data: Path
) -> None:
    ending, opened = played(flow)
    assert ending.well, ending
    assert bool(opened) is not isinstance(flow, flows.Creation)
    assert strangers(opened, data) == []
    assert [*temporary.iterdir(), *data.rglob("*.part")] == []


@pytest.mark.prove
def test_a_flow_that_fails_anywhere_leaves_no_file_half_written(
    flow: flows.Flow, played: Played, temporary: Path, data: Path, figure: Callable[[str], None]
) -> None:
    failed = 0
    for point in itertools.count(1):
        ending, opened = played(flow, point)
        failed += ending.kind == Failed.__name__
        assert strangers(opened, data) == []
        assert [*temporary.iterdir(), *data.rglob("*.part")] == [], point
        if ending.well and ending.points < point:
            break  # a failure that the client repeats ends well too
    assert failed
    figure(f"{type(flow).__name__}: failed at {failed} of {point - 1} points, no file left")


def test_a_flow_that_opens_another_is_found(played: Played, temporary: Path) -> None:
    ending, opened = played(Careless())
    assert ending.well
    assert opened
    assert all(temporary in (path, path.parent) for path in opened)
