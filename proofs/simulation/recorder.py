"""Recorder of a simulated run: counts of what happened, and its story on request."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random


@dataclass
class Recorder:
    """Counts over many runs; `story` takes one run's events, a line each, where somebody reads them."""

    counts: Counter[str] = field(default_factory=Counter)
    story: list[str] | None = None

    def note(self, line: str) -> None:
        """Take an event of the story."""
        if self.story is not None:
            self.story.append(line)


Engine = Callable[[int, Recorder], list[str]]
"""Plays the run of a seed; returns the laws that it broke, in words."""


def draws(seed: int) -> Random:
    """Return the one source of chance of a run."""
    return Random(seed)  # noqa: S311 - a simulation
