"""The sheet of a workbook that has the rows, and what the other sheets have."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.reading import cells
from bms_flows.onboarding.reading.cells import Cell
from bms_flows.onboarding.reading.header import ROWS, has_names, is_header, known_headers
from bms_flows.onboarding.reading.parts import SheetPart
from bms_flows.onboarding.reading.workbook import Book
from bms_flows.onboarding.resources.description import Resource

_SHEETS: Final = 9
"""Sheets that a fault shows."""


def sheet_of_rows(
    book: Book, resource: Resource
) -> tuple[SheetPart, int, Mapping[int, Sequence[Sequence[Cell]]]]:
    """Return the only sheet that a user sees and whose header names fields, or the first filled one.

    Also returns its number, and by number the first rows of the other filled sheets that a user sees. A
    second header without names of persons is above values, such as those of dropdown cells: no rows.
    """
    cells_of = {each: [*itertools.islice(_filled(book, each), ROWS + 1)] for each in book.sheets}
    headers = {
        each: _headers([*map(cells.texts, rows)], resource) for each, rows in cells_of.items()
    }
    known = [each for each, found in headers.items() if found]
    visible = [each for each in known if each.visible]
    if known and not visible:
        raise ReadError("hidden_sheet")
    shown = enumerate((each for each in book.sheets if each.visible), start=1)
    numbers = {each: number for number, each in shown if cells_of[each]}
    if not numbers:
        raise ReadError("empty_file")
    named = [each for each in visible if any(has_names(row, resource) for row in headers[each])]
    if len(visible) > 1 != len(named):
        raise several_sheets([numbers[each] for each in named or visible])
    chosen = [*named, *visible, *numbers][0]
    others = {n: [] if headers[each] else cells_of[each] for each, n in numbers.items()}
    del others[number := numbers[chosen]]
    return chosen, number, others


def several_sheets(numbers: Sequence[int]) -> ReadError:
    """Return the error for rows on more than one sheet; sheets are numbered as users see them."""
    return ReadError("several_sheets", sheets=", ".join(map(str, numbers[:_SHEETS])))


def _headers(rows: Sequence[Sequence[str]], resource: Resource) -> Sequence[Sequence[str]]:
    """Return the rows that may be a header; the first one if it names a field."""
    first = [row for row in rows[:1] if known_headers(row, resource)]
    return [*first, *(row for row in rows if is_header(row, resource))]


def _filled(book: Book, sheet: SheetPart) -> Iterator[Sequence[Cell]]:
    """Yield the filled rows that a user sees."""
    return filter(None, (book.cells(row) for row in book.rows(sheet) if not row.hidden))
