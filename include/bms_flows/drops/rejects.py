"""The reject file: the refused rows in the drop's own form, with what to mend; it can be dropped again.

Cells go back as they were written, quotes and all, but for those that Excel would run (see
`excel_csv`). A row that lacked cells shows `#MANQUE` in their place, which is refused until someone
fills it in or clears it; cells a row had too many stand behind the report's own.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import openpyxl
from openpyxl.cell import WriteOnlyCell

from bms_flows.drops.reading import tokens
from bms_flows.drops.reading.cells import MISSING
from bms_flows.drops.reading.encoding import decode
from bms_flows.drops.reading.headers import is_report
from bms_flows.drops.reading.proven import remarks
from bms_flows.drops.sheet import REPORT_COLUMNS, Fault, Form
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
    """Copy the header and the rejected rows: values, number formats, column widths."""
    source = openpyxl.load_workbook(io.BytesIO(content), data_only=True)[form.sheet]
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(form.sheet)
    width = len(form.headers)
    ours = [place for place, header in enumerate(form.headers) if is_report(header)]
    copy = partial(_copy, sheet, meant=unescape if ours else unescape_start)
    for letter, dimension in source.column_dimensions.items():
        sheet.column_dimensions[letter].width = dimension.width
    for line, row in enumerate(source.iter_rows(), start=1):
        if line == form.header_line:
            added: Sequence[str] = REPORT_COLUMNS
        elif line in faults:
            added = report_cells(line, faults[line], form)
        else:
            continue
        kept = [copy(cell) for place, cell in enumerate(row[:width]) if place not in ours]
        extra = map(copy, row[width:])
        sheet.append([*kept, *(_text(sheet, cell) for cell in added), *extra])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _copy(sheet: Any, cell: Any, meant: Callable[[str], str]) -> Any:
    """Return a cell of the same value and look; a text stays one, whatever it begins with."""
    if isinstance(cell.value, str) and cell.data_type != "e":
        text = meant(cell.value)
        copied = _text(sheet, text if unescape(text) == text else escape(text))
    else:
        copied = WriteOnlyCell(sheet, cell.value)
    copied.number_format = cell.number_format
    return copied


def _text(sheet: Any, text: str) -> Any:
    copied = WriteOnlyCell(sheet, text)
    if text:
        copied.data_type = "s"  # openpyxl would make a formula of "=…"
        copied.quotePrefix = True
    return copied
