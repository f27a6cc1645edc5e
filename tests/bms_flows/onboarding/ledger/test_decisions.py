"""Whole results of the decisions on a ledger row: every field of the row, and the history event."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from bms_flows.onboarding.ledger.decisions import (
    adopt_candidate,
    give_up,
    lose_record,
    reopen,
    retry_after_review,
)
from bms_flows.onboarding.ledger.entry import (
    LISTS_INCOMPLETE,
    Entry,
    InvalidTransition,
    NewRow,
    State,
    Transition,
)
from bms_flows.onboarding.resources.evidence import RecordIds
from tests.bms_flows.onboarding.ledger.test_allowed_transitions import NOW
from tests.bms_flows.onboarding.ledger.test_allowed_transitions import ROW as SENT

FREE = {"owner": None, "leased_until": None, "checked_at": None}
ROW = replace(
    SENT,
    state=State.REVIEW,
    max_attempts=2,
    returned_id="x",
    remote_id=None,
    candidates=("b", "a"),
    dismissed=("c", "a"),
)
REVIEWER = {"who": "ada", "run": "run"}
RECORD = {"record": RecordIds("g", 7, True)}
NEW = NewRow(line=2, key="k", digest="new", body={}, manager_key="boss")
DROP: dict[str, Any] = {"now": NOW, "row": NEW, "attempts": 5}
ENTERED = {
    "state": State.READY,
    "digest": "new",
    "manager_key": "boss",
    "max_attempts": 7,
    "empty_lookups": 0,
    "first_intended_at": None,
    "intended_at": None,
    "in_flight_until": None,
    "snapshot_id": None,
    "reason": None,
    "evidence": (),
    "candidates": (),
    "dismissed": (),
    **FREE,
}
RETRIED = {
    "state": State.READY,
    "max_attempts": 3,
    "empty_lookups": 0,
    "reason": None,
    "candidates": (),
    "dismissed": ("c", "a", "b"),
}

Given = Mapping[str, object]


ADOPTION = {"who": "ada", **RECORD}
ADOPTED = {
    "state": State.ADOPTED,
    "remote_id": "g",
    "remote_number": 7,
    "is_standby": True,
    "evidence": ("decided",),
    "reason": None,
    "candidates": (),
    **FREE,
}
UNSENT = replace(ROW, state=State.READY, first_intended_at=None, leased_until=NOW)
ALIKE: Given = {"reason": "r", "candidates": ("x", "y"), "alike": ("z",)}
AGAIN = {**DROP, "snapshot_id": 8, "row": replace(NEW, **ALIKE)}
GIVEN_UP = {"state": State.GIVEN_UP, "reason": "given_up", **FREE}
REVIEWED = {**ENTERED, "state": State.REVIEW, "snapshot_id": 8, **ALIKE}
LEFT = replace(ROW, max_attempts=4)
WAITED = replace(ROW, reason=LISTS_INCOMPLETE)
MADE = replace(ROW, state=State.CREATED, remote_id="g")
LOST = {
    "state": State.GIVEN_UP,
    "returned_id": None,
    "remote_id": None,
    "remote_number": None,
    "is_standby": None,
    "reason": "record_deleted",
}
Case = tuple[Callable[..., Transition], Entry, Given, Given, tuple[str, ...]]


def case(
    move: Callable[..., Transition], row: Entry, given: Given, changed: Given, *event: str
) -> Case:
    """Return a decision on a row with its arguments, the fields that it changes, and its event."""
    return move, row, given, changed, event


CASES = {
    "adopt": case(adopt_candidate, ROW, ADOPTION, ADOPTED, "decided_candidate", "g", "ada"),
    "retry": case(retry_after_review, ROW, REVIEWER, RETRIED, "decided_create", "run", "ada"),
    "attempts left": case(
        retry_after_review,
        LEFT,
        REVIEWER,
        {**RETRIED, "max_attempts": 4},
        "decided_create",
        "run",
        "ada",
    ),
    "lists incomplete": case(
        retry_after_review,
        WAITED,
        REVIEWER,
        {**RETRIED, "reason": LISTS_INCOMPLETE},
        "decided_create",
        "run",
        "ada",
    ),
    "id given to another": case(lose_record, MADE, {"remote_id": "g"}, LOST, "id_reused", "g"),
    "give up": case(give_up, ROW, REVIEWER, GIVEN_UP, "decided_give_up", "run", "ada"),
    **{
        state.value: case(reopen, replace(ROW, state=state), DROP, ENTERED, "entered")
        for state in (State.REJECTED, State.GIVEN_UP)
    },
    "unsent": case(reopen, UNSENT, AGAIN, REVIEWED, "entered", "r"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_decision_changes_only_its_fields_and_names_its_event(name: str) -> None:
    move, row, given, changed, event = CASES[name]
    assert move(row, **given) == Transition(replace(row, **changed), *event)


def test_a_record_that_no_drop_created_is_not_lost() -> None:
    with pytest.raises(InvalidTransition):
        lose_record(ROW, remote_id="g")


@pytest.mark.parametrize("state", [each for each in State if each is not State.REVIEW])
@pytest.mark.parametrize(
    ("move", "given"),
    [
        (adopt_candidate, {"who": "ada", **RECORD}),
        (retry_after_review, REVIEWER),
        (give_up, REVIEWER),
    ],
)
def test_a_row_that_is_not_in_review_has_no_decision(
    move: Callable[..., Transition], given: Given, state: State
) -> None:
    with pytest.raises(InvalidTransition):
        move(replace(ROW, state=state), **given)


@pytest.mark.parametrize(
    "given",
    [
        {"owner": None},  # sent
        {"first_intended_at": None},  # leased
        *(
            {"state": state, "first_intended_at": None, "owner": None}
            for state in State
            if state not in {State.READY, State.REJECTED, State.GIVEN_UP}
        ),
    ],
    ids=str,
)
def test_a_row_that_was_sent_or_is_leased_is_not_entered_again(given: Given) -> None:
    with pytest.raises(InvalidTransition):
        reopen(replace(ROW, **{"state": State.READY, **given}), **DROP)
