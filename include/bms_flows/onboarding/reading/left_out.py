"""Rows and columns that are left out of a table with a note: totals, repeated headers, the user's own columns. Pure."""

import re
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from typing import Final

from openpyxl.utils import get_column_letter

from bms_flows.onboarding.faults import Fault, ReadError
from bms_flows.onboarding.reading import cells
from bms_flows.onboarding.reading.cells import Cell, Formatted
from bms_flows.onboarding.reading.header import HeaderColumns, repeats
from bms_flows.onboarding.reading.numbers_and_dates import parse_decimal, without_euro
from bms_flows.onboarding.resources.description import Resource

_TOTAL: Final = re.compile(
    r"\s*(?:(?:grand|sous|sub)[\s-]*)?(?:total|totaux|totals|somme|sum|effectif|moyenne|average"
    r"|nombre\s+d.*)\b[^;]{0,60}",
    re.IGNORECASE | re.DOTALL,
)
"""A label of a row that adds up others. A person or a company may be called Total: see `_Totals`."""

_NO_NAME: Final = re.compile(r"[^\w\s'’.,&-]|[0-9]")  # noqa: RUF001 - as users write
"""A sign that no name has."""
_WORDS: Final = 3
"""Fewest words of a footnote, and columns above it: with two, any sentence looks like a row."""

Record = tuple[int, Sequence[Cell]]


def without(
    records: Sequence[Record],
    columns: HeaderColumns,
    header: Sequence[str],
    line: int,
    resource: Resource,
) -> tuple[list[Record], list[Fault]]:
    """Return the rows below the header at `line` without totals and repeated headers, and the notes."""
    kept: list[Record] = []
    notes: list[Fault] = []
    records = [each for each in records if not _is_filled_in_advance(each[1], columns)]
    totals = _Totals(columns.fields, resource)
    for each, record in records:
        if repeats(cells.texts(record), columns.fields, resource):
            notes.append(Fault("repeated_header", each))
        elif totals.has(record):
            notes.append(Fault("total_row", each))
        else:
            kept.append((each, record))
            totals.add(record)
    first = next((place for place, title in enumerate(header) if title.strip()), 0)
    while kept and _is_footnote(kept[-1][1], columns.fields, first, resource):
        notes.append(Fault("footnote", kept.pop()[0]))
    filled = {each for each, _ in records if each > line}
    if blank := max(filled, default=line) - line - len(filled):
        first = next(each for each in range(line + 1, max(filled)) if each not in filled)
        notes.append(Fault("blank_rows", first, details={"count": blank}))
    notes += [
        Fault(
            "column_left_out", line, header[place], details={"place": get_column_letter(place + 1)}
        )
        for place in columns.strangers
        if any(not cells.is_blank(record[place]) for _, record in kept if place < len(record))
    ]
    return kept, notes


def _is_filled_in_advance(record: Sequence[Cell], columns: HeaderColumns) -> bool:
    """Return whether only columns without a field are filled, with numbers or errors of formulas: lines to come."""
    return all(
        place in columns.strangers or cells.is_blank(cell) for place, cell in enumerate(record)
    ) and not any(map(str.isalpha, "".join(cells.texts(record))))


def _is_footnote(
    record: Sequence[Cell], fields: Sequence[str | None], first: int, resource: Resource
) -> bool:
    """Return whether a last row is a sentence in the `first` column or before, where rows have a required value."""
    filled = [place for place, cell in enumerate(record) if not cells.is_blank(cell)]
    if len(filled) != 1 or filled[0] > first or len(fields) < _WORDS:
        return False
    text, field = record[filled[0]], fields[filled[0]]
    if field not in (None, *resource.required):
        return False
    return isinstance(text, str) and len(text.split()) >= _WORDS and bool(_NO_NAME.search(text))


class _Totals:
    """The sums of the columns of numbers so far, by which a total without a label is recognized."""

    def __init__(self, fields: Sequence[str | None], resource: Resource) -> None:
        kinds = [resource.by_name[name].kind if name else None for name in fields]
        self._numeric = [kind in ("decimal", "integer") for kind in kinds]
        self._summed = [
            numeric and not str(name).startswith("id_")
            for numeric, name in zip(self._numeric, fields, strict=True)
        ]
        self._unknown = [kind is None for kind in kinds]
        self._sums: dict[int, Decimal | None] = {}

    def add(self, record: Sequence[Cell]) -> None:
        """Add the numbers of a row; the sum of a column with any other cell is unknown."""
        for place, cell in enumerate(record[: len(self._summed)]):
            if self._summed[place] and not cells.is_blank(cell):
                number, before = _number(cell), self._sums.get(place, Decimal(0))
                self._sums[place] = None if None in (number, before) else number + before  # type: ignore[operator]

    def has(self, record: Sequence[Cell]) -> bool:
        """Return whether a row is a total: a label and numbers, or nothing but the sums so far.

        The row of a person or company called Total has other texts.
        """
        filled = {place: cell for place, cell in enumerate(record) if not cells.is_blank(cell)}
        labels = {
            place
            for place, cell in filled.items()
            if isinstance(cell, str) and _TOTAL.fullmatch(cell)
        }
        if not labels:
            return bool(filled) and all(
                self._sums.get(place) is not None and self._sums[place] == _number(cell)
                for place, cell in filled.items()
            )
        return all(self._is_figure(place, filled[place]) for place in filled.keys() - labels)

    def _is_figure(self, place: int, cell: Cell) -> bool:
        if isinstance(cell, ReadError):
            return cell.code == "formula_without_value"
        if isinstance(cell, str):
            known = place >= len(self._numeric) or self._numeric[place] or self._unknown[place]
            return known and _number(cell) is not None
        return not isinstance(cell, bool | date | time)


def _number(cell: Cell) -> Decimal | None:
    if isinstance(cell, Formatted):
        cell = cell.number
    if isinstance(cell, str):
        try:
            return parse_decimal(without_euro(cell.strip()), None)
        except ReadError:
            return None
    return Decimal(cell) if isinstance(cell, int | Decimal) and not isinstance(cell, bool) else None
