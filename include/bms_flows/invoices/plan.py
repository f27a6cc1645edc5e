"""How a run's days are shared out: units of one entity, each read and loaded by one task; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bms_flows.invoices.window import Window


@dataclass(frozen=True)
class Unit:
    """Windows of one entity that one task reads and loads together, oldest first."""

    id_entity: int
    windows: tuple[Window, ...]

    @property
    def span(self) -> Window:
        """The first to the last day, with what may lie between the windows."""
        return Window(self.windows[0].start, self.windows[-1].end)

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON can hold it; `from_dict` reads it back."""
        return {"id_entity": self.id_entity, "windows": [str(window) for window in self.windows]}

    @classmethod
    def from_dict(cls, given: dict[str, object]) -> "Unit":
        """Read what `as_dict` wrote."""
        windows = given["windows"]
        if not isinstance(windows, list) or not isinstance(given["id_entity"], int):
            raise TypeError("a unit holds id_entity and a list of windows")
        return cls(given["id_entity"], tuple(Window.parse(text) for text in windows))


def units(entities: Iterable[int], windows: Sequence[Window], *, unit_days: int) -> list[Unit]:
    """Share `windows` out: for each entity, units of at most `unit_days` days, oldest first."""
    pieces = [piece for window in sorted(windows) for piece in window.cut(unit_days)]
    groups: list[list[Window]] = []
    for piece in pieces:
        if groups and sum(window.days for window in groups[-1]) + piece.days <= unit_days:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [Unit(entity, tuple(group)) for entity in entities for group in groups]
