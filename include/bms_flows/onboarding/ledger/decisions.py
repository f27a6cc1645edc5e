"""Transitions of a ledger row that a reviewer or a new drop makes; `transitions` has the diagram.

Pure: the time is an argument, nothing is read or written, and no value is personal.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bms_flows.onboarding.ledger.entry import (
    LISTS_INCOMPLETE,
    RELEASED,
    Entry,
    InvalidTransition,
    State,
    Transition,
)
from bms_flows.onboarding.ledger.transitions import adopted


def adopt_candidate(
    entry: Entry, *, who: str, remote_id: str, number: int | None, standby: bool | None
) -> Transition:
    """Adopt the record that a reviewer chose."""
    if entry.state is not State.REVIEW:
        raise InvalidTransition
    changed = adopted(entry, remote_id, number, standby, ("decided",))
    return Transition(changed, "decided_candidate", remote_id, who)


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


def reopen(  # noqa: PLR0913 - the fields of the new drop
    entry: Entry,
    *,
    now: datetime,
    digest: str,
    manager_key: str | None,
    attempts: int,
    snapshot_id: int | None = None,
    reason: str | None = None,
    candidates: Sequence[str] = (),
    alike: Sequence[str] = (),
) -> Transition:
    """Enter an existing row again: rejected or abandoned, or unsent and dropped with other data.

    With a `reason` a reviewer decides first. A row that may have been sent keeps its data until its
    outcome is known.
    """
    unsent = entry.state is State.READY and entry.unsent and entry.free(now)
    if not unsent and entry.state not in {State.REJECTED, State.GIVEN_UP}:
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.READY if reason is None else State.REVIEW,
        digest=digest,
        manager_key=manager_key,
        max_attempts=entry.attempt + attempts,
        empty_lookups=0,
        first_intended_at=None,
        intended_at=None,
        in_flight_until=None,
        snapshot_id=snapshot_id,
        reason=reason,
        evidence=(),
        candidates=tuple(candidates),
        dismissed=(),
        alike=tuple(alike),
        **RELEASED,
    )
    return Transition(changed, "entered", reason)


_replace = msgspec.structs.replace
