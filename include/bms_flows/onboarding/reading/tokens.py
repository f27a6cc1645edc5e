"""CSV tokenizer that preserves quoting, so that rejected rows are returned byte for byte.

The csv module gives the cells' content only, so it can't give a row back in its own quoting.
"""

import re
from collections.abc import Iterator
from typing import Final

from bms_flows.onboarding.faults import ReadError

EXCELS_ROWS: Final = 1 << 20
EXCELS_COLUMNS: Final = 1 << 14
DELIMITERS: Final = (";", ",", "\t")
LINE_END: Final = re.compile(r"\r\n|\n|\r")
_DECLARED: Final = re.compile(r"sep=([;,\t])(?:\r\n|\n|\r)", re.IGNORECASE)
_TEXT_AS_FORMULA: Final = re.compile(r'\s*="((?:[^"]|"")*+)"\s*')
_CELLS: Final = {
    mark: re.compile(
        rf'("[^"]*+(?:""[^"]*+)*+"|(?![ \xa0]*+")[^{mark}\r\n]*+)({mark}|\r\n|\n|\r|\Z)'
    )
    for mark in DELIMITERS
}


class BadQuoting(Exception):
    """A quote is misplaced or never closed."""

    def __init__(self, record: int, *, unfinished: bool) -> None:
        super().__init__(f"quoting breaks in record {record}")
        self.record = record
        self.unfinished = unfinished


def records(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield each record's cells as written; Excel's row numbers are the records' places from 1.

    Raises `ReadError` for more rows or columns than Excel has.
    """
    cell, position, row, number = _CELLS[delimiter], 0, list[str](), 1
    while position < len(text) or row:
        found = cell.match(text, position)
        if found is None:
            raise BadQuoting(number, unfinished=_unfinished(text, position))
        row.append(found[1])
        position = found.end()
        if len(row) > EXCELS_COLUMNS:
            raise ReadError("too_big", what="columns", limit=EXCELS_COLUMNS)
        if number > EXCELS_ROWS:
            raise ReadError("too_big", what="rows", limit=EXCELS_ROWS)
        if found[2] != delimiter:
            yield row
            row, number = [], number + 1


def _unfinished(text: str, position: int) -> bool:
    """Return whether the quote that begins at `position` is still open at the text's end."""
    return re.compile(r'[ \xa0]*+"[^"]*+(?:""[^"]*+)*+\Z').match(text, position) is not None


def content(raw: str) -> str:
    """Return what Excel shows of a cell as written: of `="004217"`, which keeps zeros, 004217."""
    found = _TEXT_AS_FORMULA.fullmatch(unquoted(raw))
    return found[1].replace('""', '"') if found else unquoted(raw)


def unquoted(raw: str) -> str:
    """Return a cell as written without its quotes."""
    return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


def quoted(text: str, delimiter: str) -> str:
    """Return `text` as a cell that holds it."""
    if re.search(rf'["\r\n{delimiter}]|^[ \xa0]', text):
        return '"{}"'.format(text.replace('"', '""'))
    return text


def declared(text: str) -> tuple[str, str]:
    r"""Return the delimiter that Excel's first line `sep=;` declares, and that line; else empty."""
    found = _DECLARED.match(text)
    return (found[1], found[0]) if found else ("", "")


def likely(text: str) -> str:
    """Return the delimiter that the first filled line has most of."""
    first = next((line for line in LINE_END.split(text.lstrip("\r\n"), 1)), "")
    return max(DELIMITERS, key=first.count)


def line_end(text: str) -> str:
    """Return how lines end, by the first that does."""
    found = LINE_END.search(text)
    return found[0] if found else "\r\n"
