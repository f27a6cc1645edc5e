"""Execution of start-up steps in the order of their dependencies, independent ones in parallel."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from stack.processes import StackError
from stack.progress import Progress

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """A step of the start.

    `start` returns at once; `ready` is polled and raises StackError if the step has failed.
    """

    name: str
    start: Callable[[], object]
    ready: Callable[[], bool] = lambda: True
    after: tuple[str, ...] = ()
    limit: float = 600


def run_steps(
    steps: Sequence[Step],
    *,
    progress: Progress,
    pause: Callable[[], None],
    check: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, float]:
    """Run all steps and return the seconds that each took.

    `pause` sleeps between two polls; `check` raises if a started process has exited. Raises
    StackError with the name of a step that fails or exceeds its limit.
    """
    waiting = list(steps)
    started: dict[str, float] = {}
    took: dict[str, float] = {}
    while len(took) < len(steps):
        pause()
        for step in [s for s in waiting if took.keys() >= set(s.after)]:
            waiting.remove(step)
            started[step.name] = clock()
            _with_name(step, step.start)
        for step in [s for s in steps if s.name in started and s.name not in took]:
            if _with_name(step, step.ready):
                took[step.name] = clock() - started[step.name]
            elif clock() - started[step.name] > step.limit:
                raise StackError(f"{step.name}: not ready after {step.limit:.0f} s")
        check()
        progress.update(", ".join(name for name in started if name not in took))
    return took


def _with_name(step: Step, action: Callable[[], T]) -> T:
    """Call an action of a step; prefix the text of its StackError with the step's name."""
    try:
        return action()
    except StackError as error:
        raise StackError(f"{step.name}: {error}") from error
