"""Stacked bars, as the template `chart.svg` draws them on the server.

An SVG contains shapes only, since it stretches to the width of the page. The page adds the axis labels,
the legend and a table of the same values. CSS classes set the colours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import floor, log10
from typing import NamedTuple

from bms_flows.runtime.settings import Language
from bms_flows.texts import CHARTS
from bms_provider.board import formatting

WIDTH, HEIGHT = 600.0, 120.0
"""Size in SVG coordinates; the style sheet sets the displayed size."""

MAX_BAR_WIDTH = 40.0
"""Maximum width of a bar in SVG coordinates, for charts with few bars."""

ROUND_VALUES = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)

_names = count(1)


@dataclass(frozen=True)
class Series:
    """A value, or None, for each label of the chart; `kind` is the CSS class of the colour."""

    name: str
    values: Sequence[float | None]
    kind: str


class Bar(NamedTuple):
    """A part of a stacked bar, in SVG coordinates."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Chart:
    """Series with common labels, as stacked bars."""

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    language: Language = "EN"

    @cached_property
    def top(self) -> float:
        """Value at the upper edge: the maximum, rounded up."""
        return round_up(max((high for high, _ in self._ranges), default=0))

    @cached_property
    def floor(self) -> float:
        """Value at the lower edge: 0, or the negative minimum, rounded down."""
        lowest = min((low for _, low in self._ranges), default=0)
        return -round_up(-lowest) if lowest < 0 else 0.0

    @property
    def empty(self) -> bool:
        """Whether the chart has no value except 0."""
        return not any(value for series in self.series for value in series.values)

    @property
    def legend(self) -> list[Series]:
        """Series of the legend: those with values, in a chart of several series."""
        found = [series for series in self.series if any(series.values)]
        return found if len(self.series) > 1 else []

    @property
    def rows(self) -> list[tuple[str, Sequence[float | None]]]:
        """The values as table rows, one per label."""
        return [*zip(self.labels, self._columns, strict=True)]

    @cached_property
    def name(self) -> str:
        """Name of the chart, unique on its page."""
        return f"chart-{next(_names)}"

    @cached_property
    def _columns(self) -> list[tuple[float | None, ...]]:
        return [*zip(*(series.values for series in self.series), strict=True)]

    @property
    def about(self) -> str:
        """Description with the last values."""
        first, last = (self.labels[0], self.labels[-1]) if self.labels else ("", "")
        values = ", ".join(
            f"{series.name} {formatting.chart_value(series.values[-1])}"
            for series in self.series
            if series.values and series.values[-1] is not None
        )
        about = CHARTS["about"][self.language]
        return about.format(first=first, last=last, values=values or "\u2013")

    @cached_property
    def _ranges(self) -> list[tuple[float, float]]:
        """Maximum and minimum at each label; bars stack, positive values up and negative values down."""
        columns = [[v for v in column if v is not None] for column in self._columns]
        return [
            (sum(v for v in column if v > 0), sum(v for v in column if v < 0)) for column in columns
        ]

    def y(self, value: float) -> float:
        """Return the y coordinate of a value, from the upper edge."""
        return HEIGHT * (self.top - value) / (self.top - self.floor)

    @property
    def step(self) -> float:
        """Width of a label's part of the chart."""
        return WIDTH / max(len(self.labels), 1)

    def bars(self, index: int) -> Iterator[Bar]:
        """Yield the bars at a label."""
        width = min(self.step * 0.8, MAX_BAR_WIDTH)
        stacked = {True: 0.0, False: 0.0}
        for series, value in zip(self.series, self._columns[index], strict=True):
            if value:
                near = stacked[value > 0]
                stacked[value > 0] = far = near + value
                upper, lower = sorted((self.y(near), self.y(far)))
                left = (index + 0.5) * self.step - width / 2
                yield Bar(series.kind, left, upper, width, lower - upper)


def round_up(value: float) -> float:
    """Return the next round value, for example 120, 25 or 0.4; 1 for a value of 0 or less."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(each * power for each in ROUND_VALUES if each * power >= value * (1 - 1e-9))
