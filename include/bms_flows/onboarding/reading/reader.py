"""Reader of dropped files: format, header, rows and the faults of every row."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from openpyxl.utils import get_column_letter

from bms_flows.onboarding.faults import Fault, ReadError
from bms_flows.onboarding.reading import cells, headers, reject_notes
from bms_flows.onboarding.reading.cells import Cell, Evidence
from bms_flows.onboarding.reading.encoding import CP1252
from bms_flows.onboarding.reading.sheet import FileFormat, Limits, Row, Sheet
from bms_flows.onboarding.reading.table import Table, table
from bms_flows.onboarding.resources.description import Field, Resource, Value
from bms_flows.onboarding.settings import UNDECLARED, DeclaredFormat

EXAMPLES: Final = Evidence(DeclaredFormat(date_order="dmy"))
"""How templates write their examples."""


def read(
    content: bytes,
    name: str,
    resource: Resource,
    declared: DeclaredFormat = UNDECLARED,
    limits: Limits | None = None,
) -> Sheet:
    """Read a dropped file named `name`; whatever it holds, the answer is a sheet with its faults."""
    limits = limits or Limits()
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        found = table(content, name, resource, limits)
    except ReadError as misread:
        line = misread.details.get("line")
        fault = Fault(misread.code, int(line) if line else None, details=misread.details)
        return Sheet(FileFormat(None), (), (fault,), sha256)
    evidence = _evidence(found, resource, declared)
    rows, faults = _rows(found, resource, evidence, limits)
    if len(faults) > limits.faults:
        too_many = Fault("too_big", None, details={"what": "faults", "limit": limits.faults})
        return Sheet(FileFormat(None), (), (too_many,), sha256)
    shown = {str(found.form.columns[p]): e.mark for p, e in evidence.items() if e.mark}
    written = {"encoding": CP1252.name} if found.western else {}
    form = dataclasses.replace(found.form, inferred={**shown, **written})
    return Sheet(form, rows, (*found.faults, *faults), sha256)


def _evidence(below: Table, resource: Resource, declared: DeclaredFormat) -> dict[int, Evidence]:
    """Return what each column of ours shows, by place.

    Rows of another width and rows that Excel hides or strikes through show nothing.
    """
    names = below.form.headers
    passed_over = {*below.hidden, *below.struck}
    whole = {
        line: record
        for line, record in below.records
        if len(record) == len(names) and line not in passed_over
    }
    found = {}
    for place, name in enumerate(below.form.columns):
        if name is None:
            continue
        field, column = resource.by_name[name], dict[str, Cell]()
        if field.kind in ("date", "decimal"):
            column = {_address(place, line): record[place] for line, record in whole.items()}
        found[place] = Evidence.of(field, column, declared, below.carried.get(name))
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
        if line in below.hidden or line in below.struck:
            rows.append(Row(line, {}, kept))
            faults.append(Fault("hidden_row" if line in below.hidden else "struck_row", line))
            continue
        values: dict[str, Value] = {}
        found = _shape(below, line, record, (len(kept), len(below.form.headers) - len(reported)))
        if not found and not below.faults:
            values, found = _values(below, line, record, resource, evidence, limits)
        if values and _is_example(values, resource):
            found.append(Fault("example_row", line))
        rows.append(Row(line, values, kept))
        faults += found
        if len(faults) > limits.faults:
            break
    return rows, faults


def _is_example(values: Mapping[str, Value], resource: Resource) -> bool:
    """Return whether a row is the template's own: what is required and nothing but examples."""
    return set(resource.required) <= set(values) and all(
        value == _example(resource.by_name[name])
        or reject_notes.is_changed_by_excel(resource.by_name[name].example, str(value))
        for name, value in values.items()
    )


def _example(field: Field) -> Value | None:
    return cells.value(field.example, field, EXAMPLES) if field.example else None


def _shape(below: Table, line: int, record: Sequence[Cell], counts: tuple[int, int]) -> list[Fault]:
    """Return what is wrong with a row before any cell is read; `counts`: cells found and expected."""
    found, expected = counts
    width = len(below.form.headers)
    short = found < expected or len(record) < width
    if short or (below.form.kind == "csv" and (found, len(record)) != (expected, width)):
        return [Fault("cell_count", line, details={"found": found, "expected": expected})]
    for place in (*below.unnamed, *range(width, len(record))):
        if not cells.is_blank(record[place]):
            details = {"place": get_column_letter(place + 1)}
            return [Fault("unnamed_column", line, details=details)]
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
    noted = below.noted(record)
    for place, weighed in evidence.items():
        cell, name = record[place], below.form.columns[place]
        if name is None or cells.is_blank(cell):
            continue
        try:
            if isinstance(cell, str):
                cells.check_text(cell.strip(), western=below.western, limit=limits.cell_characters)
            value = cells.value(cell, resource.by_name[name], weighed)
            reject_notes.check_original(noted.get(name, ""), value)
            values[name] = value
        except ReadError as misread:
            header = below.form.headers[place]
            details = {"cell": _address(place, line), **misread.details}
            faults.append(Fault(misread.code, line, header, name, details))
    return values, faults
