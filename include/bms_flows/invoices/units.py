"""How a run's days are shared out: units of one entity, each read and loaded by one task; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from bms_flows.runtime.settings import MAX_MAPPED_TASKS
from bms_flows.runtime.windows import DAY, Window


@dataclass(frozen=True)
class Unit:
    """Windows of one entity that one task reads and loads together, oldest first."""

    id_entity: int
    windows: tuple[Window, ...]
    accepts: int | None = None
    """A suspect load, by its number in `bms.step_run`, to be published as it is on these of its days."""

    @property
    def span(self) -> Window:
        """The first to the last day, with what may lie between the windows."""
        return Window(self.windows[0].start, self.windows[-1].end)

    @property
    def days(self) -> set[date]:
        """The days of all its windows."""
        return {day for window in self.windows for day in window}

    def only(self, days: Iterable[date]) -> "Unit | None":
        """Return the unit with those of its days alone that are among `days`, None where none is."""
        left = self.days.intersection(days)
        starts = sorted(day for day in left if day - DAY not in left)
        ends = sorted(day for day in left if day + DAY not in left)
        windows = tuple(Window(*each) for each in zip(starts, ends, strict=True))
        return replace(self, windows=windows) if windows else None

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON can hold it; `from_dict` reads it back."""
        windows = [str(window) for window in self.windows]
        return {"id_entity": self.id_entity, "windows": windows, "accepts": self.accepts}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Unit":
        """Read what `as_dict` wrote."""
        windows = tuple(Window.parse(text) for text in given["windows"])
        return cls(given["id_entity"], windows, given.get("accepts"))


def split_into_units(entity: int, windows: Sequence[Window], *, unit_days: int) -> list[Unit]:
    """Share an entity's `windows` out into units of at most `unit_days` days, oldest first."""
    groups: list[list[Window]] = []
    for piece in (piece for window in sorted(windows) for piece in window.cut(unit_days)):
        if groups and sum(window.days for window in groups[-1]) + piece.days <= unit_days:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [Unit(entity, tuple(group)) for group in groups]


def limit_units(planned: Sequence[Unit], most: int = MAX_MAPPED_TASKS) -> list[Unit]:
    """Return the units; where there are more than `most`, neighbours of an entity joined.

    Memory is bounded by a request's window, not by a unit: a long one only takes longer. More
    entities than `most` can't be made fewer units.
    """
    fewer = list(planned)
    while len(fewer) > most:
        joined = list(_in_pairs(fewer))
        if len(joined) == len(fewer):
            break
        fewer = joined
    return fewer


def _in_pairs(planned: Sequence[Unit]) -> Iterator[Unit]:
    """Yield the units, each two neighbours of an entity as one; suspect loads stay as they are."""
    waiting: Unit | None = None
    for unit in planned:
        if waiting is None:
            waiting = unit
        elif waiting.id_entity == unit.id_entity and waiting.accepts is unit.accepts is None:
            yield Unit(unit.id_entity, (*waiting.windows, *unit.windows))
            waiting = None
        else:
            yield waiting
            waiting = unit
    if waiting is not None:
        yield waiting
