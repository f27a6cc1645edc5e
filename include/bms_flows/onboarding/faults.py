"""Faults of dropped files, rows and cells: what is wrong, where, and what to do."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bms_flows.runtime.settings import Language
from bms_flows.texts import FAULTS, FRENCH_WORDS, REQUEST


class ReadError(Exception):
    """A file or cell is refused; carries the code of its fault and never the cell's content."""

    def __init__(self, code: str, **details: str | int) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


@dataclass(frozen=True)
class Fault:
    """A fault by its code in `texts.FAULTS`, and its line and column in the file (`line` None: the whole file)."""

    code: str
    line: int | None
    column: str | None = dataclasses.field(default=None, repr=False)
    field: str | None = None
    details: Mapping[str, str | int] = dataclasses.field(default_factory=dict, repr=False)

    def reason(self, language: Language) -> str:
        """Return what is wrong."""
        return FAULTS[self.code][language].meaning.format_map(self._details(language))

    def hint(self, language: Language) -> str:
        """Return what to do."""
        return FAULTS[self.code][language].remedy.format_map(self._details(language))

    def _details(self, language: Language) -> Mapping[str, object]:
        details = {"line": self.line, "nearest": "", **self.details}
        if language == "FR":
            details |= {
                name: FRENCH_WORDS.get(str(value), value)
                for name, value in details.items()
                if name in ("what", "why", "declared")
            }
        return details


def with_column(column: str | None, text: str, language: Language) -> str:
    """Return a reason after the header of its column, if it has one."""
    return f"{column}{REQUEST['colon'][language]}{text}" if column else text


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """Return a fault as JSON, without its line; `fault_from_json` reads it."""
    return {name: value for name, value in vars(fault).items() if name != "line"}


def fault_from_json(stored: Mapping[str, Any], line: int) -> Fault:
    """Return a stored fault as the fault of `line`."""
    return Fault(line=line, **stored)
