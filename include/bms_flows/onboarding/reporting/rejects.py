"""The reject file: the refused rows in the drop's own form, with what to mend; it can be dropped again.

Cells go back as they were written, quotes and all, but for those that Excel would run (see
`excel_csv`). A row that lacked cells shows `#MANQUE` in their place, which is refused until someone
fills it in or clears it; cells a row had too many stand behind the report's own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from bms_flows.onboarding.reading import originals, tokens
from bms_flows.onboarding.reading.cells import MISSING, shown
from bms_flows.onboarding.reading.column_evidence import remarks
from bms_flows.onboarding.reading.encoding import decode
from bms_flows.onboarding.reading.headers import is_report
from bms_flows.onboarding.reading.parts import TEXT, Layout, RawCell
from bms_flows.onboarding.reading.sheet import ORIGINAL, REPORT_COLUMNS, Fault, Form, Limits
from bms_flows.onboarding.reading.workbook import Book
from bms_flows.onboarding.reporting.xlsx import ALL_TEXT, Line, text, xlsx_file
from bms_flows.runtime.excel_csv import csv_file, escape, unescape, unescape_start

Faults = Mapping[int, Sequence[Fault]]


@dataclass(frozen=True)
class _Rejected:
    """A row of a CSV that goes back, or its header: cells as written, and what the report adds."""

    cells: Sequence[str]
    added: Sequence[str]
    extra: Sequence[str] = ()


def reject_files(content: bytes, form: Form, faults: Faults) -> dict[str, bytes]:
    """Return the answers by their endings; `faults` by line, the lines of all rejected rows.

    A CSV is answered with a CSV and with a workbook of texts, which Excel changes nothing in. A
    file that couldn't be read at all is answered with a CSV of its faults alone.
    """
    if form.kind == "xlsx":
        return {".xlsx": _workbook(content, form, faults)}
    if form.kind == "csv":
        text, encoding = decode(content)
        _, declaration = tokens.declared(text)
        ours = any(map(is_report, form.headers))
        # A file without report columns is none of ours: an apostrophe inside a cell is its own.
        meant = unescape if ours else unescape_start
        rows = list(_rejected(text[len(declaration) :], form, faults, meant))
        as_csv = declaration + "".join(_line(row, form, meant) for row in rows)
        as_texts = (_texts(row, meant) for row in rows)
        return {".csv": encoding.encode(as_csv), ".xlsx": xlsx_file("rejected", as_texts, ALL_TEXT)}
    found = [fault for each in faults.values() for fault in each]
    return {".csv": csv_file(REPORT_COLUMNS, (report_cells(f.line, [f], form) for f in found))}


def report_cells(
    line: int | None, faults: Sequence[Fault], form: Form, noted: str = ""
) -> list[str]:
    """Return what stands in a rejected row's report columns; fields go by the drop's own headers."""
    headers = dict(zip(form.columns, form.headers, strict=True))

    def place(fault: Fault) -> str:
        return fault.column or headers.get(fault.field) or fault.field or ""

    def led(fault: Fault, text: str) -> str:
        return f"{place(fault)} : {text}" if place(fault) else text

    def told(texts: Sequence[str]) -> str:
        return " | ".join(dict.fromkeys(text for text in texts if text))

    return [
        "" if line is None else str(line),
        told([place(fault) for fault in faults]),
        told([led(fault, fault.text_fr) for fault in faults]),
        told([led(fault, fault.text_en) for fault in faults]),
        told([fault.hint for fault in faults]) + remarks(form.proven),
        noted,
    ]


def _rejected(
    text: str, form: Form, faults: Faults, meant: Callable[[str], str]
) -> Iterator[_Rejected]:
    """Yield the header and the rejected rows of a CSV."""
    width = len(form.headers)
    ours = [place for place, header in enumerate(form.headers) if is_report(header)]
    for line, raw in enumerate(tokens.records(text, form.delimiter), start=1):
        if line == form.header_line:
            added: Sequence[str] = REPORT_COLUMNS
        elif line in faults:
            noted = _noted([meant(tokens.content(cell)) for cell in raw], form)
            added = report_cells(line, faults[line], form, noted)
        else:
            continue
        kept = [cell for place, cell in enumerate(raw[:width]) if place not in ours]
        kept += [MISSING] * (width - len(ours) - len(kept))
        yield _Rejected(kept, added, raw[width:])
        if line == form.header_line and 0 in faults:
            blank = [""] * (width - len(ours))
            yield _Rejected(blank, report_cells(None, faults[0], form))


def _noted(cells: Sequence[str], form: Form) -> str:
    """Return what `_original` says of a row, whose cells are given as read."""
    noted: dict[str, str] = {}
    for header, cell in zip(form.headers, cells, strict=False):
        noted |= originals.read(cell) if header.strip().casefold() == ORIGINAL else {}
    fields = zip(form.columns, cells, strict=False)
    values = {name: cell.strip() for name, cell in fields if name in form.texts}
    return originals.note(values, noted)


def _line(row: _Rejected, form: Form, meant: Callable[[str], str]) -> str:
    """Return a row as a line of the drop's own form."""
    harmless = partial(_harmless, meant=meant)
    added = (tokens.quoted(escape(cell), form.delimiter) for cell in row.added)
    cells = [*map(harmless, row.cells), *added, *map(harmless, row.extra)]
    return form.delimiter.join(cells) + form.line_end


def _harmless(raw: str, meant: Callable[[str], str]) -> str:
    """Return a cell as written, such that Excel doesn't run it; `meant` reads what it holds."""
    inner = tokens.content(raw)
    if (escaped := escape(meant(inner))) == inner:
        return raw
    return '"{}"'.format(escaped.replace('"', '""')) if raw.startswith('"') else escaped


def _texts(row: _Rejected, meant: Callable[[str], str]) -> Line:
    """Return a row as one of a workbook, in cells of Excel's format "text"."""

    def cell(raw: str) -> RawCell | None:
        held = meant(tokens.content(raw))
        too_long = len(held.encode("utf-16-le")) > 2 * Limits().cell_characters
        return text(MISSING if too_long else _kept(held), TEXT)

    added = [text(each, TEXT) for each in row.added]
    return Line([*map(cell, row.cells), *added, *map(cell, row.extra)])


def _kept(held: str) -> str:
    """Return a text such that it is read from a file of ours as it is."""
    return held if unescape(held) == held else escape(held)


def _workbook(content: bytes, form: Form, faults: Faults) -> bytes:
    """Copy the header and the rejected rows: values, number formats, widths, what was hidden."""
    book, layout = Book(content, Limits()), Layout()
    sheet = next(each for each in book.sheets if each.name == form.sheet)
    rows = book.rows(sheet, layout)
    first = next(rows)  # what is said of columns stands before it
    width = len(form.headers)
    ours = [place for place, header in enumerate(form.headers) if is_report(header)]
    kept = [place for place in range(width) if place not in ours]
    meant = unescape if ours else unescape_start
    copy = partial(_copy, meant=meant)

    def lines() -> Iterator[Line]:
        above = []  # hidden rows may stand above the header
        for row in chain([first], rows):
            if row.line == form.header_line:
                added: Sequence[str] = REPORT_COLUMNS
            elif row.line in faults:
                noted = _noted([meant(shown(cell)) for cell in book.cells(row)], form)
                added = report_cells(row.line, faults[row.line], form, noted)
            else:
                continue
            cells = [copy(row.cells.get(place)) for place in kept]
            extra = [copy(row.cells.get(place)) for place in range(width, max(row.cells) + 1)]
            line = Line([*cells, *map(text, added), *extra], row.hidden)
            if row.line < form.header_line:
                above.append(line)
                continue
            yield line
            if row.line == form.header_line:
                yield from above
                if 0 in faults:
                    reasons = map(text, report_cells(None, faults[0], form))
                    yield Line([*[None] * len(kept), *reasons])

    looks = [(place, layout.look(column)) for place, column in enumerate(kept)]
    columns = [replace(look, first=place, last=place) for place, look in looks if look]
    return xlsx_file(form.sheet, lines(), columns, date1904=book.date1904)


def _copy(cell: RawCell | None, meant: Callable[[str], str]) -> RawCell | None:
    """Return a cell of the same value and look; a text stays one, whatever it begins with."""
    if cell is None or cell.kind != "str" or cell.text is None:
        return cell
    return cell._replace(text=_kept(meant(cell.text)))
