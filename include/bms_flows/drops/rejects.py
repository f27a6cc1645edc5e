"""The reject file: the refused rows in the drop's own form, with what to mend; it can be dropped again.

Cells go back as they were written, quotes and all, but for those that Excel would run (see
`excel_csv`). A row that lacked cells shows `#MANQUE` in their place, which is refused until someone
fills it in or clears it; cells a row had too many stand behind the report's own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from bms_flows.drops.reading import tokens
from bms_flows.drops.reading.cells import MISSING
from bms_flows.drops.reading.encoding import decode
from bms_flows.drops.reading.headers import is_report
from bms_flows.drops.reading.parts import Layout, RawCell
from bms_flows.drops.reading.proven import remarks
from bms_flows.drops.reading.workbook import Book
from bms_flows.drops.sheet import REPORT_COLUMNS, Fault, Form, Limits
from bms_flows.drops.xlsx import Line, text, xlsx_file
from bms_flows.excel_csv import csv_file, escape, unescape, unescape_start

Faults = Mapping[int, Sequence[Fault]]


def reject_file(content: bytes, form: Form, faults: Faults) -> tuple[str, bytes]:
    """Return the file's ending and content; `faults` by line, the lines of all rejected rows.

    A file that couldn't be read at all is answered with a CSV of its faults alone.
    """
    if form.kind == "xlsx":
        return ".xlsx", _workbook(content, form, faults)
    if form.kind == "csv":
        return ".csv", _csv(content, form, faults)
    found = [fault for each in faults.values() for fault in each]
    rows = (report_cells(fault.line, [fault], form) for fault in found)
    return ".csv", csv_file(REPORT_COLUMNS, rows)


def report_cells(line: int | None, faults: Sequence[Fault], form: Form) -> list[str]:
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
    ]


def _csv(content: bytes, form: Form, faults: Faults) -> bytes:
    text, encoding = decode(content)
    _, declaration = tokens.declared(text)
    mark, width = form.delimiter, len(form.headers)
    ours = [place for place, header in enumerate(form.headers) if is_report(header)]
    # A file without report columns is none of ours: an apostrophe inside a cell is its own.
    harmless = partial(_harmless, meant=unescape if ours else unescape_start)
    lines = [declaration] if declaration else []
    for line, raw in enumerate(tokens.records(text[len(declaration) :], mark), start=1):
        if line == form.header_line:
            added: Sequence[str] = REPORT_COLUMNS
        elif line in faults:
            added = [
                tokens.quoted(escape(cell), mark) for cell in report_cells(line, faults[line], form)
            ]
        else:
            continue
        kept = [cell for place, cell in enumerate(raw[:width]) if place not in ours]
        kept += [MISSING] * (width - len(ours) - len(kept))
        cells = [*map(harmless, kept), *added, *map(harmless, raw[width:])]
        lines.append(mark.join(cells) + form.line_end)
    return encoding.encode("".join(lines))


def _harmless(raw: str, meant: Callable[[str], str]) -> str:
    """Return a cell as written, such that Excel doesn't run it; `meant` reads what it holds."""
    inner = tokens.content(raw)
    if (escaped := escape(meant(inner))) == inner:
        return raw
    return '"{}"'.format(escaped.replace('"', '""')) if raw.startswith('"') else escaped


def _workbook(content: bytes, form: Form, faults: Faults) -> bytes:
    """Copy the header and the rejected rows: values, number formats, widths, what was hidden."""
    book, layout = Book(content, Limits()), Layout()
    sheet = next(each for each in book.sheets if each.name == form.sheet)
    rows = book.rows(sheet, layout)
    first = next(rows)  # what is said of columns stands before it
    width = len(form.headers)
    ours = [place for place, header in enumerate(form.headers) if is_report(header)]
    kept = [place for place in range(width) if place not in ours]
    copy = partial(_copy, meant=unescape if ours else unescape_start)

    def lines() -> Iterator[Line]:
        above = []  # hidden rows may stand above the header
        for row in chain([first], rows):
            if row.line == form.header_line:
                added: Sequence[str] = REPORT_COLUMNS
            elif row.line in faults:
                added = report_cells(row.line, faults[row.line], form)
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

    looks = [(place, layout.look(column)) for place, column in enumerate(kept)]
    columns = [replace(look, first=place, last=place) for place, look in looks if look]
    return xlsx_file(form.sheet, lines(), columns, date1904=book.date1904)


def _copy(cell: RawCell | None, meant: Callable[[str], str]) -> RawCell | None:
    """Return a cell of the same value and look; a text stays one, whatever it begins with."""
    if cell is None or cell.kind != "str" or cell.text is None:
        return cell
    held = meant(cell.text)
    return cell._replace(text=held if unescape(held) == held else escape(held))
