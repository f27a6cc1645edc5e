"""Line plots as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PICTURES: Final = Path(__file__).parent.parent / "docs" / "pictures"
LIGHT = ("#1b1f24", "#ffffff", "#dddddd", "#0b6e4f", "#c44536", "#e08e45", "#4062bb", "#7a7a7a")
DARK = ("#e6e9ee", "#161b22", "#3a424d", "#3ecf9b", "#ff7b6b", "#f2a65a", "#8fa8f0", "#a5adb8")
"""Ink, paper, grid, then one colour per line, for readers with light and with dark pages."""
WIDTH, HEIGHT, LEFT, TOP, INNER, TALL = 780, 330, 56, 24, 380, 250

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


def plot(across: Axis, upward: Axis, lines: Mapping[str, Points], *, dots: bool = False) -> str:
    """Return the picture of `lines` by their names; with `dots`, each point shows."""
    parts = [
        _open_svg(),
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="paper"/>',
        f'<text x="{LEFT}" y="14">{upward.name}</text>',
        _centred(LEFT + INNER / 2, TOP + TALL + 40, across.name),
    ]
    for mark in upward.marks:
        y = TOP + TALL * (1 - upward.share(mark))
        parts.append(f'<path d="M{LEFT},{y:.0f}h{INNER}" class="grid"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{mark:{upward.form}}</text>'
        )
    for mark in across.marks:
        x = LEFT + INNER * across.share(mark)
        parts.append(_centred(x, TOP + TALL + 18, f"{mark:{across.form}}"))
    for number, (name, points) in enumerate(lines.items()):
        at = [
            (LEFT + INNER * across.share(x), TOP + TALL * (1 - upward.share(y))) for x, y in points
        ]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in at)
        parts.append(f'<polyline points="{path}" class="line{number}" stroke-width="2"/>')
        if dots:
            parts += [
                f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4" class="dot{number}"/>' for x, y in at
            ]
        y = TOP + 14 + 26 * number
        parts.append(
            f'<path d="M{LEFT + INNER + 18},{y}h16" class="line{number}" stroke-width="3"/>'
        )
        parts.append(f'<text x="{LEFT + INNER + 40}" y="{y + 4}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _open_svg() -> str:
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    )
    dark = f"@media (prefers-color-scheme: dark) {{\n{_style(DARK)}\n}}"
    return f"{opening}\n<style>\n{_style(LIGHT)}\n{dark}\n</style>"


def _style(colours: Sequence[str]) -> str:
    ink, paper, grid, *lines = colours
    rules = [f"text {{fill: {ink}}}", f".paper {{fill: {paper}}}", f".grid {{stroke: {grid}}}"]
    for number, colour in enumerate(lines):
        rules += [
            f".line{number} {{fill: none; stroke: {colour}}}",
            f".dot{number} {{fill: {colour}}}",
        ]
    return " ".join(rules)


def _centred(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{text}</text>'
