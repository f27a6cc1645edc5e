"""Recall and precision of the match rules on persons who are typed again, with fewer persons than the page."""

import ast
import sys
from pathlib import Path

import pytest

from proofs.persons import LOST
from proofs.possible_matches import NAME_ONLY, RESOURCES, measure, precision, recall, total

LEAST = {
    "nothing else": 0.97,
    "another payroll number": 0.97,
    "another address": 0.84,
    "another mobile phone": 0.94,
    "another number, address and mobile phone": 0.5,
}
"""Least recall; proofs/results/possible_matches.md has the measured one."""


@pytest.mark.parametrize("resource", RESOURCES)
def test_persons_typed_again_are_recognized_and_new_persons_are_not(resource: str) -> None:
    found = measure(resource, count=1_000)
    assert LEAST.keys() == LOST.keys()
    for lost, least in LEAST.items():
        assert recall(total(found, lost)) >= least, lost
        assert precision(found, lost) >= 0.95, lost
        assert total(found, lost)["wrong"] == 0, lost
    assert found["new persons"]["wrong"] == 0
    joined = found["particle joined to the name; another number, address and mobile phone"]
    assert recall(joined) == 1


@pytest.mark.parametrize("resource", RESOURCES)
def test_persons_who_have_only_the_name_in_common_go_to_review(resource: str) -> None:
    found = measure(resource, count=1_000, lost=NAME_ONLY)
    [name] = NAME_ONLY
    assert recall(total(found, name)) >= 0.5
    assert precision(found, name) >= 0.9
    assert total(found, name)["matched"] + found["new persons"]["wrong"] == 0


def test_the_persons_are_generated_without_the_rules(project: Path) -> None:
    tree = ast.parse((project / "proofs/persons.py").read_text())
    modules = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert modules <= sys.stdlib_module_names | {"collections.abc"}
