"""Texts that Excel changes to numbers or dates, stored in a reject file to detect the change.

A user who opens a CSV in Excel and saves it changes `004217` to 4217 and `12-05-99` to 12/05/1999.
Changed keys would identify other records. The column `_original` of each rejected row contains
such values in a form that Excel does not change: `payroll_number=004217`.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from bms_flows.onboarding.faults import ReadError

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9][0-9 \xa0\u202f]*(?:[.,][0-9]*)?|[.,][0-9]+)")
_AS_EXCEL_WRITES: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:[.,][0-9]*[1-9])?")
_DATE: Final = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}")
_DAY: Final = re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4}")
"""As French Excel shows it, and English Excel outside America."""
_NOTE: Final = re.compile(r"(\w+)=([^|]+)", re.ASCII)
_LONGEST: Final = 300


def note(values: Mapping[str, str], noted: Mapping[str, str]) -> str:
    """Return the content of `_original` for a row's `values` by field; `noted` are earlier notes."""
    notes = {}
    for name, value in values.items():
        if not value[:1].isascii() or value[:1].isalpha():
            continue
        if is_lost(noted.get(name, ""), value):
            notes[name] = noted[name]
        elif _AS_EXCEL_WRITES.fullmatch(value) or _DAY.fullmatch(value):
            continue
        elif _number(value) is not None or _DATE.fullmatch(value):
            notes[name] = value
    return " | ".join(f"{name}={value}" for name, value in notes.items())


def read(cell: str) -> dict[str, str]:
    """Return the values that `_original` names, by field."""
    return {name: value.strip() for name, value in _NOTE.findall(cell)}


def check(original: str, value: object) -> None:
    """Raise `ReadError` for a text that Excel has made a number of."""
    if isinstance(value, str) and is_lost(original, value):
        raise ReadError("changed_by_excel")


def is_lost(original: str, value: str) -> bool:
    """Return whether `value` is what Excel makes of `original`: the same number, or a date."""
    if _DAY.fullmatch(value):
        return value != original and _DATE.fullmatch(original) is not None
    number = _number(value) if _AS_EXCEL_WRITES.fullmatch(value) else None
    return number is not None and value != original and number == _number(original)


def _number(text: str) -> Decimal | None:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    return Decimal(re.sub(r"[^0-9.-]", "", text.replace(",", ".")))
