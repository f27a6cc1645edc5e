"""Bar charts of seconds as SVG, light and dark."""

from collections.abc import Sequence
from typing import NamedTuple

SHADES = ("light", "dark")
INK = {"light": "#1b1f24", "dark": "#e6e9ee"}
COLOURS = {
    "light": {"ours": "#0b6e4f", "ceiling": "#a9c5a0", "peer": "#9aa5b1"},
    "dark": {"ours": "#3ecf9b", "ceiling": "#4c6b54", "peer": "#67727e"},
}
WIDTH, LEFT, INNER, STEP, HEAD = 720, 210, 400, 26, 34


class Bar(NamedTuple):
    """What took how long."""

    label: str
    seconds: float
    kind: str


def draw(panels: Sequence[tuple[str, Sequence[Bar]]], shade: str) -> str:
    """Return panels one below the other, each with a separate scale."""
    ink, colours = INK[shade], COLOURS[shade]
    parts = []
    y = 0
    for heading, bars in panels:
        parts.append(f'<text x="10" y="{y + 22}" font-weight="bold" fill="{ink}">{heading}</text>')
        y += HEAD
        longest = max(bar.seconds for bar in bars)
        for bar in bars:
            long = INNER * bar.seconds / longest
            parts += [
                f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end" fill="{ink}">{bar.label}</text>',
                f'<rect x="{LEFT}" y="{y}" width="{long:.1f}" height="19" fill="{colours[bar.kind]}"/>',
                f'<text x="{LEFT + long + 6:.1f}" y="{y + 14}" fill="{ink}">{bar.seconds:.1f} s</text>',
            ]
            y += STEP
        y += 8
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}"'
        ' font-family="sans-serif" font-size="13">'
    )
    return "\n".join([opening, *parts, "</svg>", ""])
