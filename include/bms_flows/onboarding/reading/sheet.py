"""Content of a dropped file: format, headers, rows and faults."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.reading.encoding import is_damaged
from bms_flows.onboarding.resources.description import Resource, Value, normalize_header

HINT = "_hint"
ORIGINAL = "_original"
REPORT_COLUMNS = ("_line", "_field", "_reason_fr", "_reason_en", HINT, ORIGINAL)
"""Columns that a reject file adds; they are passed over in reading."""
_FEWEST_HEADERS: Final = 2


@dataclass(frozen=True)
class Limits:
    """How much of a file is read at all; beyond it the file is refused whole."""

    bytes: int = 30_000_000
    unpacked_bytes: int = 300_000_000
    rows: int = 50_000
    columns: int = 250
    cells: int = 5_000_000
    """Filled cells of a workbook, or its texts: what is held in memory at once."""
    elements: int = 20_000_000
    """XML elements of a workbook: what is parsed at all."""
    cell_characters: int = 32_767
    """What Excel itself holds."""
    characters: int = 20_000_000
    """Characters of a workbook's cells; a text that cells share counts for each of them."""
    header_characters: int = 200
    """Characters of a header, which the reason of each of its cells repeats."""
    faults: int = 100_000
    """Faults of cells and rows: bounds the files that list them."""


@dataclass(frozen=True)
class FileFormat:
    """How a file is written, so that it can be answered in kind.

    `headers` are the header cells as written, `columns` the field of each, None for a column that
    is passed over; `texts` are the fields that hold texts, `labels` the
    templates' headers by field. `inferred` is the decimal mark that whole columns show, by field. `kind` None: the file can't be read at all.
    """

    kind: Literal["csv", "xlsx"] | None
    encoding: str = ""
    delimiter: str = ""
    line_end: str = ""
    sheet: str = ""
    header_line: int = 1
    headers: tuple[str, ...] = ()
    columns: tuple[str | None, ...] = ()
    texts: frozenset[str] = frozenset()
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    inferred: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def header(self, field: str | None) -> str:
        """Return the header of a field: the file's, or else the templates' with the field's name."""
        if field is None:
            return ""
        if field in self.columns:
            return self.headers[self.columns.index(field)]
        return f"{self.labels[field]} [{field}]" if field in self.labels else field


@dataclass(frozen=True)
class Row:
    """A row: its line as Excel shows it, its values by field (absent: an empty cell), its cells."""

    line: int
    values: Mapping[str, Value] = dataclasses.field(repr=False)
    cells: Sequence[str] = dataclasses.field(repr=False)


@dataclass(frozen=True)
class LastLine:
    """The last line of a file, by figures: its number, its cells, and the columns of the header."""

    line: int
    cells: int
    columns: int


@dataclass(frozen=True)
class Sheet:
    """The content of a file. A row with a fault is refused; `refused` is true if all rows are refused.

    `truncated_at` is the last line of a file whose end is missing: cells or rows may be missing too.
    """

    form: FileFormat
    rows: Sequence[Row] = dataclasses.field(repr=False)
    faults: Sequence[Fault]
    sha256: str
    truncated_at: LastLine | None = None

    @cached_property
    def file_faults(self) -> tuple[Fault, ...]:
        """What is wrong with the whole file: its encoding, its headers, its size."""
        lines = {row.line for row in self.rows}
        return tuple(fault for fault in self.faults if fault.line not in lines)

    @property
    def file_reasons(self) -> list[dict[str, Any]]:
        """The file's faults without headers, which are the user's, each once."""
        found = [{"code": each.code, "details": dict(each.details)} for each in self.file_faults]
        return [each for n, each in enumerate(found) if each not in found[:n]]

    @property
    def refused(self) -> bool:
        """Whether no row may be used."""
        return bool(self.file_faults)

    @cached_property
    def _by_line(self) -> Mapping[int | None, tuple[Fault, ...]]:
        found: dict[int | None, tuple[Fault, ...]] = {}
        for fault in self.faults:
            found[fault.line] = (*found.get(fault.line, ()), fault)
        return found

    def faults_of(self, row: Row) -> tuple[Fault, ...]:
        """Return why `row` may not be used: the file's faults and its own; empty if it may.

        Many rows repeat fewer of the file's faults, so that the files that list them stay small.
        """
        repeated = max(3, Limits().faults // len(self.rows))
        return (*self.file_faults[:repeated], *self._by_line.get(row.line, ()))


@dataclass(frozen=True)
class HeaderColumns:
    """The field of each column, None for one that is passed over, and what is wrong with them."""

    fields: tuple[str | None, ...]
    unnamed: tuple[int, ...]
    faults: tuple[Fault, ...]


def is_report_column(header: str) -> bool:
    """Return whether a reject file added this column."""
    return header.strip().casefold() in REPORT_COLUMNS


def known_headers(headers: Sequence[str], resource: Resource) -> int:
    """Return how many of `headers` name a field of `resource`."""
    return sum(normalize_header(header) in resource.by_header for header in headers)


def is_header(row: Sequence[str], resource: Resource) -> bool:
    """Return whether most filled cells of a row, and at least two, name different fields."""
    filled = [normalize_header(cell) for cell in row if cell.strip()]
    named = {resource.by_header[cell].name for cell in filled if cell in resource.by_header}
    return len(named) >= _FEWEST_HEADERS and 2 * len(named) > len(filled)


def header_columns(headers: Sequence[str], resource: Resource, line: int) -> HeaderColumns:
    """Find each column's field; unknown and repeated ones are faults of the header's line."""
    if not known_headers(headers, resource):
        return HeaderColumns((None,) * len(headers), (), (Fault("no_header", line),))
    fields: list[str | None] = []
    unnamed: list[int] = []
    faults: list[Fault] = []
    for place, header in enumerate(headers):
        field = resource.by_header.get(normalize_header(header))
        name = field.name if field else None
        if name is None and not header.strip():
            unnamed.append(place)
        elif name is None and not is_report_column(header):
            code = "mojibake" if is_damaged(header) else "unknown_column"
            faults.append(Fault(code, line, header))
        elif name is not None and name in fields:
            faults.append(Fault("duplicate_header", line, header, name))
        fields.append(name)
    return HeaderColumns(tuple(fields), tuple(unnamed), tuple(faults))
