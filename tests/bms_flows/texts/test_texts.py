"""The catalogue of texts: every code has its texts, every text is used, and French is typeset."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from bms_flows import texts
from bms_flows.onboarding.resources.description import ColumnKind
from bms_flows.texts import typeset

pytestmark = pytest.mark.bookkeeping

GROUPS: Mapping[str, Mapping[str, object]] = {
    name: group
    for name, group in vars(texts).items()
    if name.isupper() and isinstance(group, dict) and not name.startswith("_")
}
BILINGUAL = {
    f"{name}.{code}": entry
    for name, group in GROUPS.items()
    for code, entry in group.items()
    if isinstance(entry, dict) and "FR" in entry
}
CODES = {"code", "reason", "more", "review_code"}
"""Variables and parameters that hold a code."""
ARGUMENTS = {
    "Ambiguous": 1,
    "ApprovalReason": 0,
    "Fault": 0,
    "MatchRule": 2,
    "ReadError": 0,
    "SkippedFile": 1,
    "_withdraw": 2,
    "_reject_report": 1,
}
"""Calls that take a code, and its place."""
RETURNING = {"_held_fault", "_not_ready", "_unfinished", "_unusable", "withdrawal"}
"""Functions that return a code."""
NO_FAULTS = {"", "abandoned", "by_us"}
"""Reasons that stay in the ledger or in created.csv."""


def sentences(entry: object) -> list[str]:
    return [entry] if isinstance(entry, str) else list(entry)  # type: ignore[call-overload]


def placeholders(entry: object) -> set[str]:
    parsed = (part for text in sentences(entry) for part in Formatter().parse(text))
    return {name for _, name, _, _ in parsed if name}


def literals(node: ast.AST) -> Iterator[str]:
    """Yield the codes that an expression may be: a literal, or both sides of a condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from literals(each)
    elif isinstance(node, ast.JoinedStr) and ast.unparse(node).startswith("f'bad_"):
        yield from (f"bad_{kind}" for kind in get_args(ColumnKind) if kind != "text")


def raised(tree: ast.AST) -> Iterator[str]:
    """Yield the codes that a module can raise, store or return."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            place = ARGUMENTS.get(name, len(node.args))
            for each in node.args[place : place + 1]:
                yield from literals(each)
            for keyword in node.keywords:
                if keyword.arg in CODES:
                    yield from literals(keyword.value)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in CODES:
            yield from literals(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in RETURNING:
            for part in ast.walk(node):
                if isinstance(part, ast.Return) and part.value is not None:
                    yield from literals(part.value)


def modules(project: Path) -> dict[Path, ast.Module]:
    files = [*(project / "include").rglob("*.py"), *(project / "plugins").rglob("*.py")]
    return {file: ast.parse(file.read_text()) for file in files}


def test_every_code_that_onboarding_can_raise_has_a_text(project: Path) -> None:
    known = {*texts.FAULTS, *texts.WAITING, *texts.SKIPPED, *texts.WITHDRAWN, *texts.APPROVAL}
    codes = {
        code
        for file, tree in modules(project).items()
        if "onboarding" in file.parts
        for code in raised(tree)
    }
    assert len(codes) > 100
    assert codes - known - NO_FAULTS == set()


def test_every_text_is_used(project: Path) -> None:
    """A code is a literal, or built from one such as f"bad_{kind}"; the board's tests check its pages."""
    used, prefixes = set(), set()
    for tree in modules(project).values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used.add(node.value)
            elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                prefixes.add(str(node.values[0].value))
    for page in (project / "plugins/bms_provider/board/templates").glob("*.html"):
        used |= {
            part
            for found in re.findall(r'"([\w ]+)"|(?:PAGE|\bp)\.(\w+)', page.read_text())
            for part in found
        }
    unused = {
        f"{name}.{code}"
        for name, group in GROUPS.items()
        for code in group
        if name not in ("PAGES", "RUNBOOK", "SECTIONS", "ERRORS_OF_TASKS", "REPORT")
        and code not in used
        and not any(p.endswith("_") and code.startswith(p) for p in prefixes)
    }
    assert unused == set()


@pytest.mark.parametrize("code", BILINGUAL)
def test_a_text_has_both_languages_with_the_same_details(code: str) -> None:
    entry = BILINGUAL[code]
    assert [*map(bool, sentences(entry["FR"]))] == [*map(bool, sentences(entry["EN"]))]
    if not code.startswith(("STATES", "WAITING")):  # an operator reads the setting, a user minutes
        assert placeholders(entry["FR"]) == placeholders(entry["EN"])


@pytest.mark.parametrize("code", BILINGUAL)
def test_a_french_text_is_typeset_and_in_the_encoding_of_french_excel(code: str) -> None:
    for text in sentences(BILINGUAL[code]["FR"]):
        assert typeset(text) == text
        text.encode("cp1252")


def test_every_fault_has_a_meaning_and_a_remedy_that_end_with_a_stop() -> None:
    codes = {**texts.FAULTS, **texts.WAITING, **texts.SKIPPED, **texts.WITHDRAWN}
    pairs: list[tuple[str, ...]] = [text for entry in codes.values() for text in entry.values()]
    pairs += texts.SECTIONS.values()
    assert [text for text in pairs if not all(part.endswith((".", "?")) for part in text)] == []


def test_french_texts_do_not_call_the_software_a_service() -> None:
    """An HR user understands `le service` as her own department."""
    french = [part for text in texts.FAULTS.values() for part in text["FR"]]
    assert not [text for text in french if "service" in text.casefold()]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Dépôt 4 : créer 2 salariés ?", "Dépôt 4\xa0: créer 2 salariés\xa0?"),
        ("Rien à faire ; sera repris !", "Rien à faire\xa0; sera repris\xa0!"),
        ("Enregistrer en « CSV UTF-8 » ici.", "Enregistrer en «\xa0CSV UTF-8\xa0» ici."),
        ("Pris le 23/11/2026 à 12:30.", "Pris le 23/11/2026 à 12:30."),
        ("Sur http://a.example:8080/bms?x=1;y", "Sur http://a.example:8080/bms?x=1;y"),
        ("Par exemple 1,23E+14 [encoding: Windows-1252]",) * 2,
        ("déjà\xa0: fait", "déjà\xa0: fait"),
    ],
)
def test_only_spaces_before_high_punctuation_and_inside_quotes_change(
    text: str, shown: str
) -> None:
    assert typeset(text) == shown
    assert typeset(shown) == shown
    assert text.split() == shown.split(), "words and signs stay"
