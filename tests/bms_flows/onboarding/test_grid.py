"""A fixed-seed part of the grid: each fault once, each shape of a returned id once; all with `BMS_PROVE=1`."""

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from bms_sandbox.serve import Sandbox
from proofs import flows
from proofs.flows import Creation
from tests.bms_flows.onboarding import grid
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.crm import ADDRESSES, SHAPES, TWO

FILES = {
    "employee": csv("900001;Lefèvre;Aurélie;2026-05-15;", "900002;Martin;Paul;2026-05-15;900001"),
    **TWO,
}
KEYS = {name: Counter(ADDRESSES) for name in TWO} | {"employee": Counter(["900001", "900002"])}

FEWEST_STEPS = {"employee": 36, "contact": 38, "consultant": 38}
"""Durable steps of an undisturbed run; fewer would mean that the grid no longer sees some."""
MOST_STEPS = {"employee": 42, "contact": 50, "consultant": 50}
"""Steps on a busy machine: each renewal of leases adds a commit."""
LATEST_KILL = 22
"""Runs that a fault cuts short have fewer steps than others; up to here all of them are killed."""

BREAKING_BODIES = ("truncated_body", "malformed_json", "slow_body")
"""Faults that need a body to strike."""

Case = tuple[str, str, grid.Cell]
"""A resource, the shape of a returned id, a cell."""


def everything() -> Iterator[Case]:
    """Every cell for each resource; the shapes take turns, so that each meets every fault and step."""
    turns = itertools.cycle(SHAPES)
    for resource in FILES:
        for cell in grid.cells(MOST_STEPS[resource]):
            shape = "" if resource == "employee" else next(turns)
            while shape == "empty" and cell.fault in BREAKING_BODIES:
                shape = next(turns)
            yield resource, shape, cell


def chosen() -> Iterator[Case]:
    """Every cell, or each fault once and each shape once, from fixed seeds."""
    if os.environ.get("BMS_PROVE"):
        yield from everything()
        return
    of_shapes = ("malformed_json", "commit_lag", "commit_then_lose_reply", "slow_body", "none")
    in_turn = zip(itertools.cycle(TWO), SHAPES, of_shapes, strict=False)
    for seed, cases in ((4, (("employee", "", fault) for fault in grid.FAULTS)), (5, in_turn)):
        random = Random(seed)
        for resource, shape, fault in cases:
            step, restart = random.randint(5, LATEST_KILL), random.choice(grid.RESTARTS)
            yield resource, shape, grid.Cell(fault, step, restart)


@pytest.mark.parametrize("resource", FILES)
def test_every_durable_step_is_seen(
    resource: str, drop: Drop, figure: Callable[[str], None]
) -> None:
    run = drop(FILES[resource], resource)
    # Rows side by side share their commits as they happen to meet: one after the other counts all.
    alone = replace(run, settings=replace(run.settings, create_concurrency=1))
    steps = flows.run(Creation(alone)).points
    figure(f"creation grid, {resource}: {steps} durable steps in a run")
    assert steps >= FEWEST_STEPS[resource]


@pytest.mark.parametrize(("resource", "shape", "cell"), [*chosen()], ids=str)
def test_a_killed_run_resumes_without_duplicates_or_losses(
    resource: str, shape: str, cell: grid.Cell, sandbox: Sandbox, drop: Drop
) -> None:
    dialect = {"created_id": shape} if shape else {}
    result = grid.play(cell, sandbox, drop, FILES[resource], KEYS[resource], resource, **dialect)
    assert result.killed or cell.kill_at > LATEST_KILL
    assert result.wrong == ()
    if not result.killed:  # so the tests that pass are as many as the kills
        pytest.skip(f"the run ended before step {cell.kill_at}")
