"""A fixed-seed part of the grid; `make prove` plays all of it."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from bms_sandbox.serve import Sandbox
from tests.bms_flows.creation import grid
from tests.bms_flows.creation.conftest import Drop, csv

PEOPLE = csv("900001;Lefèvre;Aurélie;2026-05-15;", "900002;Martin;Paul;2026-05-15;900001")
KEYS = Counter(["900001", "900002"])

FEWEST_STEPS = 34
"""The steps of a run that nothing disturbs; fewer would mean that some are no longer seen."""


def sample(cells: int) -> list[grid.Cell]:
    """Each fault once and more, at steps and with restarts drawn from a fixed seed."""
    random = Random(4)
    faults = [*grid.FAULTS] * (1 + cells // len(grid.FAULTS))
    return [
        grid.Cell(fault, random.randint(5, FEWEST_STEPS), random.choice(grid.RESTARTS))
        for fault in faults[:cells]
    ]


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    grid.warm()


def test_every_durable_step_is_seen(sandbox: Sandbox, drop: Drop) -> None:
    assert grid.count_steps(drop(PEOPLE)) >= FEWEST_STEPS


@pytest.mark.parametrize("cell", sample(18), ids=str)
def test_a_killed_run_goes_on_without_a_double_or_a_loss(
    cell: grid.Cell, sandbox: Sandbox, drop: Drop
) -> None:
    result = grid.play(cell, sandbox, lambda: drop(PEOPLE), KEYS)
    assert result.killed
    assert result.wrong == ()
