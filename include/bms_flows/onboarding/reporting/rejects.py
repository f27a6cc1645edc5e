"""Reject file: the rejected rows in the format of the drop, with the faults; it can be dropped again.

Cells keep their original text and quotes, except cells that Excel would execute (see `excel_csv`).
Missing cells of a row that is too short become `#MANQUE`, which is rejected until a user replaces or
clears it. Surplus cells follow the report columns; in a workbook, empty ones become `#EN TROP`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

from bms_flows.onboarding.faults import Fault, with_column
from bms_flows.onboarding.reading import reject_notes, tokens
from bms_flows.onboarding.reading.cells import MISSING, shown
from bms_flows.onboarding.reading.encoding import decode
from bms_flows.onboarding.reading.parts import TEXT, Layout, RawCell
from bms_flows.onboarding.reading.sheet import (
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
    if form.kind == "xlsx":
        return {".xlsx": _workbook(content, form, faults, language)}
    if form.kind == "csv":
        text, encoding = decode(content)
        _, declaration = tokens.declared(text)
        ours = any(map(is_report_column, form.headers))
        # Without report columns the file is not a reject file: apostrophes in cells are content.
        unescaped = unescape if ours else unescape_start
        found = _rejected(text[len(declaration) :], form, faults, unescaped, language)
        rows = list(found)
        as_csv = declaration + "".join(_line(row, form, unescaped) for row in rows)
        as_texts = (_texts(row, unescaped) for row in rows)
        return {".csv": encoding.encode(as_csv), ".xlsx": xlsx_file("rejected", as_texts, ALL_TEXT)}
    rows_of_faults = (
        report_cells(fault.line, [fault], form, language)
        for each in faults.values()
        for fault in each
    )
    return {".csv": csv_file(REPORT_COLUMNS, rows_of_faults)}


def report_cells(
    line: int | None,
    faults: Sequence[Fault],
    form: FileFormat,
    language: Language,
    originals: str = "",
) -> list[str]:
    """Return the report columns of a rejected row; fields have the names of the drop's headers."""

    def column(fault: Fault) -> str:
        return fault.column or form.header(fault.field)

    def reason(fault: Fault, language: Language) -> str:
        return with_column(column(fault), fault.reason(language), language)

    def joined(texts: Sequence[str]) -> str:
        return " | ".join(dict.fromkeys(text for text in texts if text))

    return [
        "" if line is None else str(line),
        joined([column(fault) for fault in faults]),
        joined([reason(fault, "FR") for fault in faults]),
        joined([reason(fault, "EN") for fault in faults]),
        joined([fault.hint(language) for fault in faults])
        + reject_notes.write_remarks(form.inferred),
        originals,
    ]


def _rejected(
    text: str, form: FileFormat, faults: Faults, unescaped: Callable[[str], str], language: Language
) -> Iterator[_Rejected]:
    """Yield the header and the rejected rows of a CSV."""
    width = len(form.headers)
    ours = [index for index, header in enumerate(form.headers) if is_report_column(header)]
    for line, raw in enumerate(tokens.records(text, form.delimiter), start=1):
        if line == form.header_line:
            added: Sequence[str] = REPORT_COLUMNS
        elif line in faults:
            originals = _originals([unescaped(tokens.content(cell)) for cell in raw], form)
            added = report_cells(line, faults[line], form, language, originals)
        else:
            continue
        kept = [cell for index, cell in enumerate(raw[:width]) if index not in ours]
        missing = MISSING if any(each.code == "cell_count" for each in faults.get(line, ())) else ""
        kept += [missing] * (width - len(ours) - len(kept))
        yield _Rejected(kept, added, raw[width:])
        if line == form.header_line and 0 in faults:
            blank = [""] * (width - len(ours))
            yield _Rejected(blank, report_cells(None, faults[0], form, language))


def _originals(cells: Sequence[str], form: FileFormat) -> str:
    """Return the `_original` column of a row from its cells as read."""
    originals: dict[str, str] = {}
    for header, cell in zip(form.headers, cells, strict=False):
        originals |= (
            reject_notes.read_originals(cell) if header.strip().casefold() == ORIGINAL else {}
        )
    fields = zip(form.columns, cells, strict=False)
    values = {name: cell.strip() for name, cell in fields if name in form.texts}
    return reject_notes.write_originals(values, originals)


def _line(row: _Rejected, form: FileFormat, unescaped: Callable[[str], str]) -> str:
    """Return a row as a CSV line in the format of the drop."""
    harmless = partial(_harmless, unescaped=unescaped)
    added = (tokens.quoted(escape(cell), form.delimiter) for cell in row.added)
    cells = [*map(harmless, row.cells), *added, *map(harmless, row.extra)]
    return form.delimiter.join(cells) + form.line_end


def _harmless(raw: str, unescaped: Callable[[str], str]) -> str:
    """Return a cell as written, escaped if Excel would execute it; `unescaped` decodes the content."""
    escaped = escape(unescaped(tokens.content(raw)))
    if escaped == tokens.unquoted(raw):
        return raw
    return '"{}"'.format(escaped.replace('"', '""')) if '"' in raw else escaped


def _texts(row: _Rejected, unescaped: Callable[[str], str]) -> SheetRow:
    """Return a row of text cells for a workbook."""

    def cell(raw: str) -> RawCell | None:
        content = unescaped(tokens.content(raw))
        too_long = len(content.encode("utf-16-le")) > 2 * Limits().cell_characters
        return text(MISSING if too_long else _escaped(content), TEXT)

    added = [text(each, TEXT) for each in row.added]
    extra = [cell(each) for each in row.extra]
    if extra and not any(extra):
        # A workbook shows no empty cell, and the values before it may be one column too far right.
        extra = [text(SURPLUS, TEXT)]
    return SheetRow([*map(cell, row.cells), *added, *extra])


def _escaped(content: str) -> str:
    """Return a text escaped so that reading a reject file returns it unchanged."""
    return content if unescape(content) == content else escape(content)


def _workbook(content: bytes, form: FileFormat, faults: Faults, language: Language) -> bytes:
    """Copy the header and the rejected rows with values, number formats, widths and hidden rows."""
    book, layout = Book(content, Limits()), Layout()
    sheet = next(each for each in book.sheets if each.name == form.sheet)
    rows = book.rows(sheet, layout)
    first = next(rows)  # the layout of the columns precedes the first row
    width = len(form.headers)
    ours = [index for index, header in enumerate(form.headers) if is_report_column(header)]
    kept = [index for index in range(width) if index not in ours]
    unescaped = unescape if ours else unescape_start
    copy = partial(_copy, unescaped=unescaped)

    def lines() -> Iterator[SheetRow]:
        above = []  # hidden rows above the header
        for row in chain([first], rows):
            if row.line == form.header_line:
                added: Sequence[str] = REPORT_COLUMNS
            elif row.line in faults:
                originals = _originals([unescaped(shown(cell)) for cell in book.cells(row)], form)
                added = report_cells(row.line, faults[row.line], form, language, originals)
            else:
                continue
            cells = [copy(row.cells.get(index)) for index in kept]
            extra = [copy(row.cells.get(index)) for index in range(width, max(row.cells) + 1)]
            line = SheetRow([*cells, *map(text, added), *extra], row.hidden)
            if row.line < form.header_line:
                above.append(line)
                continue
            yield line
            if row.line == form.header_line:
                yield from above
                if notes := [*faults.get(0, ()), *_hidden_rows(faults)]:
                    reasons = map(text, report_cells(None, notes, form, language))
                    yield SheetRow([*[None] * len(kept), *reasons])

    layouts = [(index, layout.column(column)) for index, column in enumerate(kept)]
    columns = [replace(each, first=index, last=index) for index, each in layouts if each]
    return xlsx_file(form.sheet, lines(), columns, date1904=book.date1904)


def _hidden_rows(faults: Faults) -> list[Fault]:
    """Return the fault of the whole file that counts its hidden rows: Excel hides their own reasons."""
    count = sum(any(each.code == "hidden_row" for each in found) for found in faults.values())
    return [Fault("hidden_rows", None, details={"count": count})] if count else []


def _copy(cell: RawCell | None, unescaped: Callable[[str], str]) -> RawCell | None:
    """Return a cell with the same value and format; a text stays a text, whatever it starts with."""
    if cell is not None and cell.formula and cell.text is None:
        # An empty cell would be read as no value when the file is dropped again.
        return cell._replace(kind="e", text="#N/A")
    if cell is None or cell.kind != "str" or cell.text is None:
        return cell
    return cell._replace(text=_escaped(unescaped(cell.text)))
