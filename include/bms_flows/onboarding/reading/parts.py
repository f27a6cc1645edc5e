"""Parts of a workbook: sheets, rows and cells as stored, and parsers of what the sheets share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from openpyxl.styles.numbers import BUILTIN_FORMATS

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.reading.package import Attributes, Handler, Relation
from bms_flows.onboarding.reading.sheet import Limits

GENERAL: Final = "General"
TEXT: Final = "@"
_STYLES: Final = 1 << 16
"""Excel has fewer cell styles and number formats."""
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_SURROGATES: Final = range(0xD800, 0xE000)


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
class ColumnLayout:
    """How the columns from `first` to `last`, counted from 0, are shown."""

    first: int
    last: int
    width: float | None = None
    hidden: bool = False
    code: str = GENERAL


@dataclass
class Layout:
    """The layout of a sheet: columns before its first row, merged cells with their lines after its last."""

    columns: list[ColumnLayout] = field(default_factory=list)
    merged: list[tuple[str, int, int]] = field(default_factory=list)
    hidden_by_rule: str = ""
    """The first cells that a conditional format strikes through or hides."""
    hidden_by_default: bool = False

    def column(self, place: int) -> ColumnLayout | None:
        """Return the layout of the column at `place`, counted from 0, or None if the sheet does not define it."""
        return next((each for each in self.columns if each.first <= place <= each.last), None)

    def hides(self, column: int) -> bool:
        """Return whether Excel hides a column, counted from 0."""
        found = self.column(column)
        return self.hidden_by_default if found is None else found.hidden


class TextHandler(Handler):
    """Collects the text of an element, up to what a cell may hold and one character more."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._most = limits.cell_characters + 1
        self._pieces: list[str] = []
        self._length = 0
        self._taking = False

    def text(self, data: str) -> None:
        """Take a piece of text."""
        if self._taking and self._length < self._most:
            self._pieces.append(data[: self._most - self._length])
            self._length += len(data)

    def _begin(self) -> None:
        self._pieces, self._length, self._taking = [], 0, False

    def _collected(self) -> str:
        return "".join(self._pieces)


class WorkbookPart(Handler):
    """The sheets of the workbook, in their order, and the day that its dates count from."""

    knows = frozenset({"sheet", "workbookPr"})

    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self._relations = relations
        self.sheets: list[SheetPart] = []
        self.date1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Take a sheet, or the workbook's properties."""
        if name == "workbookPr":
            self.date1904 = is_true(attributes.get("date1904"))
            return
        number = next((value for key, value in attributes.items() if key.endswith(" id")), "")
        relation = self._relations.get(number)
        if relation is not None and relation.kind == "worksheet":
            visible = attributes.get("state", "visible") == "visible"
            self.sheets.append(SheetPart(attributes.get("name", ""), relation.target, visible))


class StringsPart(TextHandler):
    """The texts that cells share, in their order."""

    knows = frozenset({"si", "t", "rPh", "strike"})

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.found: list[str] = []
        self.struck: set[int] = set()
        """Places of the texts of which a part is struck through."""
        self._spoken = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin a text, or a run of it; ignore phonetic text."""
        if name == "si":
            self._begin()
            if len(self.found) >= self.limits.cells:
                raise ReadError("too_big", what="texts", limit=self.limits.cells)
        elif name == "strike":
            self.struck |= {len(self.found)} if is_on(attributes) else set()
        elif name == "rPh":
            self._spoken = True
        else:
            self._taking = not self._spoken

    def end(self, name: str) -> None:
        """End what `start` began."""
        self._taking = False
        if name == "si":
            self.found.append(decoded(self._collected()))
        elif name == "rPh":
            self._spoken = False


class StylesPart(Handler):
    """The number format of each cell style, and whether its font is struck through.

    `hiding` are the styles of conditional formats that strike through or hide what a cell holds.
    """

    knows = frozenset({"numFmt", "cellXfs", "xf", "fonts", "font", "strike", "dxfs", "dxf"})

    def __init__(self) -> None:
        self._codes = dict(BUILTIN_FORMATS)
        self._numbers: list[tuple[int, int]] = []
        self._fonts: list[bool] = []
        self._conditional = 0
        self.hiding: set[int] = set()
        self._inside = ""

    def start(self, name: str, attributes: Attributes) -> None:
        """Take a number format, a font, or a style of cells."""
        if max(len(self._numbers), len(self._codes), len(self._fonts)) > _STYLES:
            raise ReadError("too_big", what="styles", limit=_STYLES)
        if name in ("cellXfs", "fonts", "dxfs"):
            self._inside = name
        elif self._inside == "dxfs":
            self._conditional += name == "dxf"
            struck = name == "strike" and is_on(attributes)
            if struck or (name == "numFmt" and not attributes["formatCode"].strip("; ")):
                self.hiding.add(self._conditional - 1)
        elif name == "numFmt":
            self._codes[int(attributes["numFmtId"])] = attributes["formatCode"]
        elif name == "xf" and self._inside == "cellXfs":
            number, font = attributes.get("numFmtId", 0), attributes.get("fontId", 0)
            self._numbers.append((int(number), int(font)))
        elif name == "font" and self._inside == "fonts":
            self._fonts.append(False)
        elif name == "strike" and self._inside == "fonts" and self._fonts:
            self._fonts[-1] = is_on(attributes)

    def end(self, name: str) -> None:
        """End the fonts, or the cells' styles."""
        if name == self._inside:
            self._inside = ""

    @property
    def styles(self) -> Sequence[Style]:
        """The styles by number; a format that Excel's language decides is named by its number."""
        struck = {font for font, is_struck in enumerate(self._fonts) if is_struck}
        return [
            Style(self._codes.get(number, f"[{number}]"), font in struck)
            for number, font in self._numbers
        ]


def is_true(attribute: str | None) -> bool:
    """Return whether an attribute is true, in any form that XML allows."""
    return attribute in ("1", "true", "on")


def is_on(attributes: Attributes) -> bool:
    """Return whether a property of a font applies: it does without a value too."""
    return is_true(attributes.get("val", "1"))


def decoded(text: str) -> str:
    """Return a text without Excel's escape of characters that XML can't hold, `_x0007_`."""

    def char(found: re.Match[str]) -> str:
        number = int(found[1], 16)
        return found[0] if number in _SURROGATES else chr(number)

    return _ESCAPED.sub(char, text) if "_x" in text else text
