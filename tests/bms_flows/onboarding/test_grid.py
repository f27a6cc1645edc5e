"""A fixed-seed part of the grid; all of it with `BMS_PROVE=1`."""

import os
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from bms_sandbox.serve import Sandbox
from proofs import flows
from proofs.flows import Creation
from tests.bms_flows.onboarding import grid
from tests.bms_flows.onboarding.conftest import Drop, csv

PEOPLE = csv("900001;Lefèvre;Aurélie;2026-05-15;", "900002;Martin;Paul;2026-05-15;900001")
KEYS = Counter(["900001", "900002"])

FEWEST_STEPS = 36
"""The steps of a run that nothing disturbs; fewer would mean that some are no longer seen."""
MOST_STEPS = 42
"""Steps on a busy machine: each renewal of leases adds a commit."""

LATEST_KILL = 22
"""Runs that a fault cuts short have fewer steps than others; up to here all of them are killed."""


def chosen() -> list[grid.Cell]:
    """Every cell, or each fault once, at steps and with restarts from a fixed seed."""
    if os.environ.get("BMS_PROVE"):
        return list(grid.cells(MOST_STEPS))
    random = Random(4)
    return [
        grid.Cell(fault, random.randint(5, LATEST_KILL), random.choice(grid.RESTARTS))
        for fault in grid.FAULTS
    ]


def test_every_durable_step_is_seen(drop: Drop, figure: Callable[[str], None]) -> None:
    steps = flows.run(Creation(drop(PEOPLE))).points
    figure(f"creation grid: {steps} durable steps in a run")
    assert steps >= FEWEST_STEPS


@pytest.mark.parametrize("cell", chosen(), ids=str)
def test_a_killed_run_resumes_without_duplicates_or_losses(
    cell: grid.Cell, sandbox: Sandbox, drop: Drop
) -> None:
    result = grid.play(cell, sandbox, drop, PEOPLE, KEYS)
    assert result.killed or cell.kill_at > LATEST_KILL
    assert result.wrong == ()
    grid.skip_unless_killed(result)
