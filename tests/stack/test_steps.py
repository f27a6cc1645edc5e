import itertools
from collections.abc import Callable

import pytest

from stack.processes import StackError
from stack.steps import Step, climb


class Told:
    def __init__(self) -> None:
        self.events: list[str] = []

    def begin(self, name: str) -> None:
        self.events.append(f"begin {name}")

    def done(self, name: str, seconds: float) -> None:
        self.events.append(f"done {name} {seconds:.0f}")

    def tick(self) -> None:
        pass


def nothing() -> None:
    pass


def after_looks(count: int) -> Callable[[], bool]:
    looks = itertools.count(1)
    return lambda: next(looks) >= count


def climbed(*steps: Step, check: Callable[[], None] = nothing) -> list[str]:
    told, clock = Told(), itertools.count()
    climb(steps, watcher=told, pause=nothing, check=check, clock=lambda: next(clock))
    return told.events


def order(events: list[str]) -> list[str]:
    return [" ".join(event.split()[:2]) for event in events]


def test_each_begins_only_when_what_it_needs_is_healthy() -> None:
    events = climbed(
        Step("b", nothing, after_looks(1), after=("a",)), Step("a", nothing, after_looks(5))
    )
    assert order(events) == ["begin a", "done a", "begin b", "done b"]


def test_independent_ones_come_up_together() -> None:
    events = climbed(Step("a", nothing, after_looks(3)), Step("b", nothing, after_looks(2)))
    assert order(events) == ["begin a", "begin b", "done b", "done a"]


def test_what_outlasts_its_limit_is_named() -> None:
    with pytest.raises(StackError, match="slow: not ready after 7 s"):
        climbed(Step("slow", nothing, lambda: False, limit=7))


def test_what_fails_is_named() -> None:
    def fail() -> bool:
        raise StackError("port 80 cannot be had")

    with pytest.raises(StackError, match="api: port 80 cannot be had"):
        climbed(Step("api", nothing, fail))


def test_what_dies_while_others_come_up_ends_the_start() -> None:
    def check() -> None:
        raise StackError("postgresql ended with code 1")

    with pytest.raises(StackError, match="postgresql ended"):
        climbed(Step("a", nothing, after_looks(9)), check=check)
