"""Reader of dropped files: format, header, rows and the faults of every row."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from openpyxl.utils import get_column_letter

from bms_flows.onboarding.faults import Fault, ReadError
from bms_flows.onboarding.reading import cells, reject_notes
from bms_flows.onboarding.reading.cells import Cell, Evidence
from bms_flows.onboarding.reading.encoding import CP1252
from bms_flows.onboarding.reading.sheet import FileFormat, Limits, Row, Sheet
from bms_flows.onboarding.reading.sheets import several_sheets
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
    """Read a dropped file named `name`; whatever its content is, return a sheet with its faults."""
    limits = limits or Limits()
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        found = table(content, name, resource, limits)
        rows = _Rows(found, resource, declared, limits)
        read_rows, faults = rows.read()
    except ReadError as misread:
        line = misread.details.get("line")
        fault = Fault(misread.code, int(line) if line else None, details=misread.details)
        return Sheet(FileFormat(None), (), (fault,), sha256)
    form = dataclasses.replace(found.form, inferred=rows.inferred)
    return Sheet(form, read_rows, (*found.faults, *faults), sha256, notes=tuple(found.notes))


class _Rows:
    """The rows of a table: values by the kinds of their fields, and faults."""

    def __init__(
        self, found: Table, resource: Resource, declared: DeclaredFormat, limits: Limits
    ) -> None:
        self.table, self.resource, self.declared, self.limits = found, resource, declared, limits
        self.headers, self.fields = found.form.headers, found.form.columns
        self.passed_over = {*found.hidden, *found.struck}

    @cached_property
    def evidence(self) -> Mapping[int, Evidence]:
        """What each column of a field shows of its cells, by place.

        Rows of another width, rows that Excel hides or strikes through, and the template's own show nothing.
        """
        example = {name: field.example for name, field in self.resource.by_name.items()}
        whole = {
            line: record
            for line, record in self.table.records
            if len(record) == len(self.headers)
            and line not in self.passed_over
            and any(
                name and not cells.is_blank(cell) and cells.shown(cell).strip() != example[name]
                for name, cell in zip(self.fields, record, strict=True)
            )
        }
        found = {}
        for place, name in enumerate(self.fields):
            if name is None:
                continue
            field, column = self.resource.by_name[name], dict[str, Cell]()
            if field.kind in ("date", "decimal"):
                column = {_address(place, line): record[place] for line, record in whole.items()}
            carried = self.table.carried.get(name)
            found[place] = Evidence.of(field, column, self.declared, carried)
        return found

    @property
    def inferred(self) -> dict[str, str]:
        """What a reject file has to repeat: decimal marks by field, and the encoding."""
        marks = {str(self.fields[n]): each.mark for n, each in self.evidence.items() if each.mark}
        return marks | ({"encoding": CP1252.name} if self.table.western else {})

    def read(self) -> tuple[list[Row], list[Fault]]:
        """Read each row with a filled cell; raise `ReadError` for too many faults, or rows on another sheet."""
        sheets = self.table.sheets.items()
        if filled := [number for number, first in sheets if any(map(self._is_row, first))]:
            raise several_sheets(sorted([self.table.number, *filled]))
        rows, faults = [], list[Fault]()
        reported = {*range(len(self.headers))} - {*self.table.form.own}
        for line, record in self.table.records:
            own = [cell for place, cell in enumerate(record) if place not in reported]
            if all(map(cells.is_blank, own)):
                continue
            texts = list(map(cells.shown, own))
            while texts and texts[-1].strip() == cells.MISSING:
                texts.pop()
            values, found = self._read_row(line, record, len(texts))
            rows.append(Row(line, values, texts))
            faults += found
            if len(faults) > self.limits.faults:
                raise ReadError("too_big", what="faults", limit=self.limits.faults)
        return rows, faults

    def _read_row(
        self, line: int, record: Sequence[Cell], count: int
    ) -> tuple[dict[str, Value], list[Fault]]:
        """Return a row's values and faults; `count`: its cells without those of a report."""
        if line in self.passed_over:
            hidden = line in self.table.hidden
            return {}, [Fault("hidden_row" if hidden else "struck_row", line)]
        if faults := self._shape_faults(line, record, count):
            return {}, faults
        values, faults = self._values(line, record)
        if values and self._is_example(values):
            faults.append(Fault("example_row", line))
        return values, faults

    def _shape_faults(self, line: int, record: Sequence[Cell], count: int) -> list[Fault]:
        """Return what is wrong with a row before any cell is read."""
        width, form = len(self.headers), self.table.form
        expected = len(form.own)
        short = count < expected or len(record) < width
        if short or (form.kind == "csv" and (count, len(record)) != (expected, width)):
            return [Fault("cell_count", line, details={"found": count, "expected": expected})]
        for place in (*self.table.unnamed, *range(width, len(record))):
            if not cells.is_blank(record[place]):
                details = {"place": get_column_letter(place + 1)}
                return [Fault("unnamed_column", line, details=details)]
        return [
            Fault("swallowed_rows", line, header, field)
            for cell, header, field in zip(record, self.headers, self.fields, strict=True)
            if isinstance(cell, str) and "\n" in cell and self.table.swallows(cell)
        ]

    def _values(self, line: int, record: Sequence[Cell]) -> tuple[dict[str, Value], list[Fault]]:
        """Read a row's cells by their fields' kinds."""
        values: dict[str, Value] = {}
        faults: list[Fault] = []
        originals = self.table.originals(record)
        most, western = self.limits.cell_characters, self.table.western
        for place, evidence in self.evidence.items():
            cell, name = record[place], str(self.fields[place])
            if cells.is_blank(cell):
                continue
            try:
                if isinstance(cell, str):
                    cells.check_text(cell.strip(), western=western, limit=most)
                value = cells.value(cell, self.resource.by_name[name], evidence)
                reject_notes.check_original(originals.get(name, ""), value)
                values[name] = value
            except ReadError as misread:
                details = {"cell": _address(place, line), **misread.details}
                faults.append(Fault(misread.code, line, self.headers[place], name, details))
        return values, faults

    def _is_row(self, record: Sequence[Cell]) -> bool:
        """Return whether a row of a sheet without a header fits below this header."""
        missing = len(self.headers) - len(record)
        values, faults = self._values(0, [*record, *[""] * missing])
        keyed = not values.keys().isdisjoint(self.resource.key)
        return keyed and not faults and set(self.resource.required) <= set(values)

    def _is_example(self, values: Mapping[str, Value]) -> bool:
        """Return whether a row is the template's own: required fields, and nothing but examples."""
        fields = self.resource.by_name
        return set(self.resource.required) <= set(values) and all(
            value == _example(fields[name])
            or reject_notes.is_changed_by_excel(fields[name].example, str(value))
            for name, value in values.items()
        )


def _example(field: Field) -> Value | None:
    return cells.value(field.example, field, EXAMPLES) if field.example else None


def _address(place: int, line: int) -> str:
    """Return a cell's name in Excel."""
    return f"{get_column_letter(place + 1)}{line}"
