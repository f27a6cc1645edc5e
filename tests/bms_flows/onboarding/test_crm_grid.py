"""The grid on contacts and consultants, each id shape in turn; all of it with `BMS_PROVE=1`."""

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
from tests.bms_flows.onboarding.conftest import Drop
from tests.bms_flows.onboarding.crm import ADDRESSES, SHAPES, TWO

FEWEST_STEPS = 38
"""Durable steps of an undisturbed run; fewer would mean that the grid no longer sees some."""
MOST_STEPS = 50
"""Durable steps of an undisturbed run on a busy machine."""
LATEST_KILL = 22
"""Runs that a fault cuts short have fewer steps than others; up to here all of them are killed."""
KEYS = Counter(ADDRESSES)

BREAKING_BODIES = ("truncated_body", "malformed_json", "slow_body")
"""Faults that need a body to strike."""

Case = tuple[str, str, grid.Cell]


def everything() -> Iterator[Case]:
    """Every cell for both resources; the shapes take turns, so that each meets every fault and step."""
    turns = itertools.cycle(SHAPES)
    for resource in TWO:
        for cell in grid.cells(MOST_STEPS):
            shape = next(turns)
            while shape == "empty" and cell.fault in BREAKING_BODIES:
                shape = next(turns)
            yield resource, shape, cell


def chosen() -> list[Case]:
    """Every cell, or each id shape once, from a fixed seed."""
    if os.environ.get("BMS_PROVE"):
        return list(everything())
    random = Random(5)
    faults = ("malformed_json", "commit_lag", "commit_then_lose_reply", "slow_body", "none")
    return [
        (
            resource,
            shape,
            grid.Cell(fault, random.randint(5, LATEST_KILL), random.choice(grid.RESTARTS)),
        )
        for resource, shape, fault in zip(itertools.cycle(TWO), SHAPES, faults, strict=False)
    ]


@pytest.mark.parametrize("resource", TWO)
def test_every_durable_step_is_seen(
    resource: str, drop: Drop, figure: Callable[[str], None]
) -> None:
    run = drop(TWO[resource], resource)
    # Rows side by side share their commits as they happen to meet: one after the other counts all.
    alone = replace(run, settings=replace(run.settings, create_concurrency=1))
    steps = flows.run(Creation(alone)).points
    figure(f"creation grid, {resource}: {steps} durable steps in a run")
    assert steps >= FEWEST_STEPS


@pytest.mark.parametrize(("resource", "shape", "cell"), chosen(), ids=str)
def test_a_killed_run_resumes_without_duplicates_or_losses(
    resource: str, shape: str, cell: grid.Cell, sandbox: Sandbox, drop: Drop
) -> None:
    result = grid.play(cell, sandbox, drop, TWO[resource], KEYS, resource, created_id=shape)
    assert result.killed or cell.kill_at > LATEST_KILL
    assert result.wrong == ()
    grid.skip_unless_killed(result)
