"""Steps of a start: each begins when those it needs are done, and is done when it is healthy."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from stack.processes import StackError

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One thing to bring up.

    `start` returns at once; `ready` is asked again and again and raises when it never will be.
    """

    name: str
    start: Callable[[], object]
    ready: Callable[[], bool]
    after: tuple[str, ...] = ()
    limit: float = 180


class Watcher(Protocol):
    """Who is told of the steps' course."""

    def begin(self, name: str) -> None:
        """Show that a step begins."""

    def done(self, name: str, seconds: float) -> None:
        """Show that a step is done."""

    def tick(self) -> None:
        """Let the display move."""


def climb(
    steps: Sequence[Step],
    *,
    watcher: Watcher,
    pause: Callable[[], None],
    check: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, float]:
    """Bring up all steps, independent ones at once; return the seconds each took.

    `check` raises when something that was up went down, `pause` lets a moment pass. Raises
    StackError that names the step when one fails or outlasts its limit.
    """
    waiting = list(steps)
    begun: dict[str, float] = {}
    took: dict[str, float] = {}
    while len(took) < len(steps):
        pause()
        for step in [s for s in waiting if took.keys() >= set(s.after)]:
            waiting.remove(step)
            begun[step.name] = clock()
            watcher.begin(step.name)
            _named(step, step.start)
        for step in [s for s in steps if s.name in begun and s.name not in took]:
            if _named(step, step.ready):
                took[step.name] = clock() - begun[step.name]
                watcher.done(step.name, took[step.name])
            elif clock() - begun[step.name] > step.limit:
                raise StackError(f"{step.name}: not ready after {step.limit:.0f} s")
        check()
        watcher.tick()
    return took


def _named(step: Step, act: Callable[[], T]) -> T:
    try:
        return act()
    except StackError as error:
        raise StackError(f"{step.name}: {error}") from error
