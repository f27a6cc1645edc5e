"""The sample of `include/samples`, as it would be dropped this year: its people start in the next one."""

import re
from datetime import date
from pathlib import Path
from typing import Final

PATH: Final = Path(__file__).parent.parent / "include" / "samples" / "nouveaux_salaries.csv"
NAME: Final = PATH.name
_STARTS: Final = re.compile(rb"(?<=/)2027(?=;)")
_SHORT: Final = re.compile(rb"(?<=/)27(?=;)")
"""A date that the file has wrong on purpose stays as wrong as it is."""


def content(today: date) -> bytes:
    """Return the file with its dates of start in the year after `today`'s.

    The file's own would in time be further from today than a plan takes unasked.
    """
    year = today.year + 1
    moved = _STARTS.sub(str(year).encode(), PATH.read_bytes())
    return _SHORT.sub(f"{year % 100:02d}".encode(), moved)
