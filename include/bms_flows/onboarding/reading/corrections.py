"""Corrected copy of a dropped file: the same format and cells, except those that a user changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.cell_range import CellRange

from bms_flows.onboarding.reading import tokens
from bms_flows.onboarding.reading.encoding import decode
from bms_flows.onboarding.reading.parts import TEXT, ColumnLayout, Layout, RawCell
from bms_flows.onboarding.reading.sheet import FileFormat, Limits
from bms_flows.onboarding.reading.workbook import Book
from bms_flows.onboarding.reading.xlsx_writer import SheetRow, text, xlsx_file

_GAP: Final = 10_000
"""Empty rows that are repeated, so that later rows keep their lines."""


@dataclass(frozen=True)
class Corrections:
    """New texts of cells by line and column, and of headers by column; a header None removes its column.

    Columns are numbered from 0. A header beyond the last one adds a column.
    """

    cells: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    headers: Mapping[int, str | None] = field(default_factory=dict)

    @property
    def removed(self) -> frozenset[int]:
        """The columns to remove."""
        return frozenset(place for place, header in self.headers.items() if header is None)

    def width(self, form: FileFormat) -> int:
        """Return the number of columns, with those that headers add."""
        return max(len(form.headers), *(place + 1 for place in self.headers), 0)

    def fits(self, form: FileFormat) -> bool:
        """Return whether a file was read, and has or gets the column of each cell."""
        width = self.width(form)
        return form.kind is not None and all(
            place < width for row in self.cells.values() for place in row
        )

    def of_row(self, line: int, form: FileFormat) -> Mapping[int, str]:
        """Return the new texts of a row, which may be the header."""
        if line != form.header_line:
            return self.cells.get(line, {})
        return {place: header for place, header in self.headers.items() if header is not None}


def corrected(content: bytes, form: FileFormat, corrections: Corrections) -> bytes:
    """Return a file with corrections; `form` is the format that `read` found.

    A CSV stays in its encoding if that has the new characters, otherwise it becomes UTF-8.
    """
    if form.kind == "xlsx":
        return _workbook(content, form, corrections)
    whole, encoding = decode(content)
    _, declaration = tokens.declared(whole)
    rows = _csv_rows(whole[len(declaration) :], form, corrections)
    as_csv = declaration + "".join(form.delimiter.join(row) + form.line_end for row in rows)
    try:
        return encoding.mark + as_csv.encode(encoding.codec)
    except UnicodeEncodeError:
        return as_csv.encode("utf-8-sig")


def _csv_rows(whole: str, form: FileFormat, corrections: Corrections) -> Iterator[list[str]]:
    width = corrections.width(form)
    for line, raw in enumerate(tokens.records(whole, form.delimiter), start=1):
        new = corrections.of_row(line, form)
        # A row without corrections may lack a cell anywhere; it gets those of added columns only.
        missing = width - len(form.headers) if not new else width - len(raw)
        row = [*raw, *[""] * missing] if any(cell.strip() for cell in raw) else raw
        for place, cell in new.items():
            row[place] = tokens.quoted(cell, form.delimiter)
        yield [cell for place, cell in enumerate(row) if place not in corrections.removed]


def _workbook(content: bytes, form: FileFormat, corrections: Corrections) -> bytes:
    book, layout = Book(content, Limits()), Layout()
    sheet = next(each for each in book.sheets if each.name == form.sheet)
    rows = book.rows(sheet, layout)
    first = next(rows)  # the layout of the columns precedes the first row

    def place(column: int) -> int:
        return column - sum(each < column for each in corrections.removed)

    def lines() -> Iterator[SheetRow]:
        above = 0
        for row in chain([first], rows):
            yield from [SheetRow([])] * min(row.line - above - 1, _GAP)
            above = row.line
            cells: dict[int, RawCell | None] = {**row.cells}
            for column, new in corrections.of_row(row.line, form).items():
                cells[column] = text(new, TEXT)
            kept = [each for each in range(max(cells) + 1) if each not in corrections.removed]
            yield SheetRow([cells.get(each) for each in kept], row.hidden)

    def merged() -> Iterator[str]:
        for cells, *_ in layout.merged:
            left, top, right, bottom = CellRange(cells).bounds
            columns = {*range(left - 1, right)} - corrections.removed
            filled = (corrections.of_row(line, form).keys() for line in range(top, bottom + 1))
            if columns and all(map(columns.isdisjoint, filled)):
                ends = (get_column_letter(place(each) + 1) for each in (min(columns), max(columns)))
                yield "{}{top}:{}{bottom}".format(*ends, top=top, bottom=bottom)

    # What a user does not see stays hidden, except a column that the user accepts.
    columns = [
        ColumnLayout(place(each), place(each), hidden=True)
        for each in form.own
        if layout.hides(each) and each not in corrections.headers
    ]
    return xlsx_file(form.sheet, lines(), columns, date1904=book.date1904, merged=merged())
