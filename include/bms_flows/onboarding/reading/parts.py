"""Parsers of workbook parts: sheets, shared strings, number formats, rows."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from openpyxl.styles.numbers import BUILTIN_FORMATS

from bms_flows.onboarding.faults.fault import ReadError
from bms_flows.onboarding.reading.layout import (
    EXCELS_COLUMNS,
    EXCELS_ROWS,
    Columns,
    Layout,
    RawCell,
    RawRow,
    SheetPart,
    Style,
)
from bms_flows.onboarding.reading.package import Attributes, Relation
from bms_flows.onboarding.reading.sheet import Limits

_STYLES: Final = 1 << 16
"""Excel has fewer cell styles and number formats."""
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})[0-9]{1,7}")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_SURROGATES: Final = range(0xD800, 0xE000)


class _Handler:
    """Collects the text of an element, up to what a cell may hold and one character more."""

    knows: frozenset[str] = frozenset()

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._most = limits.cell_characters + 1
        self._pieces: list[str] = []
        self._length = 0
        self._taking = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def text(self, data: str) -> None:
        """Take a piece of text."""
        if self._taking and self._length < self._most:
            self._pieces.append(data[: self._most - self._length])
            self._length += len(data)

    def _begin(self) -> None:
        self._pieces, self._length, self._taking = [], 0, False

    def _collected(self) -> str:
        return "".join(self._pieces)


class WorkbookPart(_Handler):
    """The sheets of the workbook, in their order, and the day that its dates count from."""

    knows = frozenset({"sheet", "workbookPr"})

    def __init__(self, relations: Mapping[str, Relation], limits: Limits) -> None:
        super().__init__(limits)
        self._relations = relations
        self.sheets: list[SheetPart] = []
        self.date1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Take a sheet, or the workbook's properties."""
        if name == "workbookPr":
            self.date1904 = _true(attributes.get("date1904"))
            return
        number = next((value for key, value in attributes.items() if key.endswith(" id")), "")
        relation = self._relations.get(number)
        if relation is not None and relation.kind == "worksheet":
            visible = attributes.get("state", "visible") == "visible"
            self.sheets.append(SheetPart(attributes.get("name", ""), relation.target, visible))


class StringsPart(_Handler):
    """The texts that cells share, in their order."""

    knows = frozenset({"si", "t", "rPh", "strike"})

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.found: list[str] = []
        self.struck: set[int] = set()
        """Places of the texts of which a part is struck through."""
        self._spoken = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin a text, or a run of it; how it is spoken is passed over."""
        if name == "si":
            self._begin()
            if len(self.found) >= self.limits.cells:
                raise ReadError("too_big", what="texts", limit=self.limits.cells)
        elif name == "strike":
            self.struck |= {len(self.found)} if _on(attributes) else set()
        elif name == "rPh":
            self._spoken = True
        else:
            self._taking = not self._spoken

    def end(self, name: str) -> None:
        """End what `start` began."""
        self._taking = False
        if name == "si":
            self.found.append(_decoded(self._collected()))
        elif name == "rPh":
            self._spoken = False


class StylesPart(_Handler):
    """The number format of each cell style, and whether its font is struck through."""

    knows = frozenset({"numFmt", "cellXfs", "xf", "fonts", "font", "strike"})

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._codes = dict(BUILTIN_FORMATS)
        self._numbers: list[tuple[int, int]] = []
        self._fonts: list[bool] = []
        self._inside = ""

    def start(self, name: str, attributes: Attributes) -> None:
        """Take a number format, a font, or a style of cells."""
        if max(len(self._numbers), len(self._codes), len(self._fonts)) > _STYLES:
            raise ReadError("too_big", what="styles", limit=_STYLES)
        if name in ("cellXfs", "fonts"):
            self._inside = name
        elif name == "numFmt":
            self._codes[int(attributes["numFmtId"])] = attributes["formatCode"]
        elif name == "xf" and self._inside == "cellXfs":
            number, font = attributes.get("numFmtId", 0), attributes.get("fontId", 0)
            self._numbers.append((int(number), int(font)))
        elif name == "font" and self._inside == "fonts":
            self._fonts.append(False)
        elif name == "strike" and self._inside == "fonts" and self._fonts:
            self._fonts[-1] = _on(attributes)

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


class RowsPart(_Handler):
    """The rows of a sheet, for the caller to take out of `rows` as they come."""

    knows = frozenset(
        {"sheetFormatPr", "col", "row", "c", "v", "f", "is", "t", "rPh", "strike", "mergeCell"}
    )

    def __init__(
        self, strings: StringsPart, styles: Sequence[Style], layout: Layout, limits: Limits
    ) -> None:
        super().__init__(limits)
        self.rows: list[RawRow] = []
        self._strings, self._styles, self._layout = strings, styles, layout
        self._filled = 0
        self._line = 0
        self._hidden = False
        self._cells: dict[int, RawCell] = {}
        self._column = -1
        self._kind = "n"
        self._style = Style()
        self._formula = False
        self._stored = False
        self._spoken = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin a row, a cell or what it holds."""
        if name == "c":
            self._start_cell(attributes)
        elif name == "v":
            self._taking = self._stored = True
        elif name == "t":
            self._taking = not self._spoken
            self._stored = True
        elif name == "row":
            self._start_row(attributes)
        elif name == "f":
            self._formula = True
        elif name == "rPh":
            self._spoken = True
        elif name == "strike":
            self._style = Style(self._style.code, self._style.struck or _on(attributes))
        else:
            self._start_layout(name, attributes)

    def end(self, name: str) -> None:
        """End what `start` began."""
        self._taking = False
        if name == "c":
            self._end_cell()
        elif name == "row" and self._cells:
            self.rows.append(RawRow(self._line, self._hidden, self._cells))
        elif name == "rPh":
            self._spoken = False

    def _start_row(self, attributes: Attributes) -> None:
        line = int(attributes.get("r", self._line + 1))
        if line > EXCELS_ROWS:
            raise ReadError("too_big", what="rows", limit=EXCELS_ROWS)
        if line <= self._line:
            raise ReadError("bad_workbook", why="rows out of order")
        self._hidden = _true(attributes.get("hidden")) or _zero(attributes.get("ht"))
        self._line, self._column, self._cells = line, -1, {}

    def _start_cell(self, attributes: Attributes) -> None:
        column = self._column + 1
        if (reference := attributes.get("r")) is not None:
            found = _REFERENCE.fullmatch(reference)
            column = _column(found[1]) if found else -1
        if column >= EXCELS_COLUMNS:
            raise ReadError("too_big", what="columns", limit=EXCELS_COLUMNS)
        if column <= self._column:
            raise ReadError("bad_workbook", why="cells out of order")
        self._column = column
        self._kind = attributes.get("t", "n")
        self._style = self._style_of(int(attributes.get("s", 0)))
        self._formula = self._stored = False
        self._begin()

    def _end_cell(self) -> None:
        if not (self._stored or self._formula):
            return
        self._filled += 1
        if self._filled > self.limits.cells:
            raise ReadError("too_big", what="cells", limit=self.limits.cells)
        text = self._collected() if self._stored else None
        kind, (code, struck) = self._kind, self._style
        if kind == "s":
            place = self._place(text)
            text, kind = self._strings.found[place], "str"
            struck = struck or place in self._strings.struck
        elif kind in ("str", "inlineStr"):
            text, kind = (None if text is None else _decoded(text)), "str"
        elif text is not None:
            text = text.strip() or None
        self._cells[self._column] = RawCell(kind, text, code, self._formula, struck)

    def _place(self, number: str | None) -> int:
        place = int(number or -1)
        if not 0 <= place < len(self._strings.found):
            raise ReadError("bad_workbook", why="unknown text")
        return place

    def _start_layout(self, name: str, attributes: Attributes) -> None:
        if name == "mergeCell":
            self._layout.merged = self._layout.merged or attributes["ref"]
        elif name == "sheetFormatPr":
            self._layout.hidden_by_default = _zero(attributes.get("defaultColWidth"))
        elif name == "col" and len(self._layout.columns) < EXCELS_COLUMNS:
            hidden = _true(attributes.get("hidden")) or _zero(attributes.get("width"))
            width = float(attributes["width"]) if "width" in attributes else None
            first, last = int(attributes["min"]) - 1, int(attributes["max"]) - 1
            code = self._style_of(int(attributes.get("style", 0))).code
            self._layout.columns.append(Columns(first, last, width, hidden, code))

    def _style_of(self, number: int) -> Style:
        return self._styles[number] if 0 <= number < len(self._styles) else Style()


def _true(attribute: str | None) -> bool:
    return attribute in ("1", "true", "on")


def _on(attributes: Attributes) -> bool:
    """Return whether a property of a font applies: it does without a value too."""
    return _true(attributes.get("val", "1"))


def _zero(attribute: str | None) -> bool:
    return attribute is not None and float(attribute) == 0


def _column(letters: str) -> int:
    """Return the place of a column, A the first, counted from 0."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _decoded(text: str) -> str:
    """Return a text without Excel's escape of characters that XML can't hold, `_x0007_`."""

    def char(found: re.Match[str]) -> str:
        number = int(found[1], 16)
        return found[0] if number in _SURROGATES else chr(number)

    return _ESCAPED.sub(char, text) if "_x" in text else text
