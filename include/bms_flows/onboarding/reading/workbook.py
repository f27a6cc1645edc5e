"""Reader of .xlsx workbooks, row by row, without running formulas and within limits."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import Final, TypeVar

from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.reading import number_format
from bms_flows.onboarding.reading.cells import Cell, Formatted
from bms_flows.onboarding.reading.package import Package
from bms_flows.onboarding.reading.parts import (
    GENERAL,
    TEXT,
    Layout,
    RawCell,
    RawRow,
    SheetPart,
    StringsPart,
    StylesPart,
    TextHandler,
    WorkbookPart,
)
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.onboarding.reading.sheet_rows import RowsPart

T = TypeVar("T", bound=TextHandler)

_NOT_SHOWN: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
"""Parts of a number format that are no placeholders: quoted texts, escaped characters, locales."""
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


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
        found = WorkbookPart(self._relations, limits)
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
        return self._read("styles", StylesPart(self._package.limits))

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
        return found


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
