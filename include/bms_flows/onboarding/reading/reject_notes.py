"""Notes in a reject file about its original file, so that the file is read alike when it is dropped again.

A few rejected rows may not show the decimal mark of a column or the encoding: each row's `_hint` ends
in remarks such as `[salary_base: 0,0]` or `[encoding: Windows-1252]`.

A user who opens a CSV in Excel and saves it changes `004217` to 4217 and `12-05-99` to 12/05/1999.
Changed keys would identify other records. The column `_original` of each rejected row contains
such values in a form that Excel does not change: `payroll_number=004217`.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from bms_flows.onboarding.faults import ReadError

PROOFS: Final = {",": "0,0", ".": "0.0", "cp1252": "Windows-1252"}
_READ: Final = {written: proof for proof, written in PROOFS.items()}
_REMARK: Final = re.compile(
    rf"\[(\w+): ({'|'.join(re.escape(written) for written in _READ)})\]", re.ASCII
)

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9][0-9 \xa0\u202f]*(?:[.,][0-9]*)?|[.,][0-9]+)")
_AS_EXCEL_WRITES: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:[.,][0-9]*[1-9])?")
_DATE: Final = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}")
_DAY: Final = re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4}")
"""As French Excel shows it, and English Excel outside America."""
_SHOWN_DAY: Final = re.compile(r"[0-9]{2}/[0-9]{2}/(?:[0-9]{2}){1,2}")
"""LibreOffice shows two digits of the year."""
_NOTE: Final = re.compile(r"(?<!\w)(\w++)=([^|]+)", re.ASCII)
_LONGEST: Final = 300


def write_remarks(proven: Mapping[str, str]) -> str:
    """Return the remarks for what is proven of each field."""
    return "".join(f" [{field}: {PROOFS[proof]}]" for field, proof in proven.items())


def read_remarks(hints: Iterable[str]) -> dict[str, str]:
    """Return what the `_hint` cells of a file prove for each field; ignore fields with contradictory remarks."""
    found: dict[str, set[str]] = {}
    for hint in hints:
        for field, written in _REMARK.findall(hint):
            found.setdefault(field, set()).add(_READ[written])
    return {field: proofs.pop() for field, proofs in found.items() if len(proofs) == 1}


def write_originals(values: Mapping[str, str], earlier: Mapping[str, str]) -> str:
    """Return the content of `_original` for a row's `values` by field; `earlier` are those of an earlier reject file."""
    notes = {}
    for name, value in values.items():
        if not value[:1].isascii() or value[:1].isalpha():
            continue
        if is_changed_by_excel(earlier.get(name, ""), value):
            notes[name] = earlier[name]
        elif _AS_EXCEL_WRITES.fullmatch(value) or _DAY.fullmatch(value):
            continue
        elif _number(value) is not None or _DATE.fullmatch(value):
            notes[name] = value
    return " | ".join(f"{name}={value}" for name, value in notes.items())


def read_originals(cell: str) -> dict[str, str]:
    """Return the values that `_original` names, by field."""
    return {name: value.strip() for name, value in _NOTE.findall(cell)}


def check_original(original: str, value: object) -> None:
    """Raise `ReadError` for a text that Excel has made a number of."""
    if isinstance(value, str) and is_changed_by_excel(original, value):
        raise ReadError("changed_by_excel")


def is_changed_by_excel(original: str, value: str) -> bool:
    """Return whether `value` is what Excel makes of `original`: the same number, or a date."""
    if _SHOWN_DAY.fullmatch(value):
        return value != original and _DATE.fullmatch(original) is not None
    number = _number(value) if _AS_EXCEL_WRITES.fullmatch(value) else None
    return number is not None and value != original and number == _number(original)


def _number(text: str) -> Decimal | None:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    return Decimal(re.sub(r"[^0-9.-]", "", text.replace(",", ".")))
