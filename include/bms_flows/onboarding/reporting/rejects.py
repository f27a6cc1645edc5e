"""Reject file: the rejected rows in the format of the drop, with the faults; it can be dropped again.

The report columns come first: the reason, the cell, the remedy. In a workbook the faulty cells are
coloured and commented. Cells keep their original text and quotes, except cells that Excel would
execute (see `excel_csv`). Missing cells of a row that is too short become `#MANQUE`, which is
rejected until a user replaces or clears it. Surplus cells follow the row; in a workbook, empty ones
become `#EN TROP`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, TypeVar

from openpyxl.utils import get_column_letter

from bms_flows.onboarding.faults import Fault, with_column
from bms_flows.onboarding.reading import reject_notes, tokens
from bms_flows.onboarding.reading.cells import MISSING, shown
from bms_flows.onboarding.reading.encoding import decode
from bms_flows.onboarding.reading.parts import TEXT, ColumnLayout, Layout, RawCell, RawRow
from bms_flows.onboarding.reading.sheet import (
    HINT,
    ORIGINAL,
    REPORT_COLUMNS,
    FileFormat,
    Limits,
)
from bms_flows.onboarding.reading.workbook import Book
from bms_flows.onboarding.reading.xlsx_writer import ALL_TEXT, SheetRow, text, xlsx_file
from bms_flows.runtime.excel_csv import csv_file, escape, unescape, unescape_start
from bms_flows.runtime.settings import Language

SURPLUS: Final = "#EN TROP"
"""The text of a workbook for empty surplus cells of a CSV row, until a user deletes it."""
_WIDTHS: Final = {"_cell": 10, "_line": 6, HINT: 32, "_field": 22, ORIGINAL: 14}
_REASON_WIDTH: Final = 44
_NARROWEST, _WIDEST = 10, 40

Faults = Mapping[int, Sequence[Fault]]
T = TypeVar("T")


@dataclass(frozen=True)
class _Rejected:
    """A rejected row or the header of a CSV: report columns and original cells."""

    added: Sequence[str]
    cells: Sequence[str]
    extra: Sequence[str] = ()
    comments: Mapping[int, str] | None = None


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
        return {".csv": encoding.encode(as_csv), ".xlsx": made.text_workbook(rows)}
    rows_of_faults = (
        made.report_cells(fault.line, 1, [fault]) for each in faults.values() for fault in each
    )
    return {".csv": csv_file(made.columns, rows_of_faults)}


class _RejectFile:
    """The rejected rows of a file, in its format."""

    def __init__(self, form: FileFormat, faults: Faults, language: Language) -> None:
        self.form, self.faults, self.language = form, faults, language
        self.columns = REPORT_COLUMNS[language]
        self.width = len(form.headers)
        self.kept = form.own
        # Without report columns the file is not a reject file: apostrophes in cells are content.
        self.unescaped = unescape_start if len(form.own) == self.width else unescape

    def chosen(
        self, rows: Iterable[tuple[int, T]]
    ) -> Iterator[tuple[T | None, int | None, Sequence[Fault]]]:
        """Yield the header, hidden rows above it, a row for the faults of the file, and the rejected rows, with their lines and faults."""
        above: list[tuple[T, int, Sequence[Fault]]] = []
        for line, row in rows:
            faults = self.faults.get(line, ())
            if line == self.form.header_line:
                yield row, line, faults
                yield from above
                if notes := [*self.faults.get(0, ()), *_hidden_rows(self.faults)]:
                    yield None, None, notes
            elif line in self.faults and line < self.form.header_line:
                above.append((row, line, faults))
            elif line in self.faults:
                yield row, line, faults

    def report_cells(
        self, line: int | None, number: int, faults: Sequence[Fault], cells: Sequence[str] = ()
    ) -> list[str]:
        """Return the report columns of row `number` of `cells`; fields have the names of the drop's headers."""

        def column(fault: Fault) -> str:
            return fault.column or self.form.header(fault.field)

        def reason(fault: Fault, language: Language) -> str:
            return with_column(column(fault), fault.reason(language), language)

        def joined(texts: Iterable[str]) -> str:
            return " | ".join(dict.fromkeys(text for text in texts if text))

        hints = joined(fault.hint(self.language) for fault in faults)
        written = {
            "_reason_fr": joined(reason(fault, "FR") for fault in faults),
            "_reason_en": joined(reason(fault, "EN") for fault in faults),
            "_cell": joined(self._address(fault, number) for fault in faults),
            "_field": joined(column(fault) for fault in faults),
            "_line": "" if line is None else str(line),
            HINT: hints + reject_notes.write_remarks(self.form.inferred),
            ORIGINAL: self._originals(cells),
        }
        return [written[name] for name in self.columns]

    def _place(self, fault: Fault) -> int | None:
        """Return the place of a fault's cell in the reject file; None if it has none."""
        form, place = self.form, -1
        if fault.column in form.headers:
            place = form.headers.index(fault.column)
        elif fault.field in form.columns:
            place = form.columns.index(fault.field)
        return len(self.columns) + self.kept.index(place) if place in self.kept else None

    def _address(self, fault: Fault, number: int) -> str:
        place = self._place(fault)
        row = 1 if fault.line == self.form.header_line else number
        return "" if place is None else f"{get_column_letter(place + 1)}{row}"

    def _comments(self, line: int | None, faults: Sequence[Fault]) -> Mapping[int, str]:
        """Return what is wrong with the cells of a row, by place; faults of headers are those of the header's row."""
        if line == self.form.header_line:
            faults = next(iter(self.faults.values()), ())  # each row has the faults of the header
        found: dict[int, str] = {}
        for fault in faults:
            place = self._place(fault)
            if place is not None and fault.line == line:
                text = f"{fault.reason(self.language)}\n{fault.hint(self.language)}"
                found[place] = f"{found[place]}\n{text}" if place in found else text
        return found

    def _originals(self, cells: Sequence[str]) -> str:
        """Return the `_original` column of a row from its cells as read."""
        earlier: dict[str, str] = {}
        for header, cell in zip(self.form.headers, cells, strict=False):
            if header.strip().casefold() == ORIGINAL:
                earlier |= reject_notes.read_originals(cell)
        fields = zip(self.form.columns, cells, strict=False)
        values = {name: cell.strip() for name, cell in fields if name in self.form.texts}
        return reject_notes.write_originals(values, earlier)

    def _added(
        self, line: int | None, number: int, faults: Sequence[Fault], cells: Sequence[str]
    ) -> Sequence[str]:
        of_header = line == self.form.header_line
        return self.columns if of_header else self.report_cells(line, number, faults, cells)

    def csv_rows(self, text: str) -> Iterator[_Rejected]:
        """Yield the header and the rejected rows of a CSV."""
        records = enumerate(tokens.records(text, self.form.delimiter), start=1)
        for number, (row, line, faults) in enumerate(self.chosen(records), start=1):
            raw = row or []
            added = self._added(line, number, faults, [*map(self._content, raw)])
            cells = [raw[place] for place in self.kept if place < len(raw)]
            missing = MISSING if any(each.code == "cell_count" for each in faults) else ""
            cells += [missing] * (len(self.kept) - len(cells))
            yield _Rejected(added, cells, raw[self.width :], self._comments(line, faults))

    def _content(self, raw: str) -> str:
        return self.unescaped(tokens.content(raw))

    def csv_line(self, row: _Rejected) -> str:
        """Return a row as a CSV line in the format of the drop."""
        added = (tokens.quoted(escape(cell), self.form.delimiter) for cell in row.added)
        cells = [*added, *map(self._harmless, row.cells), *map(self._harmless, row.extra)]
        return self.form.delimiter.join(cells) + self.form.line_end

    def _harmless(self, raw: str) -> str:
        """Return a cell as written, escaped if Excel would execute it."""
        escaped = escape(self._content(raw))
        if escaped == tokens.unquoted(raw):
            return raw
        return '"{}"'.format(escaped.replace('"', '""')) if '"' in raw else escaped

    def text_workbook(self, rows: Iterable[_Rejected]) -> bytes:
        """Return the rows of a CSV as a workbook of text cells."""
        columns = [replace(each, code=TEXT) for each in self._layout()]
        columns.append(replace(ALL_TEXT[0], first=len(columns)))
        return self._written("rejected", map(self._text_row, rows), columns)

    def _text_row(self, row: _Rejected) -> SheetRow:
        extra = [*map(self._text_cell, row.extra)]
        if extra and not any(extra):
            # A workbook shows no empty cell, and the values before it may be one column too far right.
            extra = [text(SURPLUS, TEXT)]
        added = [text(each, TEXT) for each in row.added]
        cells = [*added, *map(self._text_cell, row.cells), *extra]
        return SheetRow(cells, comments=row.comments or {}, wrapped=len(added))

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
        columns = self._layout(layout)
        return self._written(self.form.sheet, lines, columns, date1904=book.date1904)

    def _written(
        self,
        name: str,
        lines: Iterable[SheetRow],
        columns: Sequence[ColumnLayout],
        *,
        date1904: bool = False,
    ) -> bytes:
        frozen = self.columns.index("_cell") + 1
        return xlsx_file(name, lines, columns, date1904=date1904, frozen_columns=frozen)

    def _layout(self, given: Layout | None = None) -> list[ColumnLayout]:
        """Return widths in which reasons and headers are readable; columns of a workbook keep theirs."""
        hidden = {"_field", REPORT_COLUMNS["EN" if self.language == "FR" else "FR"][0]}
        columns = [
            # The reason names the field, and is in one language: the cells to correct come sooner.
            ColumnLayout(place, place, _WIDTHS.get(name, _REASON_WIDTH), hidden=name in hidden)
            for place, name in enumerate(self.columns)
        ]
        for place, column in enumerate(self.kept, start=len(columns)):
            width = min(max(len(self.form.headers[column]) + 2, _NARROWEST), _WIDEST)
            own = given.column(column) if given else None
            own = own or ColumnLayout(place, place)
            columns.append(replace(own, first=place, last=place, width=own.width or width))
        return columns

    def _sheet_rows(self, book: Book, rows: Iterable[RawRow]) -> Iterator[SheetRow]:
        chosen = self.chosen((row.line, row) for row in rows)
        for number, (row, line, faults) in enumerate(chosen, start=1):
            read = [self.unescaped(shown(cell)) for cell in book.cells(row)] if row else []
            added = [*map(text, self._added(line, number, faults, read))]
            raw = row.cells if row else {}
            cells = [self._copy(raw.get(place)) for place in self.kept]
            extra = [
                self._copy(raw.get(place)) for place in range(self.width, max(raw, default=0) + 1)
            ]
            hidden = row is not None and row.hidden
            comments = self._comments(line, faults)
            yield SheetRow([*added, *cells, *extra], hidden, comments, wrapped=len(added))

    def _copy(self, cell: RawCell | None) -> RawCell | None:
        """Return a cell with the same value and format; a text stays a text, whatever it starts with."""
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
