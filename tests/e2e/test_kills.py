"""Real Airflow tasks, killed at their durable steps, under every fault, with every way to resume.

Each step, fault, way to resume and resource occurs at least once; a seed determines the combinations.
Takes up to half an hour on an idle machine.
"""

import itertools
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bms_flows.onboarding.sending.absence import UNPROVEN
from stack.launcher import Running, running
from tests.bms_flows.onboarding.grid import FAULTS, KINDS, RESTARTS
from tests.bms_flows.onboarding.onboarding import others_working
from tests.e2e import kills
from tests.e2e.airflow_api import Airflow, inbox_of, query, until
from tests.e2e.canaries import sandbox_of
from tests.e2e.conftest import own_environment
from tests.support.french_excel import in_letters

PROJECT = Path(__file__).parent.parent.parent
DAGS = {
    "employee": "employee_onboarding",
    "contact": "contact_creation",
    "consultant": "consultant_creation",
}
INBOXES = {"employee": "employees", "contact": "contacts", "consultant": "consultants"}
STEPPED = ("plan", "enter", "create", "conclude")
FEWEST_STEPS = 40

pytestmark = [pytest.mark.prove, pytest.mark.timeout(7200)]


@dataclass(frozen=True)
class Cell:
    """One run: its resource, the task and step of the kill, the way to resume."""

    name: str
    resource: str
    task: str
    step: int
    restart: str

    def content(self) -> bytes:
        """Two rows that no other cell has."""
        if self.resource == "employee":
            rows = "".join(f"1;{key};{in_letters(key)};Zoé;2026-12-15\n" for key in self.keys)
            return f"id_entity;payroll_number;last_name;first_name;start_date\n{rows}".encode()
        if self.resource == "contact":
            rows = "".join(
                f"{in_letters(key)};Zoé;{key};Société {self.name};Lyon;3\n" for key in self.keys
            )
            return f"Nom;Prénom;E-mail;Société;Ville;Domaines\n{rows}".encode()
        rows = "".join(f"{in_letters(key)};Zoé;{key};1988;4;EN\n" for key in self.keys)
        return f"Nom;Prénom;E-mail;Année de naissance;Compétence 1;Langue 1\n{rows}".encode()

    @property
    def keys(self) -> list[str]:
        """The keys that must exist exactly once."""
        if self.resource == "employee":
            return [f"{self.name}-{n}" for n in (1, 2)]
        return [f"{self.name}.{n}@killed.example" for n in (1, 2)]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with the orders, the counts, and the DAG files with fault injection."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        (path / "dags").mkdir()
        for name in DAGS.values():
            real = PROJECT / "dags" / f"{name}.py"
            (path / "dags" / real.name).write_text(
                "# an airflow dag, armed\n"
                "from tests.e2e import kills\n"
                "kills.arm()\n"
                f"exec(compile(open({str(real)!r}).read(), {str(real)!r}, 'exec'))\n"
            )
        yield path


@pytest.fixture(scope="module")
def stack(folder: Path) -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as local:
        given = {
            **own_environment(),
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "BMS_APPROVAL": "never",
            "BMS_CREATE_TIMEOUT_S": "5",
            "BMS_TEST_CONSTANTS": '{"lease_s": 5}',
            "BMS_LOCAL_DIR": local,
            "BMS_SETTLE_S": "1",
            "PYTHONPATH": f"{PROJECT}:{PROJECT / 'tests/e2e/constants'}",
            kills.FOLDER: str(folder),
        }
        with running(given) as found:
            yield found


class Play:
    """Runs the cells in waves: all cells of a wave concurrently, under one fault."""

    def __init__(self, stack: Running, folder: Path) -> None:
        self.airflow, self.folder, self.stack = Airflow(stack), folder, stack
        self.sandbox = sandbox_of(stack)
        for dag in DAGS.values():
            self.airflow.pause(dag, paused=False)

    def start(self, cell: Cell, suffix: str = "") -> str:
        """Drop a cell's file and start a run for it, named after the cell."""
        run = f"{cell.name}{suffix}"
        (inbox_of(self.stack, INBOXES[cell.resource]) / f"{run}.csv").write_bytes(cell.content())
        body = {"logical_date": None, "dag_run_id": run, "conf": {"path": f"{run}.csv"}}
        self.airflow.call("POST", f"/dags/{DAGS[cell.resource]}/dagRuns", body)
        return run

    def steps(self, cell: Cell) -> dict[str, int]:
        """Run without faults; return the number of steps of each task."""
        run = self.start(cell)
        self.ended([(cell, run)])
        return {
            task: (self.folder / f"{run}.{task}.steps").stat().st_size
            for task in STEPPED
            if (self.folder / f"{run}.{task}.steps").exists()
        }

    def wave(self, fault: str, cells: list[Cell]) -> tuple[list[str], int]:
        """Run cells under a fault, while other users create records.

        Return the violations as text, and the number of rows left to review, as promised: nothing
        shows that the lists are up to date.
        """
        with ExitStack() as others:
            for kind in KINDS.values():
                others.enter_context(others_working(self.sandbox, kind.rows))
            return self._wave(fault, cells)

    def _wave(self, fault: str, cells: list[Cell]) -> tuple[list[str], int]:
        self.sandbox.reset_counts()
        for operation in {KINDS[cell.resource].operation for cell in cells}:
            if fault != "none":
                self.sandbox.set_fault(fault, operation, count=2, **FAULTS[fault])
        runs, seconds = [], set()
        for cell in cells:
            (self.folder / f"{cell.name}.order").write_text(json.dumps([cell.task, cell.step]))
            runs.append((cell, self.start(cell)))
        for cell in cells:
            killed = self.folder / f"{cell.name}.killed"
            until(killed.exists, partial("{} was never killed".format, cell))
            if cell.restart == "clear":
                self.clear(cell)
            elif cell.restart == "redrop":
                runs.append((cell, self.start(cell, "-again")))
            elif cell.restart == "two_at_once":
                number = self.drop_of(cell)
                run = self.airflow.trigger(DAGS[cell.resource], drop=number)
                runs.append((cell, run))
                seconds.add(f"{run} failed")  # told that another run holds the drop
        wrong = [each for each in self.ended(runs) if each not in seconds]
        self.sandbox.clear_faults()
        truth = self.sandbox.truth()
        if fault != "none" and not truth["faults"].get(fault):
            wrong.append(f"{fault} never struck")
        judged = [self.judged(cell, truth["created"]) for cell in cells]
        wrong += itertools.chain.from_iterable(each for each, _ in judged)
        return wrong, sum(unproven for _, unproven in judged)

    def judged(self, cell: Cell, created: dict[str, Any]) -> tuple[list[str], int]:
        """Return a cell's violations, and the number of its rows left to review."""
        kind = KINDS[cell.resource]
        made = Counter(row[kind.key] for row in created[kind.rows])
        left = self.left(cell)
        unproven = left.count(("review", UNPROVEN))
        wrong = [f"{cell}: {key} is there {made[key]} times" for key in cell.keys if made[key] > 1]
        if unproven < (lost := sum(not made[key] for key in cell.keys)):
            wrong.append(f"{cell}: {lost} rows are not there, {unproven} in review")
        wrong += [f"{cell}: {row}" for row in left if row != ("review", UNPROVEN)]
        return wrong, unproven

    def clear(self, cell: Cell) -> None:
        """Clear the whole run, as an operator would."""
        body = {
            "dry_run": False,
            "dag_run_id": cell.name,
            "only_failed": False,
            "reset_dag_runs": True,
        }
        self.airflow.call("POST", f"/dags/{DAGS[cell.resource]}/clearTaskInstances", body)

    def ended(self, runs: list[tuple[Cell, str]]) -> list[str]:
        """Wait for runs; return the failed runs."""
        states = {run: self.airflow.end_of(DAGS[cell.resource], run) for cell, run in runs}
        return [f"{run} {state}" for run, state in states.items() if state != "success"]

    def drop_of(self, cell: Cell) -> int:
        """Return the number of a cell's drop."""

        def found() -> list[tuple[Any, ...]]:
            return query(
                self.stack, "select id from bms.dropped_file where path = %s", f"{cell.name}.csv"
            )

        until(lambda: bool(found()), lambda: f"{cell} has no drop")
        return int(found()[0][0])

    def left(self, cell: Cell) -> list[tuple[Any, ...]]:
        """Return state and reason of a cell's rows that are neither created nor adopted."""
        return query(
            self.stack,
            "select c.state, c.reason from bms.creation c join bms.dropped_file d on d.id = c.drop_id"
            " where d.path like %s and c.state not in ('created', 'adopted')",
            f"{cell.name}%",
        )


def cells(steps: dict[str, int], random: Random) -> dict[str, list[Cell]]:
    """Return the cells by fault: every step once, the other dimensions in rotations of different lengths."""
    places = [(task, number + 1) for task in STEPPED for number in range(steps[task])]
    random.shuffle(places)
    faults = itertools.cycle(FAULTS)
    restarts = itertools.cycle([*RESTARTS, RESTARTS[0]])  # five next to fourteen and three
    resources = itertools.cycle(DAGS)
    waves: dict[str, list[Cell]] = {fault: [] for fault in FAULTS}
    for number, (task, step) in enumerate(places):
        cell = Cell(f"cell{number:02}", next(resources), task, step, next(restarts))
        waves[next(faults)].append(cell)
    return waves


@pytest.fixture(scope="module")
def play(stack: Running, folder: Path) -> Iterator[Play]:
    played = Play(stack, folder)
    yield played
    played.airflow.close()


@pytest.fixture(scope="module")
def steps(play: Play) -> dict[str, int]:
    """The number of steps of each task."""
    counted = [play.steps(Cell(f"plain{n}", each, "", 0, "")) for n, each in enumerate(DAGS)]
    return {task: min(each[task] for each in counted) for task in STEPPED}


def test_every_durable_step_is_seen(steps: dict[str, int], figure: Callable[[str], None]) -> None:
    figure(f"kills on Airflow: {sum(steps.values())} durable steps, {steps}")
    assert sum(steps.values()) >= FEWEST_STEPS


@pytest.mark.parametrize("fault", FAULTS)
def test_killed_tasks_resume_without_duplicates_or_losses(
    fault: str, play: Play, steps: dict[str, int], figure: Callable[[str], None]
) -> None:
    wave = cells(steps, Random(4))[fault]
    began = time.monotonic()
    wrong, reviewed = play.wave(fault, wave)
    seconds = time.monotonic() - began
    ended = f"{len(wrong)} wrong, {reviewed} rows left to review"
    figure(f"kills on Airflow, {fault}: {len(wave)} cells, {ended}, {seconds:.0f} s")
    assert not wrong
