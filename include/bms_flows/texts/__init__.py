"""Texts that users read, by code: meaning and remedy, in French and English side by side.

The texts are data, in the TOML files of this folder. HR users read French or English; operators read
English only. `docs/runbook.md` has a line or a section for each code.
"""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple, get_args

from bms_flows.runtime.settings import Language

NO_BREAK: Final = "\xa0"
"""Also in Windows-1252, unlike the narrow one: a reject file has the encoding of the dropped file."""
_HIGH: Final = re.compile(r" (?=[:;?!»])|(?<=«) ")


class Reason(NamedTuple):
    """What a code means, and the first remedy to try."""

    meaning: str
    remedy: str


class Section(NamedTuple):
    """Section of the runbook on a code: what happened, what it means, can it wait, what to do."""

    happened: str
    means: str
    wait: str
    """Yes or No, and why."""
    do: str

    @property
    def severity(self) -> str:
        """The severity, as alarms, board and `bms` show it."""
        return "can wait until morning" if self.wait.startswith("Yes") else "act now"

    @property
    def meaning(self) -> str:
        """What happened, and what it means."""
        return f"{self.happened} {self.means}"


class Reasons(dict[str, Mapping[Language, Reason]]):
    """Texts by code and language; a code that another version stored stands for its text."""

    def __missing__(self, code: str) -> Mapping[Language, Reason]:
        return dict.fromkeys(get_args(Language), Reason(code, ""))


Sections = Mapping[str, Section]
Sentences = Mapping[str, Mapping[Language, str]]
Plurals = Mapping[str, Mapping[Language, tuple[str, str]]]
"""Texts for one and for several."""


def typeset(text: str) -> str:
    """Return a French text with no-break spaces before `: ; ? !` and inside of quotes.

    Only spaces are replaced, so times such as 12:30 and addresses of pages stay as they are.
    """
    return _HIGH.sub(NO_BREAK, text)


def _read(name: str) -> dict[str, dict[str, Any]]:
    """Return the groups of a file: texts by code, and by language where the file has both."""
    groups = tomllib.loads(files(__name__).joinpath(name).read_text("utf-8"))
    remedies = groups.pop("remedies", {})
    return {
        group: {
            code: {
                language.upper(): _text(text, language, remedies)
                for language, text in entry.items()
            }
            if isinstance(entry, dict)
            else _text(entry, "en", remedies)
            for code, entry in entries.items()
        }
        for group, entries in groups.items()
    }


def _text(
    text: str | list[str], language: str, remedies: Mapping[str, Any]
) -> str | tuple[str, ...]:
    """Return a text as users read it; a remedy may be the name of a shared one."""
    shown = typeset if language == "fr" else str
    if isinstance(text, str):
        return shown(text)
    shared = remedies.get(text[-1], text[-1])
    last = shared[language] if isinstance(shared, dict) else shared
    found = (*map(shown, text[:-1]), shown(last))
    return Reason(*found) if len(found) == 2 else found  # noqa: PLR2004 - meaning and remedy


_FAULTS: Final = _read("faults.toml")
READING_FAULTS: Final = Reasons(_FAULTS["file"] | _FAULTS["note"] | _FAULTS["cell"])
"""Faults that reading a dropped file finds, and notes of what it leaves out."""
CREATION_FAULTS: Final = Reasons(_FAULTS["row"] | _FAULTS["unsettled"])
"""Why a row is rejected, waits or needs a review."""
FAULTS: Final = Reasons({**READING_FAULTS, **CREATION_FAULTS})
FRENCH_WORDS: Final[Mapping[str, str]] = _FAULTS["words"]

_DROPS: Final = _read("drops.toml")
WAITING: Final = Reasons(_DROPS["waiting"])
"""Why a dropped file is not processed yet, by the code in `waits_for`."""
SKIPPED: Final = Reasons(_DROPS["skipped"])
"""Why an entry of an inbox is no dropped file."""
WITHDRAWN: Final = Reasons(_DROPS["withdrawn"])
"""Why a drop was withdrawn before its file was read."""
OUTCOMES: Final[Plurals] = _DROPS["outcomes"]
NOTICE: Final[Mapping[str, Mapping[Language, Any]]] = _DROPS["notice"]
RECORDS: Final[Plurals] = _DROPS["records"]
PLANNED: Final[Plurals] = _DROPS["planned"]
APPROVAL: Final[Sentences] = _DROPS["approval"]
"""Why a plan needs approval, or does not."""
HEADCOUNT: Final[Sentences] = _DROPS["headcount"]
REQUEST: Final[Mapping[str, Mapping[Language, Any]]] = _DROPS["request"]
DIFFERENCE: Final[Sentences] = _DROPS["difference"]

_INBOX: Final = _read("inbox.toml")
READ_ME: Final[Sentences] = _INBOX["read_me"]
ADVICE: Final[Sentences] = _INBOX["advice"]
"""What the instructions of a resource's inbox add."""
KINDS: Final[Mapping[str, str]] = _INBOX["kinds"]


def _sections() -> dict[str, dict[str, Section]]:
    """Return the groups of the runbook; `every` gives what a code of its group lacks."""
    groups = tomllib.loads(files(__name__).joinpath("runbook.toml").read_text("utf-8"))
    shared = {group: codes.pop("every", {}) for group, codes in groups.items()}
    return {
        group: {code: Section(**{**shared[group], **texts}) for code, texts in codes.items()}
        for group, codes in groups.items()
    }


RUNBOOK: Final[Mapping[str, Sections]] = _sections()
"""Sections of the runbook by group, in the order of `docs/runbook.md`."""
ALARMS: Final = RUNBOOK["alarms"]
ERRORS_OF_TASKS: Final = RUNBOOK["errors"]
"""By type of the error with which a task failed."""
VIOLATIONS: Final = RUNBOOK["violations"]
MANY_GONE: Final = RUNBOOK["lists"]["many_gone"]
AUDIT_REASONS: Final = RUNBOOK["audit"]
ROW_FAULTS: Final = RUNBOOK["row_faults"]
SECTIONS: Final[Sections] = {
    code: each for group in RUNBOOK.values() for code, each in group.items()
}
"""Every section by code."""


def section_of(code: str) -> Section:
    """Return the section on a code that is stored, maybe by another version."""
    return SECTIONS.get(code, SECTIONS["unknown_code"])


_BOARD: Final = _read("board.toml")
STATES: Final[Mapping[str, Mapping[Language, Reason]]] = _BOARD["states"]
"""Word and meaning of a state; in French only for drops."""
PAGES: Final[Sentences] = _BOARD["pages"]
CHARTS: Final[Sentences] = _BOARD["charts"]
REPORT: Final[Mapping[str, Mapping[Language, Any]]] = _read("report.toml")["report"]
"""Sheets, columns and words of the invoice report."""
PLAN_PAGE: Final[Sentences] = _BOARD["plan"]
INBOX_PAGE: Final[Sentences] = _BOARD["inbox"]
ERRORS: Final[Sentences] = _BOARD["errors"]
