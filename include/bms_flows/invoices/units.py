"""Units of work: days of one entity that one task fetches and loads; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from typing import Any

from bms_flows.invoices.lookback import windows_of
from bms_flows.runtime.list_id import ListId
from bms_flows.runtime.settings import MAX_MAPPED_TASKS
from bms_flows.runtime.windows import Window


@dataclass(frozen=True)
class Unit:
    """Windows of one entity that one task loads together, oldest first."""

    id_entity: int
    windows: tuple[Window, ...]
    accepts: int | None = None
    """Step run of a held load whose stored responses are published for these days."""

    @property
    def list_id(self) -> ListId:
        """The list that the unit reads."""
        return ListId("client_invoice", self.id_entity)

    @property
    def span(self) -> Window:
        """The first to the last day, gaps between the windows included."""
        return Window(self.windows[0].start, self.windows[-1].end)

    @property
    def days(self) -> set[date]:
        """The days of all windows."""
        return {day for window in self.windows for day in window}

    def only(self, days: Iterable[date]) -> "Unit | None":
        """Return the unit restricted to `days`, None if no day is left."""
        windows = tuple(windows_of(self.days.intersection(days)))
        return replace(self, windows=windows) if windows else None

    def as_dict(self) -> dict[str, object]:
        """Return the unit as JSON values; `from_dict` reads them."""
        windows = [str(window) for window in self.windows]
        return {"id_entity": self.id_entity, "windows": windows, "accepts": self.accepts}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Unit":
        """Return the unit that `as_dict` wrote."""
        windows = tuple(Window.parse(text) for text in given["windows"])
        return cls(given["id_entity"], windows, given.get("accepts"))


def split_into_units(entity: int, windows: Sequence[Window], *, unit_days: int) -> list[Unit]:
    """Split an entity's `windows` into units of at most `unit_days` days, oldest first."""
    groups: list[list[Window]] = []
    for part in (part for window in sorted(windows) for part in window.cut(unit_days)):
        if groups and sum(window.days for window in groups[-1]) + part.days <= unit_days:
            groups[-1].append(part)
        else:
            groups.append([part])
    return [Unit(entity, tuple(group)) for group in groups]


def limit_units(planned: Sequence[Unit], most: int = MAX_MAPPED_TASKS) -> list[Unit]:
    """Join neighbouring units of an entity until at most `most` are left, where possible.

    A long unit only takes longer: the request window bounds memory, not the unit. Units of different
    entities, and held loads, are never joined, so more entities than `most` stay more than `most` units.
    """
    groups = [
        [*each] for _, each in groupby(planned, key=lambda unit: (unit.id_entity, unit.accepts))
    ]
    joined, longest = 1, max(map(len, groups), default=0)
    while joined < longest and sum(-(-len(each) // joined) for each in groups) > most:
        joined *= 2
    return [
        replace(each[n], windows=tuple(w for unit in each[n : n + joined] for w in unit.windows))
        for each in groups
        for n in range(0, len(each), joined)
    ]
