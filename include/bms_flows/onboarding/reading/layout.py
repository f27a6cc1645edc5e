"""Sheets, rows and cells of a workbook as stored, and the layout of a sheet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

EXCELS_ROWS: Final = 1 << 20
EXCELS_COLUMNS: Final = 1 << 14
GENERAL: Final = "General"
TEXT: Final = "@"


class Style(NamedTuple):
    """A style of cells: its number format, and whether its font is struck through."""

    code: str = GENERAL
    struck: bool = False


class RawCell(NamedTuple):
    """A cell as stored: its type (`n`, `str`, `b`, `e`, `d`), content and number format.

    `text` is None where nothing is stored; `formula` is true if Excel computes the cell; `struck` is
    true if a part of its text is struck through.
    """

    kind: str
    text: str | None
    code: str
    formula: bool
    struck: bool = False


class RawRow(NamedTuple):
    """A row: its line, whether Excel hides it, its cells by column from 0."""

    line: int
    hidden: bool
    cells: Mapping[int, RawCell]

    @property
    def struck(self) -> bool:
        """Whether a filled cell is struck through."""
        return any(cell.struck and (cell.text or "").strip() for cell in self.cells.values())


@dataclass(frozen=True)
class SheetPart:
    """A sheet of a workbook: its name, its part, whether users see it."""

    name: str
    part: str
    visible: bool


@dataclass(frozen=True)
class Columns:
    """How the columns from `first` to `last`, counted from 0, are shown."""

    first: int
    last: int
    width: float | None = None
    hidden: bool = False
    code: str = GENERAL


@dataclass
class Layout:
    """The layout of a sheet: columns before its first row, the first merged cells after its last."""

    columns: list[Columns] = field(default_factory=list)
    merged: str = ""
    hidden_by_rule: str = ""
    """The first cells that a conditional format strikes through or hides."""
    hidden_by_default: bool = False

    def look(self, column: int) -> Columns | None:
        """Return the layout of a column, counted from 0, or None if the sheet does not define it."""
        return next((each for each in self.columns if each.first <= column <= each.last), None)

    def hides(self, column: int) -> bool:
        """Return whether Excel hides a column, counted from 0."""
        found = self.look(column)
        return self.hidden_by_default if found is None else found.hidden
