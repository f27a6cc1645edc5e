"""Generator of the diagrams in docs/pictures, one file per theme, from boxes and arrows."""

from dataclasses import dataclass
from pathlib import Path

PICTURES = Path(__file__).parent.parent / "docs/pictures"
FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif'
THEMES = {
    "light": {
        "text": "#1f2933", "soft": "#5b6b7a", "arrow": "#8494a5",
        "service": ("#f4f7fa", "#c5d0dc"), "step": ("#dbeafe", "#7aa7e9"),
        "store": ("#dcf3e4", "#6fb98a"), "person": ("#fdecd3", "#e0a458"),
    },
    "dark": {
        "text": "#e6edf3", "soft": "#9fb0c0", "arrow": "#71839a",
        "service": ("#1c2530", "#3c4d5f"), "step": ("#16304f", "#3d76b8"),
        "store": ("#16382a", "#3f8a63"), "person": ("#40301a", "#a8773a"),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Box:
    """A box with a title and lines; its kind decides the colour."""

    kind: str
    x: int
    y: int
    width: int
    title: str
    lines: tuple[str, ...] = ()

    @property
    def height(self) -> int:
        """Height for the title and all lines."""
        return 40 + 17 * len(self.lines)


@dataclass(frozen=True)
class Arrow:
    """An arrow along an SVG path, with an optional text at a position."""

    path: str
    text: str = ""
    at: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Diagram:
    """A diagram with its size and description."""

    label: str
    width: int
    height: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


DIAGRAMS = {
    "directions": Diagram(
        "The service is read into the warehouse; a dropped file becomes a plan, an approval and records",
        940, 276,
        (
            Box("service", 16, 72, 150, "The service", ("invoices, contacts,", "consultants,", "employees")),
            Box("step", 226, 20, 150, "Read", ("many requests,", "proven complete")),
            Box("step", 436, 20, 160, "Check", ("implausible days", "are held for review")),
            Box("store", 656, 20, 268, "Warehouse (PostgreSQL)", ("current rows, every version,", "ledger, alarms")),
            Box("step", 226, 158, 150, "Create", ("each row once;", "two checks if unsure")),
            Box("person", 436, 158, 160, "Approve", ("counts, limits,", "no personal data")),
            Box("step", 656, 158, 124, "Plan", ("match, rules,", "rejects")),
            Box("person", 824, 158, 100, "HR file", (".xlsx, .csv", "in an inbox")),
        ),
        (
            Arrow("M166,100 H196 V57 H220"), Arrow("M376,57 H430"), Arrow("M596,57 H650"),
            Arrow("M824,195 H786"), Arrow("M656,195 H602"), Arrow("M436,195 H382"), Arrow("M226,195 H196 V140 H172"),
            Arrow("M718,158 V100", "queries, ledger", (768, 132)),
            Arrow("M718,232 V250 H874 V238", "report per row", (797, 266)),
        ),
    ),
    "settling": Diagram(
        "How a create without a response settles: two checks of the service, then adopted, sent again or reviewed",
        940, 236,
        (
            Box("step", 16, 20, 140, "Check", ("no record of the", "row in the service")),
            Box("step", 206, 20, 140, "Send", ("intent is committed", "before the request")),
            Box("store", 396, 20, 130, "Created", ("response with", "an id")),
            Box("service", 206, 146, 140, "No response", ("timeout, 5xx,", "lost connection")),
            Box("step", 396, 146, 130, "Wait", ("settle time, twice;", "check after each")),
            Box("store", 606, 20, 318, "Adopted", ("a record has the row's key",)),
            Box("step", 606, 92, 318, "Sent again", ("no record in either check",)),
            Box("person", 606, 164, 318, "Review", ("a record resembles the row",)),
        ),
        (
            Arrow("M156,57 H200"), Arrow("M346,57 H390"), Arrow("M276,94 V140"), Arrow("M346,183 H390"),
            Arrow("M526,183 H566 V48 H600"), Arrow("M526,183 H566 V120 H600"), Arrow("M526,183 H600"),
        ),
    ),
}  # fmt: skip
"""Diagrams by file name."""


def svg(diagram: Diagram, theme: str) -> str:
    """Return a diagram in the colours of a theme."""
    colours = THEMES[theme]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {diagram.width} {diagram.height}" role="img" aria-label="{diagram.label}">',
        f"  <style>text {{ font-family: {FONT}; fill: {colours['text']}; text-anchor: middle }} .t {{ font-size: 15px; font-weight: 600 }} .s {{ font-size: 12.5px; fill: {colours['soft']} }}</style>",
        f'  <defs><marker id="m" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="{colours["arrow"]}"/></marker></defs>',
    ]
    for box in diagram.boxes:
        fill, stroke = colours[box.kind]
        middle = box.x + box.width / 2
        lines.append(
            f'  <rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="8" fill="{fill}" stroke="{stroke}"/>'
        )
        lines.append(f'  <text x="{middle}" y="{box.y + 24}" class="t">{box.title}</text>')
        lines.extend(
            f'  <text x="{middle}" y="{box.y + 44 + 17 * number}" class="s">{line}</text>'
            for number, line in enumerate(box.lines)
        )
    for arrow in diagram.arrows:
        lines.append(
            f'  <path d="{arrow.path}" fill="none" stroke="{colours["arrow"]}" stroke-width="1.6" marker-end="url(#m)"/>'
        )
        if arrow.text:
            x, y = arrow.at
            lines.append(f'  <text x="{x}" y="{y}" class="s">{arrow.text}</text>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    for name, diagram in DIAGRAMS.items():
        for theme in THEMES:
            (PICTURES / f"{name}-{theme}.svg").write_text(svg(diagram, theme))
