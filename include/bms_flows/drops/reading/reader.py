"""Reading a file whole: its form, its header, its rows, every fault of every row."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence

from openpyxl.utils import get_column_letter

from bms_flows.creation.resource import Resource, Value
from bms_flows.drops.reading import cells, headers, proven
from bms_flows.drops.reading.cells import Cell, Evidence
from bms_flows.drops.reading.misread import Misread
from bms_flows.drops.reading.table import Table, table
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
        found = table(content, name, resource, limits)
    except Misread as misread:
        line = misread.details.get("line")
        fault = Fault(misread.code, int(line) if line else None, details=misread.details)
        return Sheet(Form(None), (), (fault,), sha256)
    evidence = _evidence(found, resource, declared)
    rows, faults = _rows(found, resource, evidence, limits)
    shown = {str(found.form.columns[p]): e.mark for p, e in evidence.items() if e.mark}
    form = dataclasses.replace(found.form, proven=shown)
    return Sheet(form, rows, (*found.faults, *faults), sha256)


def _evidence(below: Table, resource: Resource, declared: Format) -> dict[int, Evidence]:
    """Return what each column of ours shows, by place.

    Rows of another width and rows that Excel hides show nothing.
    """
    names = below.form.headers
    whole = {
        line: record
        for line, record in below.records
        if len(record) == len(names) and line not in below.hidden
    }
    hints = [place for place, header in enumerate(names) if header.strip() == REPORT_COLUMNS[-1]]
    carried = proven.carried(cells.shown(rec[place]) for rec in whole.values() for place in hints)
    found = {}
    for place, name in enumerate(below.form.columns):
        if name is None:
            continue
        field, column = resource.by_name[name], dict[str, Cell]()
        if field.kind in ("date", "decimal"):
            column = {_address(place, line): record[place] for line, record in whole.items()}
        found[place] = Evidence.of(field, column, declared, carried.get(name))
    return found


def _address(place: int, line: int) -> str:
    """Return a cell's name in Excel."""
    return f"{get_column_letter(place + 1)}{line}"


def _rows(
    below: Table, resource: Resource, evidence: dict[int, Evidence], limits: Limits
) -> tuple[list[Row], list[Fault]]:
    """Read every row that has a cell in a column of ours."""
    reported = [
        place for place, header in enumerate(below.form.headers) if headers.is_report(header)
    ]
    records = [
        (line, record)
        for line, record in below.records
        if any(
            not cells.is_blank(cell) for place, cell in enumerate(record) if place not in reported
        )
    ]
    rows, faults = [], []
    for line, record in records:
        kept = [cells.shown(c) for place, c in enumerate(record) if place not in reported]
        while kept and kept[-1].strip() == cells.MISSING:
            kept.pop()
        if line in below.hidden:
            rows.append(Row(line, {}, kept))
            faults.append(Fault("hidden_row", line))
            continue
        values: dict[str, Value] = {}
        found = _shape(below, line, record, (len(kept), len(below.form.headers) - len(reported)))
        if not found and not below.faults:
            values, found = _values(below, line, record, resource, evidence, limits)
        if values and _is_example(values, record, below.form, resource):
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


def _shape(below: Table, line: int, record: Sequence[Cell], counts: tuple[int, int]) -> list[Fault]:
    """Return what is wrong with a row before any cell is read; `counts`: cells found and expected."""
    found, expected = counts
    if found != expected or len(record) != len(below.form.headers):
        return [Fault("cell_count", line, details={"found": found, "expected": expected})]
    if any(not cells.is_blank(record[place]) for place in below.unnamed):
        return [Fault("unnamed_column", line)]
    return [
        Fault("swallowed_rows", line, header, field)
        for cell, header, field in zip(record, below.form.headers, below.form.columns, strict=True)
        if isinstance(cell, str) and "\n" in cell and below.swallows(cell)
    ]


def _values(
    below: Table,
    line: int,
    record: Sequence[Cell],
    resource: Resource,
    evidence: dict[int, Evidence],
    limits: Limits,
) -> tuple[dict[str, Value], list[Fault]]:
    """Read a row's cells by their fields' kinds."""
    values: dict[str, Value] = {}
    faults: list[Fault] = []
    western = below.form.encoding == "cp1252"
    for place, weighed in evidence.items():
        cell, name = record[place], below.form.columns[place]
        if name is None or cells.is_blank(cell):
            continue
        try:
            if isinstance(cell, str):
                cells.check_text(cell.strip(), western=western, limit=limits.cell_characters)
            values[name] = cells.value(cell, resource.by_name[name], weighed)
        except Misread as misread:
            header = below.form.headers[place]
            details = {"cell": _address(place, line), **misread.details}
            faults.append(Fault(misread.code, line, header, name, details))
    return values, faults
