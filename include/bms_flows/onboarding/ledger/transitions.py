"""State machine of a ledger row: the transitions and the conditions under which each is allowed.

                enter                       intend: attempt n + 1, committed before its POST
                  │           ┌────────────────────────────────────────────┐
    reopen ─────► READY ──────┘                                            ▼
      ▲            ▲ ▲ ▲ ▲───────── withdraw: POST not sent ─────────── SENDING ── confirm: 2xx ─► CREATED
      │            │ │ │                                               │  └─ reject: 4xx ─► REJECTED
      │            │ │ └─────────── withdraw ──────────┐  ambiguous or │
      │            │ │                                 │  abandoned    ▼
      │            │ └── second empty lookup ──────────┴────────── UNKNOWN ── one record ──► ADOPTED
      │            │     (attempts left)                               │
      │            └── decision: create ───── REVIEW ◄─────────────────┘ several, or no attempts left
      │                                          └─ decision: a candidate ► ADOPTED, give up ► GIVEN_UP
      └──────── REJECTED, GIVEN_UP: dropped again

A READY row is checked against the service before its first POST. If the service has its record, the
row becomes ADOPTED; if the service may have it, the row goes to REVIEW. A late 2xx response to the
last attempt is recorded in every state.

`decisions` has the transitions that a reviewer or a new drop makes, this module all others, `waits` the
times between them, and the assumptions that remain. Each invariant is enforced by one function, under
the row lock of `store`:

1. Only the worker that moved a row from READY to SENDING sends its POST. The transition requires the
   lease and a check, at most `max_age` old and made under the same lease, that the service has no
   record for the row. It is committed before the POST is sent.
2. SENDING returns to READY only if the service did not execute the POST.
3. After `in_flight_until` the last attempt is over: the intent plus the longest duration of a create.
   A POST is sent in the first half of that time or not at all; the service finishes in the second
   half. Settling starts there whatever was answered, because a gateway answers 502 or 504 while the
   service continues. The time must pass by the database's clock and by the machine's clock since
   its boot; after another boot it starts again.
4. UNKNOWN returns to READY after two empty lookups: the first a settle time after `in_flight_until`,
   the second a settle time later. Both must prove absence (`sending.absence`): the lists show a
   record that was created after the attempt ended. After 20 lookups without such proof a reviewer
   decides. A row never has more than `max_attempts` attempts. An attempt answered 429 or 503 does
   not count for some hours after the first attempt of the row.
5. A remote record belongs to one row only (unique index, see `store`).
6. An id that a POST returned is stored until the next intent. The row is not sent again unless a
   reviewer decided against that id.

Pure: the time is an argument, nothing is read or written, and no value is personal.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from bms_flows.onboarding.ledger.entry import (
    EXISTING,
    OPEN,
    RELEASED,
    BootTime,
    Entry,
    InvalidTransition,
    State,
    Transition,
)
from bms_flows.onboarding.ledger.waits import recently_checked, wait_for_lookup
from bms_flows.onboarding.resources.evidence import RecordIds

UNCONFIRMED: Final = frozenset(State) - EXISTING
EMPTY_LOOKUPS: Final = 2
"""Lookups, a settle time apart, that must find no record before a POST is repeated."""
MAX_EMPTY_LOOKUPS: Final = 20
"""Lookups before a reviewer decides, if an empty lookup does not show that the record is missing."""


def claim(entry: Entry, *, owner: str, now: datetime, life: timedelta) -> Transition:
    """Take the lease of an open row; a POST of the previous holder becomes an ambiguous outcome.

    Settling still starts at `in_flight_until`: the previous holder may be alive.
    """
    if entry.state not in OPEN or not (entry.owner == owner or entry.free(now)):
        raise InvalidTransition
    abandoned = entry.state is State.SENDING and entry.owner != owner
    changed = _replace(
        entry,
        owner=owner,
        leased_until=now + life,
        state=State.UNKNOWN if abandoned else entry.state,
        empty_lookups=0 if abandoned else entry.empty_lookups,
        reason="abandoned" if abandoned else entry.reason,
        checked_at=entry.checked_at if entry.owner == owner else None,
    )
    return Transition(changed, "abandoned" if abandoned else None)


def renew(entry: Entry, *, owner: str, now: datetime, life: timedelta) -> Transition:
    """Extend the lease, also an expired lease that no other worker took."""
    _require(entry, *State, owner=owner)
    return Transition(_replace(entry, leased_until=now + life))


def release(entry: Entry, *, owner: str) -> Transition:
    """Release the lease."""
    _require(entry, *State, owner=owner)
    return Transition(_replace(entry, **RELEASED))


def record_check(entry: Entry, *, owner: str, checked_at: datetime) -> Transition:
    """Record that the service had no record for a READY row at `checked_at`."""
    _require(entry, State.READY, owner=owner)
    return Transition(_replace(entry, checked_at=checked_at, empty_lookups=0))


def record_doubtful_check(entry: Entry, *, owner: str, doubt: str) -> Transition:
    """Record that a read of the lists does not prove that the service lacks a READY row's record.

    `doubt` is the code of the reason. After `MAX_EMPTY_LOOKUPS` reads a reviewer decides.
    """
    _require(entry, State.READY, owner=owner)
    checks = entry.empty_lookups + 1
    changed = _replace(entry, empty_lookups=checks, checked_at=None)
    if checks < MAX_EMPTY_LOOKUPS:
        return Transition(changed)
    return _review(changed, (), doubt)


def intend(
    entry: Entry,
    *,
    owner: str,
    now: datetime,
    clock: BootTime,
    in_flight: timedelta,
    max_age: timedelta,
) -> Transition:
    """Record the intent of the next POST; the caller commits it before sending.

    Requires the lease, a check within `max_age` and an attempt left.
    """
    _require(entry, State.READY, owner=owner)
    checked = recently_checked(entry, now=now, max_age=max_age)
    if not checked or not entry.held_by(owner, now) or entry.attempt >= entry.max_attempts:
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.SENDING,
        attempt=entry.attempt + 1,
        first_intended_at=entry.first_intended_at or now,
        intended_at=now,
        in_flight_until=now + in_flight,
        boot_id=clock.boot,
        in_flight_until_s=clock.seconds + in_flight.total_seconds(),
        returned_id=None,
        empty_lookups=0,
        reason=None,
    )
    return Transition(changed, "intended")


def with_intent(entry: Entry, intended: Entry) -> Entry:
    """Return the row with its latest intent, if the ledger lost it: a failover or a restore lost commits."""
    if entry.attempt >= intended.attempt or entry.state is not State.READY:
        return entry
    held = {name: getattr(entry, name) for name in RELEASED}
    return _replace(intended, **held)


def confirm(entry: Entry, *, attempt: int, record: RecordIds) -> Transition:
    """Record the 2xx response to POST `attempt`; needs no lease."""
    _require(entry, *UNCONFIRMED, attempt=attempt)
    changed = with_record(entry, State.CREATED, record, ("answer",))
    return Transition(changed, "created", record.remote_id)


def record_returned_id(entry: Entry, *, attempt: int, remote_id: str) -> Transition:
    """Record the id that POST `attempt` returned, before its record is read; needs no lease.

    A row that may be sent again is checked again first, with this id.
    """
    _require(entry, *UNCONFIRMED, attempt=attempt)
    return Transition(_replace(entry, returned_id=remote_id, checked_at=None))


def record_late_response(entry: Entry, *, remote_id: str) -> Transition:
    """Record the response to a POST of a row that already has another record: a duplicate."""
    if entry.remote_id == remote_id:
        raise InvalidTransition
    return Transition(entry, "late_answer", remote_id)


def reject(entry: Entry, *, attempt: int, reason: str) -> Transition:
    """Record that the service refused POST `attempt`."""
    _require(entry, State.SENDING, State.UNKNOWN, attempt=attempt)
    changed = _replace(entry, state=State.REJECTED, reason=reason, **RELEASED)
    return Transition(changed, "rejected", reason)


def mark_ambiguous(
    entry: Entry,
    *,
    attempt: int,
    reason: str,
    now: datetime,
    clock: BootTime,
    returned_id: str | None = None,
    outage: timedelta | None = None,
) -> Transition:
    """Record that the outcome of POST `attempt` is ambiguous; settling starts at its in-flight bound.

    `returned_id` is an id that the service returned and that is not confirmed. With `outage`
    the service is unavailable: the attempt does not count for that time after the first attempt.
    """
    _require(entry, State.SENDING, attempt=attempt)
    free = outage is not None and now - (entry.first_intended_at or now) < outage
    changed = _replace(
        entry,
        state=State.UNKNOWN,
        in_flight_until=now if entry.in_flight_until is None else max(now, entry.in_flight_until),
        boot_id=clock.boot,
        in_flight_until_s=max(clock.seconds, entry.in_flight_until_s or 0.0),
        max_attempts=entry.max_attempts + free,
        empty_lookups=0,
        reason=reason,
        returned_id=returned_id or entry.returned_id,
    )
    return Transition(changed, "unknown", reason)


def withdraw(entry: Entry, *, attempt: int, reason: str) -> Transition:
    """Record that POST `attempt` was not executed; the attempt does not count.

    After a withdrawn first attempt the row is unsent again.
    """
    _require(entry, State.SENDING, State.UNKNOWN, attempt=attempt)
    first = entry.first_intended_at == entry.intended_at
    changed = _replace(
        entry,
        state=State.READY,
        max_attempts=entry.max_attempts + 1,
        first_intended_at=None if first else entry.first_intended_at,
        empty_lookups=0,
        reason=reason,
    )
    return Transition(changed, "withdrawn", reason)


def restart_wait(entry: Entry, *, owner: str, clock: BootTime, in_flight: timedelta) -> Transition:
    """Settle an UNKNOWN row by this machine's clock: another boot's clock shows no elapsed time.

    All rows of a worker wait together.
    """
    _require(entry, State.UNKNOWN, owner=owner)
    if entry.boot_id == clock.boot:
        raise InvalidTransition
    until = clock.seconds + in_flight.total_seconds()
    return Transition(_replace(entry, boot_id=clock.boot, in_flight_until_s=until, empty_lookups=0))


def adopt(entry: Entry, *, owner: str, record: RecordIds, evidence: Sequence[str]) -> Transition:
    """Record that the service has exactly one record for the row, made by a POST or before."""
    _require(entry, State.UNKNOWN, State.READY, owner=owner)
    changed = with_record(entry, State.ADOPTED, record, evidence)
    return Transition(changed, "adopted", record.remote_id)


def send_to_review(
    entry: Entry, *, owner: str, candidates: Sequence[str], reason: str
) -> Transition:
    """Leave the decision on a row to a reviewer."""
    _require(entry, State.UNKNOWN, State.READY, owner=owner)
    return _review(entry, candidates, reason)


def record_empty_lookup(
    entry: Entry,
    *,
    owner: str,
    started_at: datetime,
    clock: BootTime,
    settle: timedelta,
    doubt: str | None = None,
) -> Transition:
    """Record a lookup that found no record; `started_at` and `clock` are the start of its read.

    The row stays UNKNOWN for another lookup, returns to READY, or goes to a reviewer. `doubt` is the
    code of the reason for which the read does not prove the absence of the record.
    """
    _require(entry, State.UNKNOWN, owner=owner)
    if wait_for_lookup(entry, now=started_at, clock=clock, settle=settle) > 0:
        raise InvalidTransition
    looked_up = _replace(entry, empty_lookups=entry.empty_lookups + 1)
    clear = entry.returned_id is None and doubt is None
    if looked_up.empty_lookups < (EMPTY_LOOKUPS if clear else MAX_EMPTY_LOOKUPS):
        return Transition(looked_up, "not_found")
    if clear and entry.attempt < entry.max_attempts:
        return Transition(_replace(looked_up, state=State.READY, checked_at=started_at), "cleared")
    if entry.returned_id is not None:
        # The service confirmed the create: only a reviewer may allow another POST.
        return _review(looked_up, (entry.returned_id,), "id_not_readable")
    return _review(looked_up, (), doubt or "attempts_used")


def reject_without_manager(entry: Entry, *, owner: str, reason: str) -> Transition:
    """Reject an unsent row whose manager has no record or no number in the service."""
    _require(entry, State.READY, owner=owner)
    if not entry.unsent:
        raise InvalidTransition
    changed = _replace(entry, state=State.REJECTED, reason=reason, **RELEASED)
    return Transition(changed, "rejected", reason)


def with_record(entry: Entry, state: State, record: RecordIds, evidence: Sequence[str]) -> Entry:
    """Return the row with its record, created or adopted."""
    return _replace(
        entry,
        state=state,
        remote_id=record.remote_id,
        remote_number=record.number,
        is_standby=record.is_standby,
        evidence=tuple(evidence),
        reason=None,
        candidates=(),
        **RELEASED,
    )


def _review(entry: Entry, candidates: Sequence[str], reason: str) -> Transition:
    changed = _replace(
        entry, state=State.REVIEW, candidates=tuple(candidates), reason=reason, **RELEASED
    )
    return Transition(changed, "review", reason)


def _require(
    entry: Entry, *states: State, owner: str | None = None, attempt: int | None = None
) -> None:
    """Raise `InvalidTransition` unless the row has one of the states, this owner and this attempt."""
    if (
        entry.state not in states
        or owner not in (None, entry.owner)
        or attempt not in (None, entry.attempt)
    ):
        raise InvalidTransition


_replace = msgspec.structs.replace
