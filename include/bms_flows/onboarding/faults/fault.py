"""Faults of dropped files, rows and cells: what is wrong, where, and what to do."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bms_flows.onboarding.faults.cells import CELL_FAULTS
from bms_flows.onboarding.faults.files import FILE_FAULTS, FRENCH_DETAILS
from bms_flows.onboarding.faults.rows import REJECTED_FAULTS
from bms_flows.onboarding.faults.text import FaultText
from bms_flows.onboarding.faults.unsettled import UNSETTLED_FAULTS
from bms_flows.runtime.settings import Language
from bms_flows.runtime.typography import typeset

READING_FAULTS: Final[Mapping[str, FaultText]] = {**FILE_FAULTS, **CELL_FAULTS}
CREATION_FAULTS: Final[Mapping[str, FaultText]] = {**REJECTED_FAULTS, **UNSETTLED_FAULTS}
TEXTS: Final[Mapping[str, FaultText]] = {**READING_FAULTS, **CREATION_FAULTS}
COLON: Final[Mapping[Language, str]] = {"FR": typeset(" : "), "EN": ": "}
"""Between a column and what is wrong in it."""


class ReadError(Exception):
    """A file or cell is refused; carries the code of its fault and never the cell's content."""

    def __init__(self, code: str, **details: str | int) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


@dataclass(frozen=True)
class Fault:
    """A fault by its code, and its line and column in the file (`line` None: the whole file)."""

    code: str
    line: int | None
    column: str | None = dataclasses.field(default=None, repr=False)
    field: str | None = None
    details: Mapping[str, str | int] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def text_fr(self) -> str:
        """The reason in French."""
        words = {
            name: FRENCH_DETAILS.get(str(value), value) if name in ("what", "why") else value
            for name, value in self.details.items()
        }
        return typeset(TEXTS[self.code].french.format_map(words))

    @property
    def text_en(self) -> str:
        """The reason in English."""
        return TEXTS[self.code].english.format_map(self.details)

    def hint(self, language: Language) -> str:
        """Return what to do."""
        text = TEXTS[self.code]
        if language == "FR":
            return typeset(text.hint_french.format_map(self.details))
        return text.hint_english.format_map(self.details)


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """Return a fault as JSON, without its line; `fault_from_json` reads it."""
    return {
        "code": fault.code,
        "column": fault.column,
        "field": fault.field,
        "details": dict(fault.details),
    }


def fault_from_json(stored: Mapping[str, Any], line: int) -> Fault:
    """Return a stored fault as the fault of `line`."""
    return Fault(line=line, **stored)
