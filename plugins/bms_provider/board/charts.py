"""Charts as SVG, drawn by the server: bars that stack, lines, a bar of one figure against its limit.

Shapes only: they stretch to any width, so what is to be read (axes, legend, the table of the same
figures) stands beside them in the page. Colours are classes of the style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import floor, log10
from typing import Literal

from markupsafe import Markup

from bms_provider.board import wording

WIDTH, HEIGHT = 600.0, 120.0
"""Of the drawing's own coordinates; the style sheet says how large it is shown."""

WIDEST = 40.0
"""Of a bar, in the same; a few bars stay bars."""

ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)

_names = count(1)


@dataclass(frozen=True)
class Series:
    """A figure for each place of the chart, None where there is none; `kind` names its colour."""

    name: str
    values: Sequence[float | None]
    kind: str


@dataclass(frozen=True)
class Chart:
    """Series over the same places; `form` is bars (which stack) or lines."""

    title: str
    places: Sequence[str]
    series: Sequence[Series]
    form: Literal["bars", "lines"] = "bars"

    @cached_property
    def top(self) -> float:
        """The figure at the upper edge: the highest, made round."""
        return round_up(max((high for high, _ in self._reach), default=0))

    @cached_property
    def floor(self) -> float:
        """The figure at the lower edge: 0, or the lowest below it, made round."""
        lowest = min((low for _, low in self._reach), default=0)
        return -round_up(-lowest) if lowest < 0 else 0.0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(value for series in self.series for value in series.values)

    @property
    def legend(self) -> list[Series]:
        """The series that a reader has to tell apart."""
        found = [series for series in self.series if any(series.values)]
        return found if len(self.series) > 1 else []

    @property
    def rows(self) -> list[tuple[str, Sequence[float | None]]]:
        """The same figures as a table: a row for each place."""
        return [*zip(self.places, self._columns, strict=True)]

    @property
    def svg(self) -> Markup:
        """The drawing; its description is the place and figure of its last point."""
        shapes = self._bars() if self.form == "bars" else self._lines()
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
            half=self._height(self.top / 2),
            zero=min(self._height(0), HEIGHT - 0.5),
            name=name,
            title=self.title,
            about=self._about(),
            shapes=shapes,
        )

    @cached_property
    def _columns(self) -> list[tuple[float | None, ...]]:
        return [*zip(*(series.values for series in self.series), strict=True)]

    def _about(self) -> str:
        first, last = (self.places[0], self.places[-1]) if self.places else ("", "")
        figures = ", ".join(
            f"{series.name} {wording.figure(series.values[-1])}"
            for series in self.series
            if series.values and series.values[-1] is not None
        )
        return (
            f"From {first} to {last}. Last: {figures or 'none'}. The table below has every figure."
        )

    @cached_property
    def _reach(self) -> list[tuple[float, float]]:
        """How far each place reaches up and down: bars stack, each sign on its own side."""
        columns = [[v for v in column if v is not None] for column in self._columns]
        if self.form == "lines":
            return [(max(column), min(column)) for column in columns if column]
        return [
            (sum(v for v in column if v > 0), sum(v for v in column if v < 0)) for column in columns
        ]

    def _height(self, figure: float) -> float:
        """Return where a figure is drawn, from the upper edge."""
        return HEIGHT * (self.top - figure) / (self.top - self.floor)

    def _bars(self) -> Markup:
        step = WIDTH / max(len(self.places), 1)
        width = min(step * 0.8, WIDEST)
        drawn = []
        for place, column in enumerate(self._columns):
            stacked = {True: 0.0, False: 0.0}
            for series, value in zip(self.series, column, strict=True):
                if not value:
                    continue
                near = stacked[value > 0]
                stacked[value > 0] = far = near + value
                upper, lower = sorted((self._height(near), self._height(far)))
                drawn.append(
                    Markup('<rect class="fill {}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>')
                    .format(series.kind, (place + 0.5) * step - width / 2, upper, width, lower - upper)
                )  # fmt: skip
            drawn.append(self._told(place, column, step))
        return Markup("").join(drawn)

    def _lines(self) -> Markup:
        step = WIDTH / max(len(self.places), 1)
        drawn = []
        for series in self.series:
            path, pen = [], "M"
            for place, value in enumerate(series.values):
                if value is None:
                    pen = "M"
                    continue
                path.append(f"{pen}{(place + 0.5) * step:.2f} {self._height(value):.2f}")
                pen = "L"
            drawn.append(
                Markup('<path class="line {}" d="{}"/>').format(series.kind, "".join(path))
            )
        drawn += [self._told(place, column, step) for place, column in enumerate(self._columns)]
        return Markup("").join(drawn)

    def _told(self, place: int, column: Sequence[float | None], step: float) -> Markup:
        """Return what a pointer that rests on a place is told."""
        figures = [
            f"{series.name}: {wording.figure(value)}"
            for series, value in zip(self.series, column, strict=True)
            if value is not None
        ]
        return Markup('<rect class="told" x="{:.2f}" y="0" width="{:.2f}" height="{:g}"><title>{}</title></rect>').format(
            place * step, step, HEIGHT, "\n".join([self.places[place], *figures])
        )  # fmt: skip


def gauge(share: float | None) -> Markup:
    """Return a bar that is filled by `share` (1 is the limit), marked where it is beyond."""
    if share is None:
        return Markup("")
    filled = max(0.0, min(share, 1.0)) * 100
    return Markup(
        '<svg class="gauge{}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="whole" width="100" height="4"/><rect class="part" width="{:.1f}" height="4"/></svg>'
    ).format(" beyond" if share > 1 else "", filled)


def round_up(figure: float) -> float:
    """Return the next round figure, two digits at most: 120, 25, 0.4; 1 for nothing."""
    if figure <= 0:
        return 1.0
    power = 10.0 ** floor(log10(figure))
    return next(each * power for each in ROUND if each * power >= figure * (1 - 1e-9))
