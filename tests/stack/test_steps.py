import io
import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from stack.processes import StackError
from stack.progress import Progress
from stack.steps import Step, run_steps


def nothing() -> None:
    pass


def ready_after(polls: int) -> Callable[[], bool]:
    count = itertools.count(1)
    return lambda: next(count) >= polls


def events(*steps: Step, check: Callable[[], None] = nothing) -> list[str]:
    """Return "<step> started" and "<step> done" in the order in which they happened."""
    found: list[str] = []

    def recorded(step: Step) -> Step:
        def ready() -> bool:
            done = step.ready()
            if done:
                found.append(f"{step.name} done")
            return done

        return replace(step, start=lambda: found.append(f"{step.name} started"), ready=ready)

    clock = itertools.count()
    run_steps(
        [recorded(step) for step in steps],
        progress=Progress({}, io.StringIO()),
        pause=nothing,
        check=check,
        clock=lambda: next(clock),
    )
    return found


def test_a_step_starts_when_its_dependencies_are_ready() -> None:
    found = events(
        Step("b", nothing, ready_after(1), after=("a",)), Step("a", nothing, ready_after(5))
    )
    assert found == ["a started", "a done", "b started", "b done"]


def test_independent_steps_run_in_parallel() -> None:
    found = events(Step("a", nothing, ready_after(3)), Step("b", nothing, ready_after(2)))
    assert found == ["a started", "b started", "b done", "a done"]


def test_a_step_that_exceeds_its_limit_is_named() -> None:
    with pytest.raises(StackError, match="slow: not ready after 7 s"):
        events(Step("slow", nothing, lambda: False, limit=7))


def test_a_step_that_fails_is_named() -> None:
    def fail() -> bool:
        raise StackError("port 80 is not available")

    with pytest.raises(StackError, match="api: port 80 is not available"):
        events(Step("api", nothing, fail))


def test_a_process_that_exits_during_the_start_ends_the_start() -> None:
    def check() -> None:
        raise StackError("postgresql exited with code 1")

    with pytest.raises(StackError, match="postgresql exited"):
        events(Step("a", nothing, ready_after(9)), check=check)
