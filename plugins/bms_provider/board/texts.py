"""Texts of the board by language: HR users read the pages of drops in the language of their inbox."""

from collections.abc import Callable, Mapping
from typing import Any

from bms_flows.onboarding.faults import Fault
from bms_flows.runtime.settings import Language
from bms_flows.texts import CHARTS, FAULTS, OUTCOMES, PAGES, RECORDS

_OUTCOMES = ("created", "adopted", "already_there", "rejected", "needs_review", "waiting")


def translator(language: Language) -> Callable[[str], Any]:
    """Return the function that gives a text of the pages in a language."""
    return lambda code: PAGES[code][language]


def outcome_labels(language: Language) -> dict[str, str]:
    """Return the headings of the outcomes of rows, by outcome."""
    return {
        key: (OUTCOMES[key]["FR"][1] if language == "FR" else key.replace("_", " ")).capitalize()
        for key in _OUTCOMES
    }


def of_new_records(code: str, resource: str, language: Language) -> str:
    """Return a title of the page of a flow that creates records."""
    return CHARTS[code][language].format(records=RECORDS[resource][language][1])


def download_name(name: str, language: Language) -> str:
    """Return the name under which HR users download a report file: `créés.csv` for `created.csv`."""
    stem, dot, suffix = name.rpartition(".")
    known = PAGES.get(f"file_{stem}")
    return f"{known[language]}{dot}{suffix}" if known else name


def file_fault(stored: Mapping[str, Any], language: Language) -> tuple[str, str]:
    """Return what is wrong with a whole file, and what to do."""
    fault = Fault(stored["code"], stored.get("line"), details=stored["details"])
    return fault.reason(language), fault.hint(language)


def row_reason(code: str | None, language: Language) -> str:
    """Return why a row is unfinished: the sentence, or the code if its sentence needs details."""
    if not code:
        return ""
    text = FAULTS[code][language].meaning.replace("{nearest}", "")
    return code if "{" in text else text
