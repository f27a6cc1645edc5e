"""Line plots as SVG, for pages with light and with dark colours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jinja2 import Environment

PICTURES: Final = Path(__file__).parent.parent / "docs" / "pictures"
TEMPLATE: Final = Path(__file__).with_name("plot.svg.jinja")
LIGHT = ("#1b1f24", "#ffffff", "#dddddd", "#0b6e4f", "#c44536", "#e08e45", "#4062bb", "#7a7a7a")
DARK = ("#e6e9ee", "#161b22", "#3a424d", "#3ecf9b", "#ff7b6b", "#f2a65a", "#8fa8f0", "#a5adb8")
"""Ink, paper, grid, then one colour per line."""
LEFT, TOP, INNER, TALL = 56, 24, 380, 250

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """What an axis counts, where it is marked, and how marks are written."""

    name: str
    marks: Sequence[float]
    form: str = "g"

    def share(self, value: float) -> float:
        """Return the position of a value between the first mark and the last."""
        first, last = self.marks[0], self.marks[-1]
        return min(max((value - first) / (last - first), 0), 1)

    def written(self, mark: float) -> str:
        """Return a mark as text."""
        return f"{mark:{self.form}}"


def plot(across: Axis, upward: Axis, lines: Mapping[str, Points], *, dots: bool = False) -> str:
    """Return the picture of `lines` by their names; with `dots`, each point shows."""
    templates = Environment(autoescape=True, keep_trailing_newline=True)
    templates.filters["round"] = "{:.0f}".format
    return templates.from_string(TEMPLATE.read_text()).render(
        across=across,
        upward=upward,
        lines=lines,
        dots=dots,
        x=lambda value: LEFT + INNER * across.share(value),
        y=lambda value: TOP + TALL * (1 - upward.share(value)),
        light=LIGHT,
        dark=DARK,
        left=LEFT,
        top=TOP,
        inner=INNER,
        tall=TALL,
    )
