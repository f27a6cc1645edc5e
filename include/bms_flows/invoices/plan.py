"""How a run's days are shared out: units of one entity, each read and loaded by one task; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bms_flows.invoices.window import Window


@dataclass(frozen=True)
class Unit:
    """Windows of one entity that one task reads and loads together, oldest first."""

    id_entity: int
    windows: tuple[Window, ...]
    accepts: int | None = None
    """A suspect load, by its number in `bms.run`, to be published as it is."""

    @property
    def span(self) -> Window:
        """The first to the last day, with what may lie between the windows."""
        return Window(self.windows[0].start, self.windows[-1].end)

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON can hold it; `from_dict` reads it back."""
        windows = [str(window) for window in self.windows]
        return {"id_entity": self.id_entity, "windows": windows, "accepts": self.accepts}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Unit":
        """Read what `as_dict` wrote."""
        windows = tuple(Window.parse(text) for text in given["windows"])
        return cls(given["id_entity"], windows, given.get("accepts"))


def units(entity: int, windows: Sequence[Window], *, unit_days: int) -> list[Unit]:
    """Share an entity's `windows` out into units of at most `unit_days` days, oldest first."""
    groups: list[list[Window]] = []
    for piece in (piece for window in sorted(windows) for piece in window.cut(unit_days)):
        if groups and sum(window.days for window in groups[-1]) + piece.days <= unit_days:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [Unit(entity, tuple(group)) for group in groups]
