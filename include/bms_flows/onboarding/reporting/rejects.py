"""Reject file: the rejected rows in the format of the drop, with the faults; it can be dropped again.

Cells keep their original text and quotes, except cells that Excel would execute (see `excel_csv`).
Missing cells of a row that is too short become `#MANQUE`, which is rejected until a user replaces or
clears it. Surplus cells follow the report columns; in a workbook, empty ones become `#EN TROP`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from bms_flows.onboarding.faults import Fault, with_column
from bms_flows.onboarding.reading import reject_notes, tokens
from bms_flows.onboarding.reading.cells import MISSING, shown
from bms_flows.onboarding.reading.encoding import decode
from bms_flows.onboarding.reading.parts import (
    GENERAL,
    TEXT,
    ColumnLayout,
    Layout,
    RawCell,
    RawRow,
)
from bms_flows.onboarding.reading.sheet import (
    HINT,
    ORIGINAL,
    REPORT_COLUMNS,
    FileFormat,
    Limits,
    is_report_column,
)
from bms_flows.onboarding.reading.workbook import Book
from bms_flows.onboarding.reading.xlsx_writer import ALL_TEXT, SheetRow, text, xlsx_file
from bms_flows.runtime.excel_csv import csv_file, escape, unescape, unescape_start
from bms_flows.runtime.settings import Language

SURPLUS: Final = "#EN TROP"
"""The text of a workbook for empty surplus cells of a CSV row, until a user deletes it."""

_WIDTHS: Final = {
    "_line": 6,
    "_field": 18,
    "_reason_fr": 50,
    "_reason_en": 40,
    HINT: 50,
    ORIGINAL: 18,
}
"""Widths of the added columns, in characters."""

Faults = Mapping[int, Sequence[Fault]]


@dataclass(frozen=True)
class _Rejected:
    """A rejected row or the header of a CSV: original cells and report columns."""

    cells: Sequence[str]
    added: Sequence[str]
    extra: Sequence[str] = ()


def reject_files(
    content: bytes, form: FileFormat, faults: Faults, language: Language = "FR"
) -> dict[str, bytes]:
    """Return the reject files by suffix; `faults` has the faults of all rejected rows by line.

    Hints are in `language`, reasons in both languages.

    A CSV gives a CSV and a workbook of text cells, which Excel does not reformat. An unreadable file
    gives a CSV with its faults only.
    """
    made = _RejectFile(form, faults, language)
    if form.kind == "xlsx":
        return {".xlsx": made.workbook(content)}
    if form.kind == "csv":
        text, encoding = decode(content)
        _, declaration = tokens.declared(text)
        rows = list(made.csv_rows(text[len(declaration) :]))
        as_csv = declaration + "".join(map(made.csv_line, rows))
        as_texts = xlsx_file("rejected", map(made.text_row, rows), made.text_columns())
        return {".csv": encoding.encode(as_csv), ".xlsx": as_texts}
    rows_of_faults = (
        made.report_cells(fault.line, [fault]) for each in faults.values() for fault in each
    )
    return {".csv": csv_file(REPORT_COLUMNS, rows_of_faults)}


class _RejectFile:
    """The rejected rows of a file, in its format."""

    def __init__(self, form: FileFormat, faults: Faults, language: Language) -> None:
        self.form, self.faults, self.language = form, faults, language
        self.width = len(form.headers)
        reported = [*map(is_report_column, form.headers)]
        self.kept = [place for place, of_report in enumerate(reported) if not of_report]
        # Without report columns the file is not a reject file: apostrophes in cells are content.
        self.unescaped = unescape if any(reported) else unescape_start

    def report_cells(
        self, line: int | None, faults: Sequence[Fault], cells: Sequence[str] = ()
    ) -> list[str]:
        """Return the report columns of a row of `cells`; fields have the names of the drop's headers."""

        def column(fault: Fault) -> str:
            return fault.column or self.form.header(fault.field)

        def reason(fault: Fault, language: Language) -> str:
            return with_column(column(fault), fault.reason(language), language)

        def joined(texts: Iterable[str]) -> str:
            return " | ".join(dict.fromkeys(text for text in texts if text))

        hints = joined(fault.hint(self.language) for fault in faults)
        return [
            "" if line is None else str(line),
            joined(column(fault) for fault in faults),
            joined(reason(fault, "FR") for fault in faults),
            joined(reason(fault, "EN") for fault in faults),
            hints + reject_notes.write_remarks(self.form.inferred),
            self._originals(cells),
        ]

    def _originals(self, cells: Sequence[str]) -> str:
        """Return the `_original` column of a row from its cells as read."""
        earlier: dict[str, str] = {}
        for header, cell in zip(self.form.headers, cells, strict=False):
            if header.strip().casefold() == ORIGINAL:
                earlier |= reject_notes.read_originals(cell)
        fields = zip(self.form.columns, cells, strict=False)
        values = {name: cell.strip() for name, cell in fields if name in self.form.texts}
        return reject_notes.write_originals(values, earlier)

    def csv_rows(self, text: str) -> Iterator[_Rejected]:
        """Yield the header and the rejected rows of a CSV."""
        for line, raw in enumerate(tokens.records(text, self.form.delimiter), start=1):
            faults = self.faults.get(line, ())
            if line == self.form.header_line:
                added: Sequence[str] = REPORT_COLUMNS
            elif line in self.faults:
                added = self.report_cells(line, faults, [*map(self._content, raw)])
            else:
                continue
            cells = [raw[place] for place in self.kept if place < len(raw)]
            missing = MISSING if any(each.code == "cell_count" for each in faults) else ""
            cells += [missing] * (len(self.kept) - len(cells))
            yield _Rejected(cells, added, raw[self.width :])
            if line == self.form.header_line and 0 in self.faults:
                yield _Rejected([""] * len(self.kept), self.report_cells(None, self.faults[0]))

    def _content(self, raw: str) -> str:
        return self.unescaped(tokens.content(raw))

    def csv_line(self, row: _Rejected) -> str:
        """Return a row as a CSV line in the format of the drop."""
        added = (tokens.quoted(escape(cell), self.form.delimiter) for cell in row.added)
        cells = [*map(self._harmless, row.cells), *added, *map(self._harmless, row.extra)]
        return self.form.delimiter.join(cells) + self.form.line_end

    def _harmless(self, raw: str) -> str:
        """Return a cell as written, escaped if Excel would execute it."""
        escaped = escape(self._content(raw))
        if escaped == tokens.unquoted(raw):
            return raw
        return '"{}"'.format(escaped.replace('"', '""')) if '"' in raw else escaped

    def text_columns(self) -> list[ColumnLayout]:
        """Return the layout of a workbook of text cells."""
        first = len(self.kept)
        (every,) = ALL_TEXT
        dropped = [replace(every, last=first - 1)] * (first > 0)
        rest = replace(every, first=first + len(REPORT_COLUMNS))
        return [*dropped, *self._report_columns(code=every.code), rest]

    def _report_columns(self, code: str = GENERAL) -> list[ColumnLayout]:
        """Return the layout of the added columns, wide enough for their sentences."""
        places = enumerate(REPORT_COLUMNS, len(self.kept))
        return [ColumnLayout(place, place, _WIDTHS.get(name), code=code) for place, name in places]

    def text_row(self, row: _Rejected) -> SheetRow:
        """Return a row of text cells for a workbook."""
        added = [text(each, TEXT) for each in row.added]
        extra = [*map(self._text_cell, row.extra)]
        if extra and not any(extra):
            # A workbook shows no empty cell, and the values before it may be one column too far right.
            extra = [text(SURPLUS, TEXT)]
        return SheetRow([*map(self._text_cell, row.cells), *added, *extra])

    def _text_cell(self, raw: str) -> RawCell | None:
        content = self._content(raw)
        too_long = len(content.encode("utf-16-le")) > 2 * Limits().cell_characters
        return text(MISSING if too_long else _escaped(content), TEXT)

    def workbook(self, content: bytes) -> bytes:
        """Copy the header and the rejected rows with values, number formats, widths and hidden rows."""
        book, layout = Book(content, Limits()), Layout()
        sheet = next(each for each in book.sheets if each.name == self.form.sheet)
        rows = book.rows(sheet, layout)
        first = next(rows)  # the layout of the columns precedes the first row
        lines = self._sheet_rows(book, chain([first], rows))
        layouts = [(place, layout.column(column)) for place, column in enumerate(self.kept)]
        columns = [replace(each, first=place, last=place) for place, each in layouts if each]
        columns += self._report_columns()
        return xlsx_file(self.form.sheet, lines, columns, date1904=book.date1904)

    def _sheet_rows(self, book: Book, rows: Iterable[RawRow]) -> Iterator[SheetRow]:
        above = []  # hidden rows above the header
        for row in rows:
            if row.line == self.form.header_line:
                added: Sequence[str] = REPORT_COLUMNS
            elif row.line in self.faults:
                read = [self.unescaped(shown(cell)) for cell in book.cells(row)]
                added = self.report_cells(row.line, self.faults[row.line], read)
            else:
                continue
            cells = [self._copy(row.cells.get(place)) for place in self.kept]
            extra = [
                self._copy(row.cells.get(place)) for place in range(self.width, max(row.cells) + 1)
            ]
            line = SheetRow([*cells, *map(text, added), *extra], row.hidden)
            if row.line < self.form.header_line:
                above.append(line)
                continue
            yield line
            if row.line == self.form.header_line:
                yield from above
                if notes := [*self.faults.get(0, ()), *_hidden_rows(self.faults)]:
                    reasons = map(text, self.report_cells(None, notes))
                    yield SheetRow([*[None] * len(self.kept), *reasons])

    def _copy(self, cell: RawCell | None) -> RawCell | None:
        """Return a cell with the same value and format; a text stays a text, whatever it starts with."""
        if cell is not None and cell.formula and cell.text is None:
            # An empty cell would be read as no value when the file is dropped again.
            return cell._replace(kind="e", text="#N/A")
        if cell is None or cell.kind != "str" or cell.text is None:
            return cell
        return cell._replace(text=_escaped(self.unescaped(cell.text)))


def _escaped(content: str) -> str:
    """Return a text escaped so that reading a reject file returns it unchanged."""
    return content if unescape(content) == content else escape(content)


def _hidden_rows(faults: Faults) -> list[Fault]:
    """Return the fault of the whole file that counts its hidden rows: Excel hides their own reasons."""
    count = sum(any(each.code == "hidden_row" for each in found) for found in faults.values())
    return [Fault("hidden_rows", None, details={"count": count})] if count else []
