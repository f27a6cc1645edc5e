"""CSV files for Excel: separators, decimal commas, and escaped formulas.

Excel starts a new cell at its own list separator, which may differ from the file's, and a new row
at a line break. So a formula can begin at the start of a cell, and after each `,`, `;`, tab or line
break inside the cell.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

_SIGN: Final = re.compile("[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]")
_BLANK: Final = r"[^\S\t\r\n]"
# "-5" and "-12,50" are numbers and harmless; "+33 6…" is a formula to Excel, and loses its plus.
_NUMBER: Final = rf"{_BLANK}*-\d+(?:[.,]\d+)?\s*\Z"
_FORMULA: Final = rf'(?:"|{_BLANK})*[=+@\uff1d\uff0b\uff0d\uff20-]'
# Apostrophes before a formula are skipped, so that unescaping removes only the added one.
_AT_START: Final = rf"(?!'*{_NUMBER})(?='*(?:[\t\r\n]|{_FORMULA}))"
_AT_SEPARATOR: Final = rf"(?='*{_FORMULA})"
_PLACES: Final = re.compile(rf"\A{_AT_START}|(?<=[,;\t\r\n]){_AT_SEPARATOR}")
_MARK_AT_START: Final = re.compile(rf"\A'{_AT_START}")
_MARKS: Final = re.compile(rf"\A'{_AT_START}|(?<=[,;\t\r\n])'{_AT_SEPARATOR}")


def escape(cell: str) -> str:
    """Return `cell` with an apostrophe before each place where Excel could begin a formula."""
    return _PLACES.sub("'", cell) if _SIGN.search(cell) else cell


def unescape(cell: str) -> str:
    """Return the cell that `escape` was given."""
    return _MARKS.sub("", cell) if "'" in cell else cell


def unescape_start(cell: str) -> str:
    """Return `cell` without a leading apostrophe, by which a user marks a text, before a formula."""
    return _MARK_AT_START.sub("", cell) if cell.startswith("'") else cell


def csv_file(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a CSV file that French Excel opens on a double click: BOM, semicolons, decimal commas; `oui`, `non`, and `3|7` for several values."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=";", lineterminator="\r\n")
    writer.writerows([_cell(value) for value in row] for row in (header, *rows))
    return stream.getvalue().encode("utf-8-sig")


def _cell(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}".replace(".", ",")
    if isinstance(value, bool):
        return "oui" if value else "non"
    if isinstance(value, list | tuple):
        value = "|".join(map(str, value))
    return "" if value is None else escape(str(value))
