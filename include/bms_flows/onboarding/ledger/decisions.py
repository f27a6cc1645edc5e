"""Transitions of a ledger row that a reviewer or a new drop makes; `transitions` has the diagram.

Pure: the time is an argument, nothing is read or written, and no value is personal.
"""

from datetime import datetime

import msgspec

from bms_flows.onboarding.ledger.entry import (
    LISTS_INCOMPLETE,
    RELEASED,
    Entry,
    InvalidTransition,
    NewRow,
    State,
    Transition,
)
from bms_flows.onboarding.ledger.transitions import with_record
from bms_flows.onboarding.resources.evidence import RecordIds


def adopt_candidate(entry: Entry, *, who: str, record: RecordIds) -> Transition:
    """Adopt the record that a reviewer chose."""
    if entry.state is not State.REVIEW:
        raise InvalidTransition
    changed = with_record(entry, State.ADOPTED, record, ("decided",))
    return Transition(changed, "decided_candidate", record.remote_id, who)


def retry_after_review(entry: Entry, *, who: str, run: str) -> Transition:
    """Apply a reviewer's decision, made in DAG run `run`, that no record exists.

    Allows one more attempt if none is left, and dismisses the candidates that the reviewer saw. A row
    that waited because the lists are incomplete keeps this reason, so that it is sent although they
    still are.
    """
    if entry.state is not State.REVIEW:
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.READY,
        max_attempts=max(entry.max_attempts, entry.attempt + 1),
        empty_lookups=0,
        reason=entry.reason if entry.reason == LISTS_INCOMPLETE else None,
        candidates=(),
        dismissed=tuple(dict.fromkeys([*entry.dismissed, *entry.candidates])),
    )
    return Transition(changed, "decided_create", run, who)


def give_up(entry: Entry, *, who: str, run: str) -> Transition:
    """Apply a reviewer's decision, made in DAG run `run`, not to create the row."""
    if entry.state is not State.REVIEW:
        raise InvalidTransition
    changed = _replace(entry, state=State.GIVEN_UP, reason="given_up", **RELEASED)
    return Transition(changed, "decided_give_up", run, who)


def forget(entry: Entry) -> Entry:
    """Return a created row whose record users removed by an undo sheet, as one that was given up.

    Raises `InvalidTransition` for a record that no drop created.
    """
    if not entry.made:
        raise InvalidTransition
    return _replace(
        entry,
        state=State.GIVEN_UP,
        returned_id=None,
        remote_id=None,
        remote_number=None,
        is_standby=None,
    )


def lose_record(entry: Entry, *, remote_id: str) -> Transition:
    """Record that a created row's record was deleted: the service gave its id to another record."""
    return Transition(_replace(forget(entry), reason="record_deleted"), "id_reused", remote_id)


def reopen(
    entry: Entry, row: NewRow, *, now: datetime, attempts: int, snapshot_id: int | None = None
) -> Transition:
    """Enter an existing row again: rejected or abandoned, or unsent and dropped with other data.

    With a `reason` of the new row a reviewer decides first. A row that may have been sent keeps its data until its
    outcome is known.
    """
    unsent = entry.state is State.READY and entry.unsent and entry.free(now)
    if not unsent and entry.state not in {State.REJECTED, State.GIVEN_UP}:
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.READY if row.reason is None else State.REVIEW,
        digest=row.digest,
        manager_key=row.manager_key,
        max_attempts=entry.attempt + attempts,
        empty_lookups=0,
        first_intended_at=None,
        intended_at=None,
        in_flight_until=None,
        snapshot_id=snapshot_id,
        reason=row.reason,
        evidence=(),
        candidates=row.candidates,
        dismissed=(),
        alike=row.alike,
        **RELEASED,
    )
    return Transition(changed, "entered", row.reason)


_replace = msgspec.structs.replace
