"""When files in an inbox are announced to the dispatching DAG. Pure; each announcement starts a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

FIRST: Final = 60.0
"""Seconds until a file is announced again, while it is in the inbox; doubled each time."""
CHANGING: Final = 600.0
"""Longest time until a file that keeps changing is announced again, seconds."""
UNCHANGED: Final = 3600.0
"""The same of a file that stays as it is and isn't taken."""


@dataclass
class _Announced:
    """How a file was when it was announced last, and after how long it is announced again."""

    stamp: str
    at: float
    if_unchanged: float = FIRST
    if_changed: float = FIRST

    def due(self, stamp: str, now: float) -> bool:
        wait = self.if_unchanged if stamp == self.stamp else self.if_changed
        return now - self.at >= wait

    def again(self, stamp: str, now: float) -> None:
        if stamp == self.stamp:
            self.if_unchanged = min(2 * self.if_unchanged, UNCHANGED)
            self.if_changed = FIRST
        else:
            self.if_changed = min(2 * self.if_changed, CHANGING)
            self.if_unchanged = FIRST
        self.stamp, self.at = stamp, now


@dataclass
class Announcements:
    """The files that were announced, by name."""

    _known: dict[str, _Announced] = field(default_factory=dict)

    def due(self, lying: Mapping[str, str], now: float) -> bool:
        """Return whether to announce what is in the inboxes: each file's stamp by its name, at second `now`.

        A new file is announced at once, a changed one at most a minute after the last announcement
        if it was quiet before. One that isn't taken is announced after 1, 2, 4, … minutes, then
        once an hour.
        """
        self._known = {name: each for name, each in self._known.items() if name in lying}
        found = False
        for name, stamp in lying.items():
            known = self._known.get(name)
            if known is None:
                self._known[name] = _Announced(stamp, now)
            elif known.due(stamp, now):
                known.again(stamp, now)
            else:
                continue
            found = True
        return found
