"""Invariants of the ledger's transitions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from bms_flows.onboarding.ledger import decisions, transitions, waits
from bms_flows.onboarding.ledger.entry import BootTime, Entry, InvalidTransition, NewRow, State

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTLE = timedelta(seconds=30)
FLIGHT = timedelta(seconds=60)
LIFE = timedelta(seconds=20)
AGE = timedelta(seconds=600)


def entry(state: State = State.READY, **given: Any) -> Entry:
    leased = {"owner": "me", "leased_until": NOW + LIFE, "checked_at": NOW}
    made = Entry(id=1, key="k", digest="d", max_attempts=5, state=state)
    return msgspec.structs.replace(made, **(leased | given))


def since_boot(at: datetime) -> BootTime:
    return BootTime("b", 1000 + (at - NOW).total_seconds())


def due_at(row: Entry) -> datetime:
    wait = waits.wait_for_lookup(row, now=NOW, clock=since_boot(NOW), settle=SETTLE)
    return NOW + timedelta(seconds=wait)


def intended(row: Entry, at: datetime = NOW) -> Entry:
    return transitions.intend(
        row, owner="me", now=at, clock=since_boot(NOW), in_flight=FLIGHT, max_age=AGE
    ).entry


def sending() -> Entry:
    return intended(entry())


def ambiguous(row: Entry, at: datetime = NOW, reason: str = "r", **given: Any) -> Entry:
    """The row after its first attempt ended at a time without a clear outcome."""
    return transitions.mark_ambiguous(
        row, attempt=1, reason=reason, now=at, clock=since_boot(at), **given
    ).entry


def looked_up(row: Entry, at: datetime, clock: BootTime | None = None) -> Entry:
    """The row after a lookup that began at a time and found nothing."""
    return transitions.record_empty_lookup(
        row, owner="me", started_at=at, clock=clock or since_boot(at), settle=SETTLE
    ).entry


def unknown(**given: Any) -> Entry:
    clock = {"boot_id": "b", "in_flight_until_s": since_boot(NOW).seconds}
    times = {"in_flight_until": NOW, "first_intended_at": NOW}
    return entry(State.UNKNOWN, attempt=1, **times, **clock, **given)


def test_an_intent_numbers_the_attempt_and_limits_its_time_in_flight() -> None:
    moved = sending()
    assert (moved.state, moved.attempt, moved.in_flight_until) == (State.SENDING, 1, NOW + FLIGHT)


@pytest.mark.parametrize(
    "given",
    [
        {"owner": None},
        {"leased_until": NOW},
        {"attempt": 5},
        {"checked_at": None},
        {"checked_at": NOW - AGE - timedelta(microseconds=1)},
        {"checked_at": NOW + timedelta(microseconds=1)},
    ],
    ids=str,
)
def test_an_intent_needs_a_lease_an_attempt_and_a_recent_check(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidTransition):
        intended(entry(**given))


def test_a_check_is_valid_until_it_expires_or_the_row_changes_owner() -> None:
    row = entry(checked_at=NOW - AGE)
    assert waits.recently_checked(row, now=NOW, max_age=AGE)
    again = transitions.claim(row, owner="me", now=NOW, life=LIFE).entry
    assert again.checked_at == NOW - AGE
    taken = transitions.claim(row, owner="you", now=NOW + LIFE, life=LIFE).entry
    assert taken.checked_at is None
    assert transitions.release(row, owner="me").entry.checked_at is None


def test_a_takeover_makes_a_send_ambiguous_and_settles_from_its_limit() -> None:
    moved = transitions.claim(sending(), owner="you", now=NOW + LIFE, life=LIFE)
    assert (moved.entry.state, moved.what) == (State.UNKNOWN, "abandoned")
    assert due_at(moved.entry) == NOW + FLIGHT + SETTLE


def test_no_ambiguous_outcome_shortens_the_time_in_flight() -> None:
    assert due_at(ambiguous(sending())) == NOW + FLIGHT + SETTLE


def test_a_late_ambiguous_outcome_settles_from_its_time() -> None:
    late = NOW + 2 * FLIGHT
    assert due_at(ambiguous(sending(), late)) == late + SETTLE


HOURS = timedelta(hours=8)


def test_an_attempt_during_an_outage_does_not_count_for_some_hours() -> None:
    met = ambiguous(sending(), reason=waits.OUTAGE, outage=HOURS)
    assert (met.attempt, met.max_attempts) == (1, 6)
    first = msgspec.structs.replace(sending(), first_intended_at=NOW - HOURS)
    met = ambiguous(first, reason=waits.OUTAGE, outage=HOURS)
    assert (met.attempt, met.max_attempts) == (1, 5)


@pytest.mark.parametrize(
    ("tried_for", "pause"), [(0, 0), (2, 2), (10, 10), (30, 30), (31, 30), (240, 30)]
)
def test_the_pause_between_attempts_of_an_outage_doubles(tried_for: int, pause: int) -> None:
    row = entry(
        reason=waits.OUTAGE,
        attempt=waits.REFUSALS,
        first_intended_at=NOW - timedelta(minutes=tried_for),
        intended_at=NOW,
    )
    assert waits.sendable_from(row) == NOW + timedelta(minutes=pause)
    few = msgspec.structs.replace(row, attempt=waits.REFUSALS - 1)
    assert waits.sendable_from(few) is None


@pytest.mark.parametrize(
    "given",
    [{}, {"reason": "server_error", "first_intended_at": NOW - HOURS, "intended_at": NOW}],
    ids=["unsent", "another reason"],
)
def test_a_row_without_an_outage_is_sent_at_once(given: dict[str, Any]) -> None:
    assert waits.sendable_from(entry(**given)) is None


def test_a_withdrawn_attempt_does_not_count() -> None:
    moved = transitions.withdraw(sending(), attempt=1, reason="r").entry
    assert (moved.state, moved.max_attempts - moved.attempt, moved.unsent) == (State.READY, 5, True)


def test_a_withdrawn_attempt_leaves_an_earlier_ambiguous_outcome() -> None:
    before = entry(attempt=1, first_intended_at=NOW - SETTLE)
    moved = transitions.withdraw(intended(before), attempt=2, reason="r").entry
    assert moved.first_intended_at == NOW - SETTLE


@pytest.mark.parametrize("boot", ["b", "another"])
def test_a_step_of_the_databases_clock_permits_no_lookup(boot: str) -> None:
    clock = BootTime(boot, since_boot(NOW).seconds + 5)
    with pytest.raises(InvalidTransition):
        looked_up(unknown(), NOW + timedelta(minutes=10), clock)


def test_after_another_boot_the_wait_starts_again() -> None:
    clock = BootTime("another", 3)
    moved = transitions.restart_wait(
        unknown(empty_lookups=1), owner="me", clock=clock, in_flight=FLIGHT
    ).entry
    assert waits.wait_for_lookup(moved, now=NOW + LIFE, clock=clock, settle=SETTLE) == 90
    with pytest.raises(InvalidTransition):
        transitions.restart_wait(moved, owner="me", clock=clock, in_flight=FLIGHT)


def test_a_returned_id_survives_an_ambiguous_outcome_and_a_new_drop() -> None:
    row = transitions.record_returned_id(sending(), attempt=1, remote_id="7").entry
    moved = ambiguous(row)
    assert moved.returned_id == "7"
    given_up = msgspec.structs.replace(moved, state=State.GIVEN_UP)
    dropped_again = NewRow(line=2, key="k", digest="d", body={})
    again = decisions.reopen(given_up, dropped_again, now=NOW, attempts=1).entry
    assert again.returned_id == "7"


def test_a_row_whose_create_returned_an_id_is_never_sent_again_without_a_decision() -> None:
    moved = ambiguous(sending(), returned_id="7")
    at = NOW + FLIGHT
    for empty_lookups in range(1, transitions.MAX_EMPTY_LOOKUPS):
        at = due_at(moved)
        moved = looked_up(moved, at)
        assert (moved.state, moved.empty_lookups) == (State.UNKNOWN, empty_lookups)
    moved = looked_up(moved, due_at(moved))
    assert (moved.state, moved.reason) == (State.REVIEW, "id_not_readable")
    assert moved.candidates == ("7",)
    decided = decisions.retry_after_review(moved, who="ada", run="r").entry
    held = transitions.claim(decided, owner="me", now=at, life=LIFE).entry
    checked = transitions.record_check(held, owner="me", checked_at=at).entry
    assert intended(checked, at).returned_id is None
