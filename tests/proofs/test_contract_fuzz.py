from dataclasses import replace

import pytest

from proofs.contract_fuzz import Outcome

GOOD = Outcome(
    answers={"list_contacts": {"200": 3, "422": 1}, "token": {"200": 1, "401": 2}},
    cases=7,
    findings={},
    unanswered=[],
    seconds=1.0,
    output="",
)


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
