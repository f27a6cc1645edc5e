"""Raw table of a file: cells in rows below a header, before parsing."""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bms_flows.onboarding.faults import Fault, ReadError
from bms_flows.onboarding.reading import cells, left_out, reject_notes, tokens
from bms_flows.onboarding.reading.cells import Cell
from bms_flows.onboarding.reading.encoding import CP1252, BadEncoding, decode
from bms_flows.onboarding.reading.header import (
    ROWS,
    check_inbox,
    header_columns,
    known_headers,
    place_of_header,
)
from bms_flows.onboarding.reading.parts import Layout
from bms_flows.onboarding.reading.sheet import (
    HINT,
    ORIGINAL,
    FileFormat,
    Limits,
    is_report_column,
)
from bms_flows.onboarding.reading.sheets import sheet_of_rows
from bms_flows.onboarding.reading.workbook import Book
from bms_flows.onboarding.resources.description import Resource
from bms_flows.runtime.excel_csv import unescape, unescape_start

WORKBOOK: Final = b"PK\x03\x04"
OLD_WORKBOOK: Final = b"\xd0\xcf\x11\xe0"
READABLE: Final = (".csv", ".tsv", ".txt", ".xlsx", ".xlsm")
_TELLING: Final = 3
_BLOCK: Final = 16
"""Rows that Excel writes into a CSV at a time."""
_REFERENCE: Final = 30
"""Characters of a cell range that a fault shows."""

Records = Sequence[tuple[int, Sequence[Cell]]]
"""Rows with their lines, as Excel numbers them."""


@dataclass(frozen=True)
class Table:
    """The rows below a header.

    `hidden` are the lines that Excel doesn't show, `struck` those with a struck text. `unnamed` are
    the columns without a header. `delimiters` are those that another row inside of a cell would
    have. `carried` is what a reject file stores about its original file. `notes` are what is left
    out: titles above the header, repeated headers, totals, columns without a field. `number` is
    that of the sheet, `sheets` are the other ones by number, with the first rows of those without a header.
    """

    form: FileFormat
    records: Records
    faults: Sequence[Fault]
    unnamed: Sequence[int]
    delimiters: Sequence[str] = ()
    hidden: Collection[int] = frozenset()
    struck: Collection[int] = frozenset()
    notes: Sequence[Fault] = ()
    number: int = 1
    sheets: Mapping[int, Sequence[Sequence[Cell]]] = dataclasses.field(default_factory=dict)

    @cached_property
    def carried(self) -> Mapping[str, str]:
        """Facts about the original file, stored in the rows of a reject file: decimal marks, encoding."""
        places = self._places(HINT)
        return reject_notes.read_remarks(
            cells.shown(record[place])
            for _, record in self.records
            for place in places
            if place < len(record)
        )

    @property
    def western(self) -> bool:
        """Whether the file was read as Windows-1252, now or before it was rejected."""
        return CP1252.name in (self.form.encoding, self.carried.get("encoding"))

    def originals(self, record: Sequence[Cell]) -> Mapping[str, str]:
        """Return the values that a row of a reject file had before Excel could change them."""
        found: dict[str, str] = {}
        for place in self._places(ORIGINAL):
            found |= reject_notes.read_originals(cells.shown(record[place]))
        return found

    def swallows(self, cell: str) -> bool:
        """Return whether a cell holds other rows."""
        # With two columns any sentence looks like a row.
        width = len(self.form.own)
        return width >= _TELLING and any(
            line.count(delimiter) >= width - 1
            for line in cell.splitlines()[1:]
            for delimiter in self.delimiters
        )

    def _places(self, column: str) -> Sequence[int]:
        titles = [header.strip().casefold() for header in self.form.headers]
        return [place for place, title in enumerate(titles) if title == column]


def table(content: bytes, name: str, resource: Resource, limits: Limits) -> Table:
    """Read the table of a file; its content decides on its format. Raises `ReadError`."""
    if len(content) > limits.bytes:
        raise ReadError("too_big", what="bytes", limit=limits.bytes)
    if content.startswith(OLD_WORKBOOK) or not name.casefold().endswith(READABLE):
        raise ReadError("bad_kind")
    if content.startswith(WORKBOOK):
        return _of_workbook(Book(content, limits), resource, limits)
    return _of_csv(content, name, resource, limits)


def _of_csv(content: bytes, name: str, resource: Resource, limits: Limits) -> Table:
    try:
        text, encoding = decode(content)
    except BadEncoding:
        workbook = name.casefold().endswith((".xlsx", ".xlsm"))
        raise ReadError("bad_kind" if workbook else "bad_encoding") from None
    delimiter, declaration = tokens.declared(text)
    delimiter = delimiter or _delimiter(text, resource)
    records: list[tuple[int, Sequence[Cell]]] = []
    try:
        # Excel doesn't show the line that declares the delimiter, and doesn't count it.
        for line, raw in enumerate(tokens.records(text[len(declaration) :], delimiter), start=1):
            record = [tokens.content(cell) for cell in raw]
            if not all(map(cells.is_blank, record)):
                records.append((line, record))
                _check_size(records, limits)
    except tokens.BadQuoting as bad:
        raise ReadError("bad_quoting", line=bad.record) from None
    form = FileFormat("csv", encoding.name, delimiter, tokens.line_end(text))
    header = _header(records, resource)
    return _below_header(form, _padded(records, len(header[1])), header, resource, limits)


def _padded(records: Records, width: int) -> Records:
    """Give the cells back that Excel leaves out of a CSV: empty last columns, for a block of rows.

    Other short rows may have lost a cell in the middle, and stay short.
    """
    padded: list[tuple[int, Sequence[Cell]]] = []
    for _, group in itertools.groupby(records, key=lambda each: (each[0] - 1) // _BLOCK):
        block = list(group)
        lengths = {len(record) for _, record in block}
        missing = width - min(lengths) if len(lengths) == 1 < len(block) else 0
        padded += [(line, [*record, *[""] * missing]) for line, record in block]
    return padded


def _of_workbook(book: Book, resource: Resource, limits: Limits) -> Table:
    sheet, number, sheets = sheet_of_rows(book, resource)
    layout = Layout()
    records: list[tuple[int, Sequence[Cell]]] = []
    hidden: set[int] = set()
    struck: set[int] = set()
    for row in book.rows(sheet, layout):
        if record := book.cells(row):
            records.append((row.line, record))
            _check_size(records, limits)
            hidden |= {row.line} if row.hidden else set()
            struck |= {row.line} if row.struck else set()
    if layout.hidden_by_rule:  # which rows are struck through is known to Excel only
        raise ReadError("hidden_by_rule", cells=layout.hidden_by_rule[:_REFERENCE])
    header = _header([each for each in records if each[0] not in hidden], resource)
    width = len(header[1])
    padded = [(line, [*record, *[""] * (width - len(record))]) for line, record in records]
    form = FileFormat("xlsx", sheet=sheet.name)
    found = _below_header(form, padded, header, resource, limits, hidden)
    faults = [*found.faults, *_hidden_columns(found, layout), *_merged_cells(found, layout)]
    others = ", ".join(map(str, sheets))
    left_out = [Fault("sheets_left_out", None, details={"sheets": others})] if others else []
    found = dataclasses.replace(found, notes=[*found.notes, *left_out], faults=faults)
    return dataclasses.replace(found, struck=struck, number=number, sheets=sheets)


def _header(shown: Records, resource: Resource) -> tuple[int, Sequence[Cell]]:
    """Return the header among the rows that a user sees, with its line; raise `ReadError` for another inbox's."""
    if not shown:
        raise ReadError("empty_file")
    first = [cells.texts(_unescaped(record, ours=False)) for _, record in shown[: ROWS + 1]]
    check_inbox(first, resource)
    return shown[place_of_header(first, resource)]


def _merged_cells(found: Table, layout: Layout) -> Iterator[Fault]:
    """Yield a fault for merged cells of the header or of a row."""
    lines = {found.form.header_line, *(line for line, _ in found.records)}
    for cells_, first, last in layout.merged:
        if not lines.isdisjoint(range(first, last + 1)):
            yield Fault("merged_cells", None, details={"cells": cells_[:_REFERENCE]})
            return


def _hidden_columns(found: Table, layout: Layout) -> list[Fault]:
    """Return a fault for each column that Excel hides and that is filled in a row that it shows."""
    form = found.form
    return [
        Fault("hidden_column", form.header_line, form.headers[place], form.columns[place])
        for place in form.own
        if layout.hides(place)
        and any(
            not cells.is_blank(record[place])
            for line, record in found.records
            if line not in found.hidden
        )
    ]


def _check_size(records: Records, limits: Limits) -> None:
    """Raise `ReadError` where the last row is too wide, or one too many."""
    if len(records[-1][1]) > limits.columns:
        raise ReadError("too_big", what="columns", limit=limits.columns)
    if len(records) > limits.rows + 1:
        raise ReadError("too_big", what="rows", limit=limits.rows)


def _delimiter(text: str, resource: Resource) -> str:
    """Return the delimiter under which one of the first filled lines names most fields."""

    def fit(delimiter: str) -> tuple[int, int]:
        best = (0, 0)
        rows = ([*map(tokens.content, raw)] for raw in tokens.records(text, delimiter))
        try:
            for row in itertools.islice(filter("".join, rows), ROWS + 1):
                header = [*map(unescape_start, row)]
                best = max(best, (known_headers(header, resource), len(header)))
        except tokens.BadQuoting:
            return best if best[0] else (-1, 0)
        return best

    return max(tokens.DELIMITERS, key=fit)


def _below_header(
    form: FileFormat,
    records: Records,
    first: tuple[int, Sequence[Cell]],
    resource: Resource,
    limits: Limits,
    hidden: Collection[int] = frozenset(),
) -> Table:
    """Set the header `first` apart, leave out what is no row, and take off the apostrophes that keep Excel from running a cell."""
    # Only our own files have apostrophes inside of cells that aren't the cells' own.
    ours = any(map(is_report_column, cells.texts(first[1])))
    line, header = first[0], cells.texts(_unescaped(first[1], ours=ours))
    rows = [
        (each, _unescaped(record, ours=ours))
        for each, record in records
        if each > line or each in hidden
    ]
    if any(len(each) > limits.header_characters for each in header):
        what = "characters in a header"
        raise ReadError("too_big", what=what, limit=limits.header_characters)
    found = header_columns(header, resource, line)
    notes = [Fault("title_row", each) for each, _ in records if each < line and each not in hidden]
    rows, more = left_out.without(rows, found, header, line, resource)
    notes += more
    faults = list(found.faults)
    if not rows and not faults:
        faults.append(Fault("empty_file", line))
    texts = frozenset(each.name for each in resource.fields if each.kind == "text")
    form = dataclasses.replace(
        form,
        header_line=line,
        headers=tuple(header),
        columns=found.fields,
        texts=texts,
        labels={each.name: each.label for each in resource.fields},
    )
    # In a workbook a text of several lines is one; in the answer to a CSV it may still be rows.
    marks = (form.delimiter,) if form.kind == "csv" else tokens.DELIMITERS if ours else ()
    return Table(form, rows, faults, found.unnamed, marks, hidden, notes=notes)


def _unescaped(record: Sequence[Cell], *, ours: bool) -> Sequence[Cell]:
    meant = unescape if ours else unescape_start
    return [meant(cell) if isinstance(cell, str) else cell for cell in record]
