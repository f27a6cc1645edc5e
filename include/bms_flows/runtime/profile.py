"""Profile of a load: the few counts that the plausibility checks compare between loads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

import msgspec


class Share(NamedTuple):
    """Rows to which something happened, of the rows to which it could have happened."""

    found: int = 0
    of: int = 0

    def __add__(self, other: object) -> "Share":
        """Return the sum of two shares."""
        if not isinstance(other, Share):
            return NotImplemented
        return Share(self.found + other.found, self.of + other.of)


@dataclass(frozen=True)
class Part:
    """A share of one part of a load: of a response, of a day, or of the whole load."""

    share: Share
    days: frozenset[date] = frozenset()
    """Days to hold if the share is implausible; empty for a mirror."""
    name: str = ""
    """Shown in the finding; empty for the whole load."""


class Level(NamedTuple):
    """Sums over the decimal logarithms of amounts: how many, their sum, the sum of their squares."""

    rows: int = 0
    sum: float = 0.0
    squares: float = 0.0

    def __add__(self, other: object) -> "Level":
        """Return the sums over both."""
        if not isinstance(other, Level):
            return NotImplemented
        return Level(self.rows + other.rows, self.sum + other.sum, self.squares + other.squares)


@dataclass
class Profile:
    """Counts of one load.

    `shares` has the share of the whole load by measure, `parts` those of its parts where a part can
    be implausible alone.
    """

    shares: dict[str, Part] = field(default_factory=dict)
    parts: dict[str, list[Part]] = field(default_factory=dict)
    levels: dict[str, Level] = field(default_factory=dict)
    """Amounts of new rows, by currency."""
    days: dict[date, int] = field(default_factory=dict)
    """Rows of the newest days, when they were read."""
    new_days: frozenset[date] = frozenset()
    """Days of new rows."""
    unknown: dict[str, Share] = field(default_factory=dict)
    """Rows in which a field changed, by field that the interface doesn't describe."""
    volatile: frozenset[str] = frozenset()
    """Unknown fields that change with every response, so they are left out."""

    def add(self, measure: str, found: int, of: int, days: Iterable[date] = ()) -> None:
        """Add the share of the whole load; a share of no rows says nothing."""
        if of > 0:
            self.shares[measure] = Part(Share(min(found, of), of), frozenset(days))

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form, without parts."""
        return {
            "shares": {name: [*part.share] for name, part in self.shares.items()},
            "levels": {name: [*level] for name, level in self.levels.items()},
            "days": {day.isoformat(): rows for day, rows in self.days.items()},
            "unknown": {name: [*share] for name, share in self.unknown.items()},
            "volatile": sorted(self.volatile),
        }


VOLATILE_SHARE = 0.9
VOLATILE_ROWS = 3


def volatile_fields(stored: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the unknown fields to leave out, given the latest stored forms of profiles, latest first.

    A field that changed in nearly all rows of the two latest loads, such as a signed address, would
    make a version of each row in each load. Once left out, a field stays so.
    """
    if not stored:
        return frozenset()

    def changing(profile: Mapping[str, Any]) -> set[str]:
        return {
            name
            for name, (found, of) in profile["unknown"].items()
            if found >= max(VOLATILE_ROWS, VOLATILE_SHARE * of)
        }

    latest = changing(stored[0])
    both = latest & changing(stored[1]) if len(stored) > 1 else set()
    return frozenset(stored[0]["volatile"]) | both


@dataclass(frozen=True)
class StoredProfile:
    """Profile of an earlier load."""

    shares: Mapping[str, Share] = field(default_factory=dict)
    levels: Mapping[str, Level] = field(default_factory=dict)
    days: Mapping[date, int] = field(default_factory=dict)
    read_on: date = date.min
    accepted: Mapping[str, date | None] = field(default_factory=dict)
    """Measures that an operator accepted with the load, with the first day that the acceptance covers."""

    @classmethod
    def of(
        cls, stored: Mapping[str, Any], read_on: date, accepted: Mapping[str, str | None]
    ) -> "StoredProfile":
        """Return the profile that `Profile.as_dict` wrote."""
        return msgspec.convert({**stored, "read_on": read_on, "accepted": accepted}, cls)
