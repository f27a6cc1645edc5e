"""Reader of .xlsx workbooks, row by row, without running formulas and within limits."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import Final, TypeVar

from openpyxl.utils import column_index_from_string
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.reading import number_format
from bms_flows.onboarding.reading.cells import Cell, Formatted
from bms_flows.onboarding.reading.package import Attributes, Handler, Package
from bms_flows.onboarding.reading.parts import (
    GENERAL,
    TEXT,
    ColumnLayout,
    Layout,
    RawCell,
    RawRow,
    SheetPart,
    StringsPart,
    Style,
    StylesPart,
    TextHandler,
    WorkbookPart,
    decoded,
    is_on,
    is_true,
)
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.onboarding.reading.tokens import EXCELS_COLUMNS, EXCELS_ROWS

T = TypeVar("T", bound=Handler)

_NOT_SHOWN: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
"""Parts of a number format that are no placeholders: quoted texts, escaped characters, locales."""
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})[0-9]{1,7}")
_MERGED: Final = re.compile(r"[A-Z]{1,3}([0-9]{1,7}):[A-Z]{1,3}([0-9]{1,7})")
_MOST_MERGED: Final = 10_000
_KINDS: Final = {"inlineStr": "str"} | {kind: kind for kind in ("n", "s", "str", "b", "e", "d")}


class RowsPart(TextHandler):
    """The rows of a sheet, for the caller to take out of `rows` as they come."""

    knows = frozenset(
        {"sheetFormatPr", "col", "row", "c", "v", "f", "is", "t", "rPh", "strike", "mergeCell"}
        | {"conditionalFormatting", "cfRule"}
    )

    def __init__(
        self, strings: StringsPart, styles: StylesPart, layout: Layout, limits: Limits
    ) -> None:
        super().__init__(limits)
        self.rows: list[RawRow] = []
        self._strings, self._styles, self._layout = strings, styles.styles, layout
        self._hiding = styles.hiding
        self._conditional = ""
        self._filled = 0
        self._characters = 0
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
        elif name in ("v", "t"):
            self._taking, self._stored = not self._spoken, True
        elif name == "row":
            self._start_row(attributes)
        elif name == "f":
            self._formula = True
        elif name == "rPh":
            self._spoken = True
        elif name == "strike":
            self._style = Style(self._style.code, self._style.struck or is_on(attributes))
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
        self._hidden = is_true(attributes.get("hidden")) or _zero(attributes.get("ht"))
        self._line, self._column, self._cells = line, -1, {}

    def _start_cell(self, attributes: Attributes) -> None:
        column = self._column + 1
        if (reference := attributes.get("r")) is not None:
            found = _REFERENCE.fullmatch(reference)
            column = column_index_from_string(found[1]) - 1 if found else -1
        if column >= EXCELS_COLUMNS:
            raise ReadError("too_big", what="columns", limit=EXCELS_COLUMNS)
        if column <= self._column:
            raise ReadError("bad_workbook", why="cells out of order")
        self._column = column
        self._kind = _KINDS[attributes.get("t", "n")]  # reject files repeat it as markup
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
        elif kind == "str":
            text = None if text is None else decoded(text)
        elif text is not None:
            text = text.strip() or None
        self._characters += len(text or "")
        if self._characters > self.limits.characters:
            raise ReadError("too_big", what="characters", limit=self.limits.characters)
        self._cells[self._column] = RawCell(kind, text, code, self._formula, struck)

    def _place(self, number: str | None) -> int:
        place = int(number or -1)
        if not 0 <= place < len(self._strings.found):
            raise ReadError("bad_workbook", why="unknown text")
        return place

    def _start_layout(self, name: str, attributes: Attributes) -> None:
        if name == "conditionalFormatting":
            self._conditional = attributes.get("sqref", "")
        elif name == "cfRule" and int(attributes.get("dxfId", -1)) in self._hiding:
            self._layout.hidden_by_rule = self._layout.hidden_by_rule or self._conditional
        elif name == "mergeCell":
            if (found := _MERGED.fullmatch(attributes["ref"])) is None:
                raise ReadError("bad_workbook", why="damaged content")
            if len(self._layout.merged) >= _MOST_MERGED:
                raise ReadError("too_big", what="merged cells", limit=_MOST_MERGED)
            self._layout.merged.append((found[0], int(found[1]), int(found[2])))
        elif name == "sheetFormatPr":
            self._layout.hidden_by_default = _zero(attributes.get("defaultColWidth"))
        elif name == "col" and len(self._layout.columns) < EXCELS_COLUMNS:
            hidden = is_true(attributes.get("hidden")) or _zero(attributes.get("width"))
            width = min(max(0.0, float(attributes.get("width", 0))), 255.0)  # as Excel allows
            first, last = int(attributes["min"]) - 1, int(attributes["max"]) - 1
            code = self._style_of(int(attributes.get("style", 0))).code
            self._layout.columns.append(ColumnLayout(first, last, width, hidden, code))

    def _style_of(self, number: int) -> Style:
        return self._styles[number] if 0 <= number < len(self._styles) else Style()


def _zero(attribute: str | None) -> bool:
    return attribute is not None and float(attribute) == 0


class Book:
    """A workbook; every method raises `ReadError` where it can't be read.

    Formulas are not run: their stored values are read.
    """

    def __init__(self, content: bytes, limits: Limits) -> None:
        self._package = Package(content, limits)
        main = self._package.relations("")
        root = next((each.target for each in main.values() if each.kind == "officeDocument"), "")
        if not root.casefold().endswith(".xml"):
            raise ReadError("bad_kind")  # another zip, such as .ods, or a binary workbook (.xlsb)
        self._relations = self._package.relations(root)
        found = WorkbookPart(self._relations)
        self._package.read(root, found)
        if not found.sheets:
            raise ReadError("bad_kind")  # another document, such as .docx
        self.sheets: Sequence[SheetPart] = found.sheets
        self.date1904 = found.date1904
        if len({each.name for each in self.sheets}) < len(self.sheets):
            raise ReadError("bad_workbook", why="duplicate sheets")

    @cached_property
    def _strings(self) -> StringsPart:
        return self._read("sharedStrings", StringsPart(self._package.limits))

    @cached_property
    def _styles(self) -> StylesPart:
        return self._read("styles", StylesPart())

    def _read(self, kind: str, part: T) -> T:
        for each in self._relations.values():
            if each.kind == kind:
                self._package.read(each.target, part)
        return part

    def rows(self, sheet: SheetPart, layout: Layout | None = None) -> Iterator[RawRow]:
        """Yield the rows of a sheet that are not empty; `layout` receives the sheet's layout."""
        limits = self._package.limits
        part = RowsPart(self._strings, self._styles, layout or Layout(), limits)
        for _ in self._package.parse(sheet.part, part):
            yield from part.rows
            part.rows.clear()

    def cells(self, row: RawRow) -> list[Cell]:
        """Return what Excel shows in the cells of a row, up to the last that shows something."""
        found: list[Cell] = []
        for column, raw in row.cells.items():
            cell = self._cell(raw)
            if cell != "":
                found += [""] * (column - len(found))
                found.append(cell)
        return found

    def _cell(self, raw: RawCell) -> Cell:
        if raw.text is None:
            return ReadError("formula_without_value") if raw.formula else ""
        if raw.kind == "e":
            return ReadError("excel_error")
        if raw.kind == "str":
            return self._text(raw.text, raw.code)
        if raw.kind == "b":
            return raw.text in ("1", "true")
        if raw.kind == "d":
            return _iso_date(raw.text)
        return self._number(raw.text, raw.code)

    def _text(self, text: str, code: str) -> Cell:
        if code in (GENERAL, TEXT):
            return text
        found = number_format.text_display(code, text)
        # A format such as ";;;" hides what is there.
        hidden = text.strip() and not (found or "").strip()
        return ReadError("unread_format", format=code) if found is None or hidden else found

    def _number(self, text: str, code: str) -> Cell:
        number = _exact(text)
        if number is None:
            return ReadError("excel_error")
        if code == GENERAL:
            return number
        match number_format.kind(code, Decimal(number)):
            case "date":
                return self._date(number, code)
            case "duration":
                return ReadError("bad_date")
        return Formatted(number, code)

    def _date(self, number: int | Decimal, code: str) -> Cell:
        epoch = MAC_EPOCH if self.date1904 else WINDOWS_EPOCH
        try:
            found: datetime | time = from_excel(float(number), epoch)
        except (OverflowError, ValueError):
            return ReadError("bad_date")
        shows = set(_NOT_SHOWN.sub("", code.casefold()))
        if isinstance(found, datetime) and not {"d", "m", "y"} <= shows:
            return ReadError("partial_date", format=code)
        timed = shows & {*"hs"}
        return found if isinstance(found, time) or timed else datetime.combine(found, time())


def _exact(text: str) -> int | Decimal | None:
    """Return a stored number with the digits that Excel shows; the rest is binary noise."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _FLOAT.fullmatch(text) or not isfinite(number := float(text)):
        return None
    exact = Decimal(f"{number:.15g}")
    return int(exact) if exact == exact.to_integral_value() else exact


def _iso_date(text: str) -> Cell:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return ReadError("bad_date")
