from dataclasses import replace
from typing import Any

import pytest

from bms_sandbox.operations import OPERATIONS
from proofs.contract_fuzz import Outcome, nullable, row

GOOD = Outcome(
    answers={"list_contacts": {"200": 3, "422": 1}, "token": {"200": 1, "401": 2}},
    cases=7,
    findings={},
    unanswered=[],
    seconds=1.0,
    output="",
)


def test_optional_fields_of_a_new_record_can_be_null_at_any_depth() -> None:
    skill: dict[str, Any] = {"type": "object", "properties": {"level": {"type": "integer"}}}
    schema: dict[str, Any] = {
        "properties": {"skills": {"items": {"$ref": "#/components/schemas/Skill"}}}
    }
    found = nullable(schema, {"Skill": skill})
    skills, none = found["properties"]["skills"]["anyOf"]
    assert none == {"type": "null"}
    assert skills["items"]["properties"] == {"level": {"anyOf": [{"type": "integer"}, none]}}
    assert "anyOf" not in skill["properties"]["level"], "a response is unchanged"


@pytest.mark.parametrize(
    ("found", "good"),
    [
        (GOOD, True),
        (replace(GOOD, findings={"Server error": ["POST /v1/token"]}), False),
        (replace(GOOD, unanswered=["read_contact"]), False),
    ],
)
def test_a_fault_that_was_never_reached_is_no_proof(found: Outcome, *, good: bool) -> None:
    assert found.good is good


def test_a_row_counts_requests_and_names_what_was_found() -> None:
    cells = row("defaults", replace(GOOD, findings={"Server error": ["POST /v1/token"]}))
    reached = f"{len(OPERATIONS)} of {len(OPERATIONS)}"
    assert cells == ("defaults", reached, "Server error: POST /v1/token", "7", "7", "4", "1")
