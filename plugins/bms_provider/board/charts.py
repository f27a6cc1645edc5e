"""SVG charts, rendered on the server: stacked bars, and a gauge.

An SVG contains shapes only, since it stretches to the width of the page. The template adds the axis
labels, the legend and a table of the same values. CSS classes set the colours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import floor, log10

from markupsafe import Markup

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

    @property
    def svg(self) -> Markup:
        """The chart as an SVG element; its description contains the last values."""
        name = f"chart-{next(_names)}"
        return Markup(
            '<svg class="chart" viewBox="0 0 {w:g} {h:g}" preserveAspectRatio="none" role="img" '
            'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{title}</title>'
            '<desc id="{name}-d">{about}</desc>'
            '<path class="grid" d="M0 0.5H{w:g}M0 {half:g}H{w:g}"/>{shapes}'
            '<path class="axis" d="M0 {zero:.2f}H{w:g}"/></svg>'
        ).format(
            w=WIDTH,
            h=HEIGHT,
            half=self._y(self.top / 2),
            zero=min(self._y(0), HEIGHT - 0.5),
            name=name,
            title=self.title,
            about=self._about(),
            shapes=self._bars(),
        )

    @cached_property
    def _columns(self) -> list[tuple[float | None, ...]]:
        return [*zip(*(series.values for series in self.series), strict=True)]

    def _about(self) -> str:
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

    def _y(self, value: float) -> float:
        """Return the y coordinate of a value, from the upper edge."""
        return HEIGHT * (self.top - value) / (self.top - self.floor)

    def _bars(self) -> Markup:
        step = WIDTH / max(len(self.labels), 1)
        width = min(step * 0.8, MAX_BAR_WIDTH)
        shapes = []
        for index, column in enumerate(self._columns):
            stacked = {True: 0.0, False: 0.0}
            for series, value in zip(self.series, column, strict=True):
                if not value:
                    continue
                near = stacked[value > 0]
                stacked[value > 0] = far = near + value
                upper, lower = sorted((self._y(near), self._y(far)))
                shapes.append(
                    Markup('<rect class="fill {}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>')
                    .format(series.kind, (index + 0.5) * step - width / 2, upper, width, lower - upper)
                )  # fmt: skip
            shapes.append(self._tooltip(index, column, step))
        return Markup("").join(shapes)

    def _tooltip(self, index: int, column: Sequence[float | None], step: float) -> Markup:
        """Return an invisible area with the values of a label as its tooltip."""
        values = [
            f"{series.name}: {formatting.chart_value(value)}"
            for series, value in zip(self.series, column, strict=True)
            if value is not None
        ]
        return Markup('<rect class="tooltip" x="{:.2f}" y="0" width="{:.2f}" height="{:g}"><title>{}</title></rect>').format(
            index * step, step, HEIGHT, "\n".join([self.labels[index], *values])
        )  # fmt: skip


def gauge(share: float | None) -> Markup:
    """Return a bar that is filled by `share`, with a CSS class for shares above the limit of 1."""
    if share is None:
        return Markup("")
    filled = max(0.0, min(share, 1.0)) * 100
    return Markup(
        '<svg class="gauge{}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="whole" width="100" height="4"/><rect class="part" width="{:.1f}" height="4"/></svg>'
    ).format(" beyond" if share > 1 else "", filled)


def round_up(value: float) -> float:
    """Return the next round value, for example 120, 25 or 0.4; 1 for a value of 0 or less."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(each * power for each in ROUND_VALUES if each * power >= value * (1 - 1e-9))
