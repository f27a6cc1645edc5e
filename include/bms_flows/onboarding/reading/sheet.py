"""Content of a dropped file: format, headers, rows and faults."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.resources.description import Value
from bms_flows.runtime.settings import Language

HINT = "_hint"
ORIGINAL = "_original"
REPORT_COLUMNS: Final[Mapping[Language, Sequence[str]]] = {
    "FR": ("_reason_fr", "_cell", HINT, "_field", "_line", "_reason_en", ORIGINAL),
    "EN": ("_reason_en", "_cell", HINT, "_field", "_line", "_reason_fr", ORIGINAL),
}
"""Columns that a reject file adds before the others, by its language; they are passed over in reading."""


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
    """Format of a file, in which its reject file is written.

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

    @cached_property
    def own(self) -> Sequence[int]:
        """The places of the columns that no reject file added."""
        return [n for n, header in enumerate(self.headers) if not is_report_column(header)]

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

    `notes` are what was left out: titles, totals, columns without a field. `truncated_at` is the last line of a file whose end is missing: cells or rows may be missing too.
    """

    form: FileFormat
    rows: Sequence[Row] = dataclasses.field(repr=False)
    faults: Sequence[Fault]
    sha256: str
    truncated_at: LastLine | None = None
    notes: Sequence[Fault] = ()
    finders: dict[Any, dict[int, Any]] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The match rules of the rows, as `matching.finders_of` computed them."""

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
    def columns_left_out(self) -> int:
        """The number of filled columns that are not sent."""
        return sum(note.code == "column_left_out" for note in self.notes)

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
        """Return why `row` may not be used: the file's faults and its own; empty if it may."""
        return (*self.repeated_faults, *self.own_faults(row))

    def own_faults(self, row: Row) -> tuple[Fault, ...]:
        """Return the faults of a row without those of the file."""
        return self._by_line.get(row.line, ())

    @property
    def repeated_faults(self) -> tuple[Fault, ...]:
        """The faults of the file that each row repeats: fewer for many rows, so that the files that list them stay small."""
        return self.file_faults[: max(3, Limits().faults // max(1, len(self.rows)))]


def is_report_column(header: str) -> bool:
    """Return whether a reject file added this column."""
    return header.strip().casefold() in REPORT_COLUMNS["FR"]
