"""The life of one row of the ledger: which moves there are, and which of them are lawful when.

                enter                       intend: attempt n + 1, committed before its POST
                  │           ┌────────────────────────────────────────────┐
    reopen ─────► READY ──────┘                                            ▼
      ▲            ▲ ▲ ▲ ▲───────── withdraw: surely not sent ───────── SENDING ── answered 2xx ─► CREATED
      │            │ │ │                                               │  └─ refused 4xx ─► REJECTED
      │            │ │ └─────────── withdraw ──────────┐        doubt, │
      │            │ │                                 │     abandoned ▼
      │            │ └── second look without a trace ──┴────────── UNKNOWN ── one trace ────► ADOPTED
      │            │     (attempts left)                               │
      │            └── decided: create ─────── REVIEW ◄────────────────┘ several, or no attempts left
      │                                          └─ decided: a candidate ► ADOPTED, give up ► GIVEN_UP
      └──────── REJECTED, GIVEN_UP, dropped again

Before its first POST a READY row is checked against the service: found there it is ADOPTED, possibly
there it goes to REVIEW.

A late 2xx to the last attempt is knowledge and is taken in wherever the row stands meanwhile.

The laws, each held by one function below and by a row lock around it (`ledger`):

1. A POST is sent only by who moved the row from READY to SENDING, under a lease, in a transaction
   committed before it is sent, after checking under the same lease that the service has no record
   for the row: at most `max_age` before. There is no other way to a POST.
2. SENDING leads back to READY only if the POST surely was not executed.
3. `in_flight_until` is the moment from which nothing of the last attempt can be under way: the intent plus
   the longest time that a create may take. A POST leaves within half of that or never, and the
   service has finished within the other half. Settling counts from there, whatever became of the
   sender and whatever was answered: a 502 or 504 comes from a gateway while the service goes on.
4. UNKNOWN leads to READY after two looks without a trace, the first a settle time after
   `in_flight_until`, the second a settle time later; and no more than `max_attempts` attempts are ever made.
   An attempt answered 429 or 503 doesn't count for some hours after the row's first one; the wait
   between such attempts doubles.
5. A remote record belongs to one row only (`ledger` keeps it unique).

Assumptions that remain, since the service has no idempotency key:

- No pause between the last check and the first byte outlasts the first half of what a create may
  take. `send` checks on the open connection, with the database's clock and with this machine's, and
  writes the request at once: DNS, TCP, TLS, the token and every queue lie before the check, and so
  does a pause of the machine until then. A process or machine that is paused exactly between the
  database's answer and the kernel's taking of the bytes still sends when it goes on. That makes a
  duplicate only if the pause outlasts the in-flight bound and two settle times.
- The service has finished with a create within the second half.
- A record that a create makes shows in the lists two settle times after `in_flight_until`.

`audit` finds what breaks any of them.

Pure: the time is given, nothing is read or written, nothing here is personal.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from bms_flows.onboarding.ledger.entry import (
    HERE,
    OPEN,
    Entry,
    InvalidTransition,
    State,
    Transition,
)

EMPTY_LOOKUPS: Final = 2
"""Looks at the service, a settle time apart, that must find nothing before a POST is repeated."""
EMPTY_LOOKUPS_FOR_ID: Final = 20
"""Lookups of a record whose id the service returned, until a reviewer decides."""
OUTAGE: Final = "service_unavailable"
"""Reason of an attempt that was answered 429 or 503."""
LONGEST_PAUSE: Final = timedelta(minutes=30)
"""Longest wait between two attempts for a row during an outage."""
_FREE: Final[Mapping[str, None]] = {"owner": None, "leased_until": None, "checked_at": None}


def claim(entry: Entry, *, owner: str, now: datetime, life: timedelta) -> Transition:
    """Take the lease of an open row; what its earlier holder was sending is in doubt from now on.

    The doubt settles from `in_flight_until` as the intent left it: its sender may still be alive.
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
    """Hold the lease for another while; a lapsed one that nobody took is taken again."""
    if entry.owner != owner:
        raise InvalidTransition
    return Transition(_replace(entry, leased_until=now + life))


def release(entry: Entry, *, owner: str) -> Transition:
    """Give the lease back."""
    if entry.owner != owner:
        raise InvalidTransition
    return Transition(_replace(entry, **_FREE))


def record_check(entry: Entry, *, owner: str, checked_at: datetime) -> Transition:
    """Record that the service had no record for a READY row at `checked_at`, as its owner saw."""
    if entry.state is not State.READY or entry.owner != owner:
        raise InvalidTransition
    return Transition(_replace(entry, checked_at=checked_at))


def recently_checked(entry: Entry, *, now: datetime, max_age: timedelta) -> bool:
    """Whether the service was seen without a record for the row recently enough."""
    return entry.checked_at is not None and now - entry.checked_at <= max_age


def intend(
    entry: Entry, *, owner: str, now: datetime, in_flight: timedelta, max_age: timedelta
) -> Transition:
    """Give the next POST its number; committed before it is sent, by who holds the lease at that moment.

    Only for a row that this owner has checked against the service within `max_age`.
    """
    if (
        entry.state is not State.READY
        or not entry.held_by(owner, now)
        or not recently_checked(entry, now=now, max_age=max_age)
        or entry.attempt >= entry.max_attempts
    ):
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.SENDING,
        attempt=entry.attempt + 1,
        first_intended_at=entry.first_intended_at or now,
        intended_at=now,
        in_flight_until=now + in_flight,
        returned_id=None,
        empty_lookups=0,
        reason=None,
    )
    return Transition(changed, "intended")


def confirm(
    entry: Entry, *, attempt: int, remote_id: str, number: int | None, standby: bool | None
) -> Transition:
    """Take in the answer of POST `attempt`: the record is there. Knowledge needs no lease."""
    if entry.attempt != attempt or entry.state in HERE:
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.CREATED,
        remote_id=remote_id,
        remote_number=number,
        is_standby=standby,
        reason=None,
        evidence=("answer",),
        candidates=(),
        **_FREE,
    )
    return Transition(changed, "created", remote_id)


def record_late_response(entry: Entry, *, remote_id: str) -> Transition:
    """Note an answer that came when the row already had another outcome: a double, for the audit."""
    if entry.remote_id == remote_id:
        raise InvalidTransition
    return Transition(entry, "late_answer", remote_id)


def reject(entry: Entry, *, attempt: int, reason: str) -> Transition:
    """Take in that the service understood POST `attempt` and said no."""
    if entry.attempt != attempt or entry.state not in {State.SENDING, State.UNKNOWN}:
        raise InvalidTransition
    changed = _replace(entry, state=State.REJECTED, reason=reason, **_FREE)
    return Transition(changed, "rejected", reason)


def mark_ambiguous(
    entry: Entry,
    *,
    attempt: int,
    reason: str,
    now: datetime,
    returned_id: str | None = None,
    outage: timedelta | None = None,
) -> Transition:
    """Record that the outcome of POST `attempt` is unknown; settling waits for its bound all the same.

    `returned_id` is the id that the service returned for it, if the record can't be read yet. With
    `outage` the service said that it takes no creates for now: the attempt doesn't count unless the
    row's first attempt is longer ago than that.
    """
    if entry.attempt != attempt or entry.state is not State.SENDING:
        raise InvalidTransition
    free = outage is not None and now - (entry.first_intended_at or now) < outage
    changed = _replace(
        entry,
        state=State.UNKNOWN,
        in_flight_until=now if entry.in_flight_until is None else max(now, entry.in_flight_until),
        max_attempts=entry.max_attempts + free,
        empty_lookups=0,
        reason=reason,
        returned_id=returned_id,
    )
    return Transition(changed, "unknown", reason)


def withdraw(entry: Entry, *, attempt: int, reason: str) -> Transition:
    """Take in that POST `attempt` surely was not executed; it doesn't count.

    Where it was the first one the row is as unsent as before.
    """
    if entry.attempt != attempt or entry.state not in {State.SENDING, State.UNKNOWN}:
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.READY,
        max_attempts=entry.max_attempts + 1,
        first_intended_at=None
        if entry.first_intended_at == entry.intended_at
        else entry.first_intended_at,
        empty_lookups=0,
        reason=reason,
    )
    return Transition(changed, "withdrawn", reason)


def lookup_due_at(entry: Entry, settle: timedelta) -> datetime:
    """Return when an UNKNOWN row may be looked for next."""
    if entry.in_flight_until is None:
        raise InvalidTransition
    return entry.in_flight_until + settle * (entry.empty_lookups + 1)


def sendable_from(entry: Entry) -> datetime | None:
    """Return when a READY row may be sent again whose last attempt met an outage; None: at once.

    The wait doubles: it is as long as the row has been tried for, up to `LONGEST_PAUSE`.
    """
    if entry.reason != OUTAGE or entry.intended_at is None or entry.first_intended_at is None:
        return None
    return entry.intended_at + min(entry.intended_at - entry.first_intended_at, LONGEST_PAUSE)


def adopt(
    entry: Entry,
    *,
    owner: str,
    remote_id: str,
    number: int | None,
    standby: bool | None,
    evidence: Sequence[str],
) -> Transition:
    """Take in that the one record of a row was found: after a POST, or before any was sent."""
    if entry.state not in {State.UNKNOWN, State.READY} or entry.owner != owner:
        raise InvalidTransition
    return Transition(_adopted(entry, remote_id, number, standby, evidence), "adopted", remote_id)


def send_to_review(
    entry: Entry, *, owner: str, candidates: Sequence[str], reason: str
) -> Transition:
    """Leave a row to a reviewer."""
    if entry.state not in {State.UNKNOWN, State.READY} or entry.owner != owner:
        raise InvalidTransition
    return Transition(_review(entry, candidates, reason), "review", reason)


def record_empty_lookup(
    entry: Entry, *, owner: str, looked_at: datetime, settle: timedelta
) -> Transition:
    """Take in a look, begun at `looked_at`, that found no trace: look again, send again, or ask."""
    if (
        entry.state is not State.UNKNOWN
        or entry.owner != owner
        or looked_at < lookup_due_at(entry, settle)
    ):
        raise InvalidTransition
    empty_lookups = entry.empty_lookups + 1
    if empty_lookups < (EMPTY_LOOKUPS if entry.returned_id is None else EMPTY_LOOKUPS_FOR_ID):
        return Transition(_replace(entry, empty_lookups=empty_lookups), "not_found")
    if entry.returned_id is not None:
        # The service said that it made the record: only a reviewer may have it sent again.
        asked = _review(
            _replace(entry, empty_lookups=empty_lookups), (entry.returned_id,), "id_not_readable"
        )
        return Transition(asked, "review", "id_not_readable")
    if entry.attempt < entry.max_attempts:
        cleared = _replace(
            entry, empty_lookups=empty_lookups, state=State.READY, checked_at=looked_at
        )
        return Transition(cleared, "cleared")
    return Transition(
        _review(_replace(entry, empty_lookups=empty_lookups), (), "attempts_used"),
        "review",
        "attempts_used",
    )


def reject_without_manager(entry: Entry, *, owner: str, reason: str) -> Transition:
    """Reject a row not sent since it was entered whose manager can't be named to the service."""
    if entry.state is not State.READY or not entry.unsent or entry.owner != owner:
        raise InvalidTransition
    changed = _replace(entry, state=State.REJECTED, reason=reason, **_FREE)
    return Transition(changed, "rejected", reason)


def adopt_candidate(
    entry: Entry, *, who: str, remote_id: str, number: int | None, standby: bool | None
) -> Transition:
    """Take a person's word that the record is `remote_id`."""
    if entry.state is not State.REVIEW:
        raise InvalidTransition
    changed = _adopted(entry, remote_id, number, standby, ("decided",))
    return Transition(changed, "decided_candidate", remote_id, who)


def retry_after_review(entry: Entry, *, who: str, run: str) -> Transition:
    """Take a reviewer's word, given by a run, that there is no record: one more attempt where none is left.

    The candidates that the reviewer saw are not asked about again.
    """
    if entry.state is not State.REVIEW:
        raise InvalidTransition
    changed = _replace(
        entry,
        state=State.READY,
        max_attempts=max(entry.max_attempts, entry.attempt + 1),
        empty_lookups=0,
        reason=None,
        candidates=(),
        dismissed=tuple(dict.fromkeys([*entry.dismissed, *entry.candidates])),
    )
    return Transition(changed, "decided_create", run, who)


def give_up(entry: Entry, *, who: str, run: str) -> Transition:
    """Take a person's word, given by a run, that the row is not to be created."""
    if entry.state is not State.REVIEW:
        raise InvalidTransition
    changed = _replace(entry, state=State.GIVEN_UP, reason="given_up", **_FREE)
    return Transition(changed, "decided_give_up", run, who)


def reopen(
    entry: Entry,
    *,
    now: datetime,
    digest: str,
    manager_key: str | None,
    attempts: int,
    snapshot_id: int | None = None,
    reason: str | None = None,
    candidates: Sequence[str] = (),
) -> Transition:
    """Enter a row that is known: dropped again after a no, or not sent and dropped with other data.

    With a `reason` a person decides first. A row that may have been sent keeps its data until its
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
        returned_id=None,
        snapshot_id=snapshot_id,
        reason=reason,
        evidence=(),
        candidates=tuple(candidates),
        dismissed=(),
        **_FREE,
    )
    return Transition(changed, "entered", reason)


def _adopted(
    entry: Entry,
    remote_id: str,
    number: int | None,
    standby: bool | None,
    evidence: Sequence[str],
) -> Entry:
    return _replace(
        entry,
        state=State.ADOPTED,
        remote_id=remote_id,
        remote_number=number,
        is_standby=standby,
        evidence=tuple(evidence),
        reason=None,
        candidates=(),
        **_FREE,
    )


def _review(entry: Entry, candidates: Sequence[str], reason: str) -> Entry:
    return _replace(entry, state=State.REVIEW, candidates=tuple(candidates), reason=reason, **_FREE)


_replace = msgspec.structs.replace
