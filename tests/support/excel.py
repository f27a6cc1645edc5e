"""Model of Excel opening a CSV file: its cells, and the formulas that it runs."""

import re
from collections.abc import Iterator

SEPARATORS = (",", ";", "\t")
# A number before another separator is none: there a formula has no operator.
_FORMULA = re.compile(r"[=+@\uff1d\uff0b\uff0d\uff20]|-(?!\d+(?:[.,]\d+)?\s*(?:[,;\t]|\Z))")


def opened(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the rows that Excel shows where `separator` is its list separator.

    A quote opens a cell only as its first character; what follows its end belongs to the cell.
    """
    cell, row, quoted, begun = "", list[str](), False, False
    position = 0
    while position < len(text):
        char = text[position]
        if quoted:
            if char == '"' and text[position + 1 : position + 2] == '"':
                cell += '"'
                position += 1
            elif char == '"':
                quoted = False
            else:
                cell += char
        elif char == '"' and not begun:
            quoted = begun = True
        elif char == separator:
            row.append(cell)
            cell, begun = "", False
        elif char in "\r\n":
            if text[position : position + 2] == "\r\n":
                position += 1
            yield [*row, cell]
            cell, row, begun = "", [], False
        else:
            cell, begun = cell + char, True
        position += 1
    if row or cell:
        yield [*row, cell]


def formulas(text: str) -> list[str]:
    """Return the cells that Excel would run as formulas, with any list separator."""
    return [
        cell
        for separator in SEPARATORS
        for row in opened(text.removeprefix("\ufeff"), separator)
        for cell in row
        if _FORMULA.match(cell.strip().strip('"').strip())
    ]
