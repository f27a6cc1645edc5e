"""Schedule of announcements of inbox files to the dispatching DAG. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

FIRST: Final = 60.0
"""Seconds until the second announcement of a file in the inbox; doubled each time."""
CHANGING: Final = 600.0
"""Maximum interval of a file that keeps changing, in seconds."""
UNCHANGED: Final = 3600.0
"""Maximum interval of an unchanged file that is not claimed, in seconds."""
MANY: Final = 100
"""Files that left the inbox, half of what a dispatch starts, after which the others are announced again."""


@dataclass
class _Announced:
    """Stamp and time of a file's last announcement, and its next intervals."""

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
    """The announced files by name."""

    _known: dict[str, _Announced] = field(default_factory=dict)
    _left: int = 0
    """Files that left since the last announcement."""

    def due(self, files: Mapping[str, str], now: float) -> bool:
        """Return whether to announce what is in the inboxes: each file's stamp by its name, at second `now`.

        A new file is announced at once, a changed one at most a minute after the last announcement
        if it was quiet before. One that isn't taken is announced after 1, 2, 4, … minutes, then
        once an hour, or once `MANY` others have left: a dispatch starts a limited number of drops.
        """
        self._left += len(self._known.keys() - files.keys())
        self._known = {name: each for name, each in self._known.items() if name in files}
        if self._left >= MANY:
            for each in self._known.values():
                each.if_unchanged = FIRST
        found = False
        for name, stamp in files.items():
            known = self._known.get(name)
            if known is None:
                self._known[name] = _Announced(stamp, now)
            elif known.due(stamp, now):
                known.again(stamp, now)
            else:
                continue
            found, self._left = True, 0
        return found
