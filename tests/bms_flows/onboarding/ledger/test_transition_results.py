"""Whole results of the ledger's transitions: every field of the row, and the history event."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from bms_flows.onboarding.ledger import transitions as t
from bms_flows.onboarding.ledger.entry import BootTime, Entry, InvalidTransition, State, Transition

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
FREE = {"owner": None, "leased_until": None, "checked_at": None}
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
FOUND = {
    "remote_id": "g",
    "remote_number": 7,
    "is_standby": True,
    "reason": None,
    "candidates": (),
    **FREE,
}
LIFE = {"now": NOW, "life": 2 * MINUTE}
CLOCK = BootTime("b", 1000.0)
INTENT = {"owner": "me", "now": NOW, "clock": CLOCK, "in_flight": MINUTE, "max_age": MINUTE}
LOOKUP = {"owner": "me", "started_at": NOW - MINUTE, "clock": CLOCK, "settle": MINUTE}
RECORD = {"remote_id": "g", "number": 7, "standby": True}
AMBIGUOUS = {"attempt": 2, "reason": "r", "now": NOW, "clock": CLOCK}

Case = tuple[
    Callable[..., Transition], Entry, dict[str, object], dict[str, object], tuple[str, ...]
]
MOVES: dict[str, Case] = {
    "the holder claims again": (
        t.claim,
        SENDING,
        {"owner": "me", **LIFE},
        {"leased_until": NOW + 2 * MINUTE},
        (),
    ),
    "another worker takes over a POST": (
        t.claim,
        EXPIRED,
        {"owner": "you", **LIFE},
        {
            "owner": "you",
            "leased_until": NOW + 2 * MINUTE,
            "state": State.UNKNOWN,
            "empty_lookups": 0,
            "reason": "abandoned",
            "checked_at": None,
        },
        ("abandoned",),
    ),
    "another worker takes over a lookup": (
        t.claim,
        replace(UNKNOWN, leased_until=NOW),
        {"owner": "you", **LIFE},
        {"owner": "you", "leased_until": NOW + 2 * MINUTE, "checked_at": None},
        (),
    ),
    "renew": (t.renew, EXPIRED, {"owner": "me", **LIFE}, {"leased_until": NOW + 2 * MINUTE}, ()),
    "release": (t.release, ROW, {"owner": "me"}, FREE, ()),
    "check": (
        t.record_check,
        ROW,
        {"owner": "me", "checked_at": NOW},
        {"checked_at": NOW, "empty_lookups": 0},
        (),
    ),
    "intend again": (
        t.intend,
        replace(ROW, returned_id="x"),
        INTENT,
        {
            "state": State.SENDING,
            "attempt": 3,
            "intended_at": NOW,
            "in_flight_until": NOW + MINUTE,
            "boot_id": "b",
            "in_flight_until_s": 1060.0,
            "returned_id": None,
            "empty_lookups": 0,
            "reason": None,
        },
        ("intended",),
    ),
    "intend first": (
        t.intend,
        replace(ROW, attempt=0, first_intended_at=None, intended_at=None),
        INTENT,
        {
            "state": State.SENDING,
            "attempt": 1,
            "first_intended_at": NOW,
            "intended_at": NOW,
            "in_flight_until": NOW + MINUTE,
            "boot_id": "b",
            "in_flight_until_s": 1060.0,
            "empty_lookups": 0,
            "reason": None,
        },
        ("intended",),
    ),
    "confirm": (
        t.confirm,
        SENDING,
        {"attempt": 2, **RECORD},
        {**FOUND, "state": State.CREATED, "evidence": ("answer",)},
        ("created", "g"),
    ),
    "returned id while sending": (
        t.record_returned_id,
        SENDING,
        {"attempt": 2, "remote_id": "g"},
        {"returned_id": "g", "checked_at": None},
        (),
    ),
    "returned id while unknown": (
        t.record_returned_id,
        UNKNOWN,
        {"attempt": 2, "remote_id": "g"},
        {"returned_id": "g", "checked_at": None},
        (),
    ),
    "late response": (t.record_late_response, ROW, {"remote_id": "g"}, {}, ("late_answer", "g")),
    "reject": (
        t.reject,
        UNKNOWN,
        {"attempt": 2, "reason": "r"},
        {"state": State.REJECTED, "reason": "r", **FREE},
        ("rejected", "r"),
    ),
    "ambiguous": (
        t.mark_ambiguous,
        SENDING,
        {**AMBIGUOUS, "returned_id": "g"},
        {
            "state": State.UNKNOWN,
            "in_flight_until": NOW,
            "boot_id": "b",
            "in_flight_until_s": 1000.0,
            "empty_lookups": 0,
            "reason": "r",
            "returned_id": "g",
        },
        ("unknown", "r"),
    ),
    "ambiguous without times": (
        t.mark_ambiguous,
        replace(SENDING, in_flight_until=None, first_intended_at=None),
        {**AMBIGUOUS, "outage": SECOND},
        {
            "state": State.UNKNOWN,
            "in_flight_until": NOW,
            "boot_id": "b",
            "in_flight_until_s": 1000.0,
            "max_attempts": 6,
            "empty_lookups": 0,
            "reason": "r",
        },
        ("unknown", "r"),
    ),
    "withdraw the first attempt": (
        t.withdraw,
        replace(SENDING, first_intended_at=SENDING.intended_at),
        {"attempt": 2, "reason": "r"},
        {
            "state": State.READY,
            "max_attempts": 6,
            "first_intended_at": None,
            "empty_lookups": 0,
            "reason": "r",
        },
        ("withdrawn", "r"),
    ),
    "withdraw a later attempt": (
        t.withdraw,
        UNKNOWN,
        {"attempt": 2, "reason": "r"},
        {"state": State.READY, "max_attempts": 6, "empty_lookups": 0, "reason": "r"},
        ("withdrawn", "r"),
    ),
    **{
        f"adopt {row.state}": (
            t.adopt,
            row,
            {"owner": "me", **RECORD, "evidence": ["x", "y"]},
            {**FOUND, "state": State.ADOPTED, "evidence": ("x", "y")},
            ("adopted", "g"),
        )
        for row in (ROW, UNKNOWN)
    },
    **{
        f"review {row.state}": (
            t.send_to_review,
            row,
            {"owner": "me", "candidates": ["x", "y"], "reason": "r"},
            {"state": State.REVIEW, "candidates": ("x", "y"), "reason": "r", **FREE},
            ("review", "r"),
        )
        for row in (ROW, UNKNOWN)
    },
    "first empty lookup": (
        t.record_empty_lookup,
        replace(UNKNOWN, empty_lookups=0),
        LOOKUP,
        {"empty_lookups": 1},
        ("not_found",),
    ),
    "second empty lookup": (
        t.record_empty_lookup,
        UNKNOWN,
        LOOKUP,
        {"empty_lookups": 2, "state": State.READY, "checked_at": NOW - MINUTE},
        ("cleared",),
    ),
    "no attempts left": (
        t.record_empty_lookup,
        replace(UNKNOWN, max_attempts=2),
        LOOKUP,
        {
            "empty_lookups": 2,
            "state": State.REVIEW,
            "candidates": (),
            "reason": "attempts_used",
            **FREE,
        },
        ("review", "attempts_used"),
    ),
    "id not readable": (
        t.record_empty_lookup,
        replace(UNKNOWN, returned_id="g", empty_lookups=19),
        {**LOOKUP, "started_at": NOW + 60 * MINUTE, "clock": BootTime("b", 4600.0)},
        {
            "empty_lookups": 20,
            "state": State.REVIEW,
            "candidates": ("g",),
            "reason": "id_not_readable",
            **FREE,
        },
        ("review", "id_not_readable"),
    ),
    "lists lack other records": (
        t.record_empty_lookup,
        UNKNOWN,
        {**LOOKUP, "doubt": "lists_incomplete"},
        {"empty_lookups": 2},
        ("not_found",),
    ),
    "lists never have other records": (
        t.record_empty_lookup,
        replace(UNKNOWN, empty_lookups=19),
        {
            **LOOKUP,
            "started_at": NOW + 60 * MINUTE,
            "clock": BootTime("b", 4600.0),
            "doubt": "lists_incomplete",
        },
        {
            "empty_lookups": 20,
            "state": State.REVIEW,
            "candidates": (),
            "reason": "lists_incomplete",
            **FREE,
        },
        ("review", "lists_incomplete"),
    ),
    "no manager": (
        t.reject_without_manager,
        replace(ROW, first_intended_at=None),
        {"owner": "me", "reason": "r"},
        {"state": State.REJECTED, "reason": "r", **FREE},
        ("rejected", "r"),
    ),
}


@pytest.mark.parametrize(("move", "row", "given", "changed", "event"), MOVES.values(), ids=MOVES)
def test_a_transition_changes_only_its_fields_and_names_its_event(
    move: Callable[..., Transition],
    row: Entry,
    given: dict[str, object],
    changed: dict[str, object],
    event: tuple[str, ...],
) -> None:
    assert move(row, **given) == Transition(replace(row, **changed), *event)


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
    move, row, given, _, _ = MOVES[name]
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
            for name, (_, _, given, _, _) in MOVES.items()
            for key, value in (("owner", "else"), ("attempt", 1))
            if key in given and not name.startswith("another worker")
        ),
        ("late response", {"remote_id": "before"}),
        ("second empty lookup", {"started_at": NOW - MINUTE - SECOND}),
    ],
    ids=str,
)
def test_another_worker_attempt_or_time_is_refused(name: str, wrong: dict[str, object]) -> None:
    move, row, given, _, _ = MOVES[name]
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
        t.wait_for_lookup(
            replace(UNKNOWN, in_flight_until=None), now=NOW, clock=CLOCK, settle=MINUTE
        )


@pytest.mark.parametrize("missing", ["intended_at", "first_intended_at"])
def test_an_outage_without_both_intents_has_no_pause(missing: str) -> None:
    assert t.sendable_from(replace(ROW, reason=t.OUTAGE, **{missing: None})) is None
