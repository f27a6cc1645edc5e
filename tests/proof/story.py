"""What came of one flow that was disturbed at many points."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.flows import Ending


@dataclass
class Story:
    """What was done, how the disturbed processes ended, and what was wrong afterwards."""

    what: str
    wrong: list[str] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)

    def took(self, point: object, ending: Ending) -> None:
        """Take in how a disturbed process ended: it went on, or failed with an error that may pass."""
        said = ending.text.partition(":")[0].partition(" in ")[
            0
        ]  # not where, that is each time another
        self.endings[f"{ending.kind}, {said}" if said else ending.kind or "went on"] += 1
        if not ending.lawful:
            self.found(point, [f"{ending.code} {ending.kind}: {ending.text[:200]}"])

    def found(self, point: object, wrong: Iterable[str]) -> None:
        """Take in what is wrong afterwards."""
        self.wrong += [f"{point}: {each}" for each in wrong]

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {name}" for name, count in sorted(self.endings.items()))
        return f"{self.what}: {self.endings.total()} times; {ends}; {len(self.wrong)} wrong"
