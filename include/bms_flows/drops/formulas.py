"""Cells that Excel would run as formulas: made harmless with an apostrophe, which reading takes off.

An apostrophe before such a sign is Excel's own mark for "this is text", so a cell that came with
one means the same as without it.
"""

import re
from typing import Final

_SIGNS: Final = "=+@\uff1d\uff0b\uff0d\uff20"
# "-5" and "-12,50" are numbers and harmless; "+33 6…" is a formula to Excel, and loses its plus.
_RUNS: Final = re.compile(rf"[\t\r]|\s*(?:[{_SIGNS}]|-(?!\d+(?:[.,]\d+)?\s*\Z))")
_MARKED: Final = re.compile(rf"'(?='*(?:[\t\r]|\s*[{_SIGNS}-]))")


def neutral(cell: str) -> str:
    """Return `cell` such that Excel shows it and doesn't run it."""
    return f"'{cell}" if _RUNS.match(cell) else cell


def restored(cell: str) -> str:
    """Return what `neutral` was given."""
    return _MARKED.sub("", cell, count=1) if cell.startswith("'") else cell
