"""Transitions of a ledger row: the states and callers that allow each, and its history event."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from bms_flows.onboarding.ledger import transitions as t
from bms_flows.onboarding.ledger import waits
from bms_flows.onboarding.ledger.entry import BootTime, Entry, InvalidTransition, State, Transition
from bms_flows.onboarding.resources.evidence import RecordIds

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
ROW = Entry(
    id=1,
    key="key",
    digest="digest",
    drop_id=2,
    attempt=2,
    max_attempts=5,
    first_intended_at=NOW - 9 * MINUTE,
    intended_at=NOW - 4 * MINUTE,
    in_flight_until=NOW - 3 * MINUTE,
    boot_id="b",
    in_flight_until_s=1000.0 - 180,
    empty_lookups=1,
    snapshot_id=3,
    checked_at=NOW - MINUTE,
    remote_id="before",
    remote_number=4,
    is_standby=False,
    reason="why",
    evidence=("old",),
    candidates=("a", "b"),
    dismissed=("c",),
    manager_key="manager",
    owner="me",
    leased_until=NOW + MINUTE,
)
SENDING = replace(ROW, state=State.SENDING)
UNKNOWN = replace(ROW, state=State.UNKNOWN)
EXPIRED = replace(SENDING, leased_until=NOW)
LIFE = {"now": NOW, "life": 2 * MINUTE}
CLOCK = BootTime("b", 1000.0)
INTENT = {"owner": "me", "now": NOW, "clock": CLOCK, "in_flight": MINUTE, "max_age": MINUTE}
LOOKUP = {"owner": "me", "started_at": NOW - MINUTE, "clock": CLOCK, "settle": MINUTE}
RECORD = {"record": RecordIds("g", 7, True)}
AMBIGUOUS = {"attempt": 2, "reason": "r", "now": NOW, "clock": CLOCK}

Case = tuple[Callable[..., Transition], Entry, dict[str, object], tuple[str, ...]]


def case(move: Callable[..., Transition], row: Entry, *event: str, **given: object) -> Case:
    """Return a transition of a row with its arguments, and what its event begins with."""
    return move, row, given, event


DECIDED = {"owner": "me", "candidates": ["x", "y"], "reason": "r"}
ADOPTED = {"owner": "me", **RECORD, "evidence": ["x", "y"]}
RETURNED = replace(UNKNOWN, returned_id="g", empty_lookups=19)
HOUR_LATER = {**LOOKUP, "started_at": NOW + 60 * MINUTE, "clock": BootTime("b", 4600.0)}
UNSENT = replace(ROW, first_intended_at=None)
MOVES = {
    "the holder claims again": case(t.claim, SENDING, owner="me", **LIFE),
    "another worker takes over a POST": case(t.claim, EXPIRED, "abandoned", owner="you", **LIFE),
    "another worker takes over a lookup": case(
        t.claim, replace(UNKNOWN, leased_until=NOW), owner="you", **LIFE
    ),
    "renew": case(t.renew, EXPIRED, owner="me", **LIFE),
    "release": case(t.release, ROW, owner="me"),
    "check": case(t.record_check, ROW, owner="me", checked_at=NOW),
    "intend again": case(t.intend, replace(ROW, returned_id="x"), "intended", **INTENT),
    "confirm": case(t.confirm, SENDING, "created", "g", attempt=2, **RECORD),
    "returned id while sending": case(t.record_returned_id, SENDING, attempt=2, remote_id="g"),
    "late response": case(t.record_late_response, ROW, "late_answer", "g", remote_id="g"),
    "reject": case(t.reject, UNKNOWN, "rejected", "r", attempt=2, reason="r"),
    "ambiguous": case(t.mark_ambiguous, SENDING, "unknown", "r", **AMBIGUOUS, returned_id="g"),
    "withdraw a later attempt": case(t.withdraw, UNKNOWN, "withdrawn", "r", attempt=2, reason="r"),
    **{
        f"adopt {row.state}": case(t.adopt, row, "adopted", "g", **ADOPTED)
        for row in (ROW, UNKNOWN)
    },
    **{
        f"review {row.state}": case(t.send_to_review, row, "review", "r", **DECIDED)
        for row in (ROW, UNKNOWN)
    },
    "first empty lookup": case(
        t.record_empty_lookup, replace(UNKNOWN, empty_lookups=0), "not_found", **LOOKUP
    ),
    "second empty lookup": case(t.record_empty_lookup, UNKNOWN, "cleared", **LOOKUP),
    "no attempts left": case(
        t.record_empty_lookup, replace(UNKNOWN, max_attempts=2), "review", "attempts_used", **LOOKUP
    ),
    "id not readable": case(
        t.record_empty_lookup, RETURNED, "review", "id_not_readable", **HOUR_LATER
    ),
    "lists lack other records": case(
        t.record_empty_lookup, UNKNOWN, "not_found", **LOOKUP, doubt="lists_incomplete"
    ),
    "no manager": case(t.reject_without_manager, UNSENT, "rejected", "r", owner="me", reason="r"),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_transition_records_its_event(name: str) -> None:
    move, row, given, event = MOVES[name]
    moved = move(row, **given)
    assert (moved.what, moved.detail)[: len(event) or 1] == (event or (None,))


ALL = frozenset(State)
ALLOWED: dict[str, frozenset[State]] = {
    "another worker takes over a lookup": frozenset({State.READY, State.SENDING, State.UNKNOWN}),
    "check": frozenset({State.READY}),
    "intend again": frozenset({State.READY}),
    "confirm": ALL - {State.CREATED, State.ADOPTED},
    "returned id while sending": ALL - {State.CREATED, State.ADOPTED},
    "reject": frozenset({State.SENDING, State.UNKNOWN}),
    "ambiguous": frozenset({State.SENDING}),
    "withdraw a later attempt": frozenset({State.SENDING, State.UNKNOWN}),
    "adopt ready": frozenset({State.READY, State.UNKNOWN}),
    "review ready": frozenset({State.READY, State.UNKNOWN}),
    "second empty lookup": frozenset({State.UNKNOWN}),
    "no manager": frozenset({State.READY}),
}


@pytest.mark.parametrize("name", ALLOWED)
@pytest.mark.parametrize("state", State)
def test_a_transition_is_allowed_only_in_its_states(name: str, state: State) -> None:
    move, row, given, _ = MOVES[name]
    if state in ALLOWED[name]:
        move(replace(row, state=state), **given)
    else:
        with pytest.raises(InvalidTransition):
            move(replace(row, state=state), **given)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(
            (name, {key: value})
            for name, (_, _, given, _) in MOVES.items()
            for key, value in (("owner", "else"), ("attempt", 1))
            if key in given and not name.startswith("another worker")
        ),
        ("late response", {"remote_id": "before"}),
        ("second empty lookup", {"started_at": NOW - MINUTE - SECOND}),
    ],
    ids=str,
)
def test_another_worker_attempt_or_time_is_refused(name: str, wrong: dict[str, object]) -> None:
    move, row, given, _ = MOVES[name]
    with pytest.raises(InvalidTransition):
        move(row, **{**given, **wrong})


def test_a_lost_intent_is_restored_under_the_current_lease() -> None:
    intended = replace(SENDING, attempt=3, returned_id=None)
    other = {"owner": "else", "leased_until": NOW, "checked_at": None}
    lost = replace(ROW, state=State.READY, in_flight_until=None, **other)
    assert t.with_intent(lost, intended) == replace(intended, **other)


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, state=State.READY, attempt=3),
        *(replace(ROW, state=state) for state in State if state is not State.READY),
    ],
)
def test_an_intent_that_the_ledger_has_or_has_settled_is_not_restored(row: Entry) -> None:
    assert t.with_intent(row, replace(SENDING, attempt=3)) is row


def test_a_row_that_was_sent_is_not_rejected_for_its_manager() -> None:
    with pytest.raises(InvalidTransition):
        t.reject_without_manager(ROW, owner="me", reason="r")


def test_a_row_without_a_time_in_flight_has_no_lookup() -> None:
    with pytest.raises(InvalidTransition):
        waits.wait_for_lookup(
            replace(UNKNOWN, in_flight_until=None), now=NOW, clock=CLOCK, settle=MINUTE
        )


@pytest.mark.parametrize("missing", ["intended_at", "first_intended_at"])
def test_an_outage_without_both_intents_has_no_pause(missing: str) -> None:
    assert waits.sendable_from(replace(ROW, reason=waits.OUTAGE, **{missing: None})) is None
