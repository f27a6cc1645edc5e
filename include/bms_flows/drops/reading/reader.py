"""Reading a file whole: its form, its header, its rows, every fault of every row."""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from openpyxl.utils import get_column_letter

from bms_flows.creation.resource import Resource, Value
from bms_flows.drops.reading import cells, headers, proven, tokens
from bms_flows.drops.reading.cells import Cell, Evidence
from bms_flows.drops.reading.encoding import BadEncoding, decode
from bms_flows.drops.reading.misread import Misread
from bms_flows.drops.reading.parts import Layout
from bms_flows.drops.reading.workbook import Book
from bms_flows.drops.sheet import (
    REPORT_COLUMNS,
    UNDECLARED,
    Fault,
    Form,
    Format,
    Limits,
    Row,
    Sheet,
)
from bms_flows.excel_csv import unescape, unescape_start

WORKBOOK = b"PK\x03\x04"
OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
READABLE = (".csv", ".tsv", ".txt", ".xlsx", ".xlsm")
_TELLING = 3


def read(
    content: bytes,
    name: str,
    resource: Resource,
    declared: Format = UNDECLARED,
    limits: Limits | None = None,
) -> Sheet:
    """Read a dropped file named `name`; whatever it holds, the answer is a sheet with its faults."""
    limits = limits or Limits()
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        table = _reader(content, name, limits)(content, resource, limits)
    except Misread as misread:
        line = misread.details.get("line")
        fault = Fault(misread.code, int(line) if line else None, details=misread.details)
        return Sheet(Form(None), (), (fault,), sha256)
    evidence = _evidence(table, resource, declared)
    rows, faults = _rows(table, resource, evidence, limits)
    shown = {str(table.form.columns[p]): e.proof for p, e in evidence.items() if e.proof}
    form = dataclasses.replace(table.form, proven=shown)
    return Sheet(form, rows, (*table.faults, *faults), sha256)


@dataclass(frozen=True)
class _Table:
    """A file's cells, before any is read by its field's kind."""

    form: Form
    records: Sequence[tuple[int, Sequence[Cell]]]
    faults: Sequence[Fault]
    unnamed: Sequence[int]
    swallows: Callable[[str], bool]


def _reader(
    content: bytes, name: str, limits: Limits
) -> Callable[[bytes, Resource, Limits], _Table]:
    """Return who reads this kind of file; what it holds says so, whatever its name."""
    if len(content) > limits.bytes:
        raise Misread("too_big", what="octets/bytes", limit=limits.bytes)
    if content.startswith(OLD_WORKBOOK) or not name.casefold().endswith(READABLE):
        raise Misread("bad_kind")
    return _read_workbook if content.startswith(WORKBOOK) else _read_csv


def _read_csv(content: bytes, resource: Resource, limits: Limits) -> _Table:
    try:
        text, encoding = decode(content)
    except BadEncoding:
        raise Misread("bad_encoding") from None
    delimiter, declaration = tokens.declared(text)
    delimiter = delimiter or _delimiter(text, resource)
    records: list[tuple[int, Sequence[Cell]]] = []
    try:
        # Excel doesn't show the line that declares the delimiter, and doesn't count it.
        for line, raw in enumerate(tokens.records(text[len(declaration) :], delimiter), start=1):
            record = [tokens.content(cell) for cell in raw]
            if all(map(cells.is_blank, record)):
                continue
            if len(record) > limits.columns:
                raise Misread("too_big", what="colonnes/columns", limit=limits.columns)
            if len(records) > limits.rows:
                raise Misread("too_big", what="lignes/rows", limit=limits.rows)
            records.append((line, record))
    except tokens.BadQuoting as bad:
        raise Misread("bad_quoting", line=bad.record) from None
    form = Form("csv", encoding.name, delimiter, tokens.line_end(text))
    width = len(records[0][1]) if records else 0

    def swallows(cell: str) -> bool:
        # With two columns any sentence looks like a row.
        return width >= _TELLING and any(
            line.count(delimiter) >= width - 1 for line in cell.splitlines()[1:]
        )

    return _table(form, records, resource, swallows)


def _read_workbook(content: bytes, resource: Resource, limits: Limits) -> _Table:
    book = Book(content, limits)
    visible = [sheet for sheet in book.sheets if sheet.visible]
    first = {
        sheet.name: next(filter(None, map(book.cells, book.rows(sheet))), []) for sheet in visible
    }
    filled = [sheet for sheet in visible if first[sheet.name]]
    if not filled:
        raise Misread("empty_file")
    known = [each for each in filled if headers.known(_texts(first[each.name]), resource)]
    if len(known) > 1:
        raise Misread("several_sheets")
    sheet, layout = (known or filled)[0], Layout()
    width = len(first[sheet.name])
    records: list[tuple[int, Sequence[Cell]]] = []
    for row in book.rows(sheet, layout):
        record = book.cells(row)
        if not record:
            continue
        if len(record) > limits.columns:
            raise Misread("too_big", what="colonnes/columns", limit=limits.columns)
        if len(records) > limits.rows:
            raise Misread("too_big", what="lignes/rows", limit=limits.rows)
        records.append((row.line, record + [""] * (width - len(record))))
    if layout.merged:
        raise Misread("merged_cells")
    return _table(Form("xlsx", sheet=sheet.name), records, resource, lambda _: False)


def _delimiter(text: str, resource: Resource) -> str:
    """Return the delimiter under which the first filled line names most fields."""

    def fit(delimiter: str) -> tuple[int, int]:
        try:
            for raw in tokens.records(text, delimiter):
                header = [unescape_start(tokens.content(cell)) for cell in raw]
                if any(cell.strip() for cell in header):
                    return headers.known(header, resource), len(header)
        except tokens.BadQuoting:
            return -1, 0
        return 0, 0

    return max(tokens.DELIMITERS, key=fit)


def _table(
    form: Form,
    records: Sequence[tuple[int, Sequence[Cell]]],
    resource: Resource,
    swallows: Callable[[str], bool],
) -> _Table:
    """Set the header apart, and take off the apostrophes that keep Excel from running a cell."""
    if not records:
        raise Misread("empty_file")
    line, first = records[0]
    # Only our own files have apostrophes inside of cells that aren't the cells' own.
    ours = any(map(headers.is_report, _texts(first)))
    records = [(line, _unescaped(record, ours=ours)) for line, record in records]
    header = _texts(records[0][1])
    found = headers.columns(header, resource, line)
    faults = list(found.faults)
    if len(records) == 1 and not faults:
        faults.append(Fault("empty_file", line))
    form = dataclasses.replace(form, header_line=line, headers=tuple(header), columns=found.fields)
    return _Table(form, records[1:], faults, found.unnamed, swallows)


def _evidence(table: _Table, resource: Resource, declared: Format) -> dict[int, Evidence]:
    """Return what each column of ours proves, by place; rows of another width prove nothing."""
    names = table.form.headers
    whole = [record for _, record in table.records if len(record) == len(names)]
    hints = [place for place, header in enumerate(names) if header.strip() == REPORT_COLUMNS[-1]]
    carried = proven.carried(cells.shown(record[place]) for record in whole for place in hints)
    return {
        place: Evidence.of(
            resource.by_name[name], [record[place] for record in whole], declared, carried.get(name)
        )
        for place, name in enumerate(table.form.columns)
        if name is not None
    }


def _rows(
    table: _Table, resource: Resource, evidence: dict[int, Evidence], limits: Limits
) -> tuple[list[Row], list[Fault]]:
    """Read every row that has a cell in a column of ours."""
    reported = [
        place for place, header in enumerate(table.form.headers) if headers.is_report(header)
    ]
    records = [
        (line, record)
        for line, record in table.records
        if any(
            not cells.is_blank(cell) for place, cell in enumerate(record) if place not in reported
        )
    ]
    rows, faults = [], []
    for line, record in records:
        kept = [cells.shown(c) for place, c in enumerate(record) if place not in reported]
        while kept and kept[-1].strip() == cells.MISSING:
            kept.pop()
        values: dict[str, Value] = {}
        found = _shape(table, line, record, (len(kept), len(table.form.headers) - len(reported)))
        if not found and not table.faults:
            values, found = _values(table, line, record, resource, evidence, limits)
        if values and _is_example(values, record, table.form, resource):
            found.append(Fault("example_row", line))
        rows.append(Row(line, values, kept))
        faults += found
    return rows, faults


def _is_example(
    values: Mapping[str, Value], record: Sequence[Cell], form: Form, resource: Resource
) -> bool:
    """Return whether a row is the template's own: what is required and nothing but examples."""
    return set(resource.required) <= set(values) and all(
        cells.shown(cell).strip() == resource.by_name[name].example
        for cell, name in zip(record, form.columns, strict=True)
        if name in values and name is not None
    )


def _shape(
    table: _Table, line: int, record: Sequence[Cell], counts: tuple[int, int]
) -> list[Fault]:
    """Return what is wrong with a row before any cell is read; `counts`: cells found and expected."""
    found, expected = counts
    if found != expected or len(record) != len(table.form.headers):
        return [Fault("cell_count", line, details={"found": found, "expected": expected})]
    if any(not cells.is_blank(record[place]) for place in table.unnamed):
        return [Fault("unnamed_column", line)]
    return [
        Fault("swallowed_rows", line, header, field)
        for cell, header, field in zip(record, table.form.headers, table.form.columns, strict=True)
        if isinstance(cell, str) and "\n" in cell and table.swallows(cell)
    ]


def _values(
    table: _Table,
    line: int,
    record: Sequence[Cell],
    resource: Resource,
    evidence: dict[int, Evidence],
    limits: Limits,
) -> tuple[dict[str, Value], list[Fault]]:
    """Read a row's cells by their fields' kinds."""
    values: dict[str, Value] = {}
    faults: list[Fault] = []
    western = table.form.encoding == "cp1252"
    for place, weighed in evidence.items():
        cell, name = record[place], table.form.columns[place]
        if name is None or cells.is_blank(cell):
            continue
        try:
            if isinstance(cell, str):
                cells.check_text(cell.strip(), western=western, limit=limits.cell_characters)
            values[name] = cells.value(cell, resource.by_name[name], weighed)
        except Misread as misread:
            header = table.form.headers[place]
            details = {"cell": f"{get_column_letter(place + 1)}{line}", **misread.details}
            faults.append(Fault(misread.code, line, header, name, details))
    return values, faults


def _unescaped(record: Sequence[Cell], *, ours: bool) -> Sequence[Cell]:
    meant = unescape if ours else unescape_start
    return [meant(cell) if isinstance(cell, str) else cell for cell in record]


def _texts(record: Sequence[Cell]) -> list[str]:
    return ["" if isinstance(cell, Misread) else cells.shown(cell) for cell in record]
