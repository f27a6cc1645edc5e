"""The glossary is reachable, and terms that it replaced occur nowhere."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.test_docs import tracked

pytestmark = pytest.mark.bookkeeping

PROJECT = Path(__file__).parent.parent
RETIRED = {
    "agenda": r"\bagendas?\b",
    "breath": r"\b(?-i:BREATH)\b",
    "certificate chain": r"\bprevious_certificate\b",
    "crew": r"\bcrew\b",
    "days taken": r"\b(DaysTaken|MirrorTaken|DropTaken|ClaimLost|TakenOver)\b",
    "drop table": r"\bbms\.(drop\b|\"drop\")",
    "empty looks": r"\bempty_looks\b",
    "in-flight class": r"\bInFlight\b",
    "intake": r"\bintake\b",
    "journal": r"\bjournal\b",
    "kept back": r"\bkept back\b",
    "promise": r"\bPROMISES\b",
    "quiet_at": r"\bquiet_at\b",
    "run table": r"\bbms\.run\b",
    "sparing": r"\bsparing\b",
    "stand": r"\bbench[./]stand\b",
    "stack's climb": r"\b(climb|furnish(ing)?)\b",
    "strays": r"\bstrays\b",
    "underway": r"\bunderway\b",
    "unlawful": r"\bunlawful\b",
    "vanished column": r"\b_vanished_at\b",
    "watchdog's word": r"watchdog's word",
    "witness": r"\bwitness\b",
    "wording": r"\bwording\b",
    "workbench": r"\bworkbench(es)?\b",
    "workplace": r"\bworkplaces?\b",
}
"""Patterns of terms that language and code no longer use; letter case is ignored."""
ALLOWED = {"tests/test_glossary.py"}


@cache
def texts() -> dict[str, str]:
    """Return the tracked text files by path."""
    files = {str(file.relative_to(PROJECT)): file for file in tracked()}
    return {
        name: file.read_text(errors="replace")
        for name, file in files.items()
        if name not in ALLOWED and not name.endswith(".lock")
    }


@pytest.mark.parametrize("term", sorted(RETIRED))
def test_a_retired_term_occurs_nowhere(term: str) -> None:
    pattern = re.compile(RETIRED[term], re.IGNORECASE)
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in texts().items()
        if pattern.search(text) or pattern.search(name)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_the_glossary_is_linked(document: str) -> None:
    assert "(docs/glossary.md)" in (PROJECT / document).read_text()


def test_each_term_is_defined_once() -> None:
    terms = re.findall(r"\*\*([^*]+)\*\*", (PROJECT / "docs/glossary.md").read_text())
    lower = [term.lower() for term in terms]
    assert len(terms) > 60
    assert [term for term in lower if lower.count(term) > 1] == []
