"""Waits of a ledger row: how long a check is valid, when the next lookup is due, when it may be sent again.

The service has no idempotency key, so three assumptions remain:

- The process does not pause between the last check and the first byte for longer than the first half
  of a create. `send` checks both the database's and the machine's clock on the open connection and
  then writes the request; DNS, TCP, TLS, token and queues come before the check. A pause at exactly
  that point makes a duplicate only if it lasts longer than the in-flight bound plus two settle times.
- The service finishes a create within the second half.
- Records appear in the lists in the order in which they were created.

The duplicate check (`reporting.duplicates`) finds violations of these assumptions.

Pure: the time is an argument, nothing is read or written, and no value is personal.
"""

from datetime import datetime, timedelta
from typing import Final

from bms_flows.onboarding.ledger.entry import BootTime, Entry, InvalidTransition

CLOSE_LOOKUPS: Final = 10
"""Lookups that follow each other after a settle time; later lookups follow after `FAR` settle times."""
FAR: Final = 3
OUTAGE: Final = "service_unavailable"
"""Reason of an attempt that was answered 429 or 503."""
REFUSALS: Final = 5
"""Attempts after which a row waits longer and longer: the service may refuse this row only."""
LONGEST_PAUSE: Final = timedelta(minutes=30)
"""Longest wait between two attempts for a row during an outage."""


def recently_checked(entry: Entry, *, now: datetime, max_age: timedelta) -> bool:
    """Return whether the last check is at most `max_age` old.

    A check in the future is not: the database's clock was put back, so its age is unknown.
    """
    return entry.checked_at is not None and timedelta() <= now - entry.checked_at <= max_age


def attempt_is_over(entry: Entry, *, now: datetime, clock: BootTime) -> bool:
    """Return whether the last attempt of an UNKNOWN row can no longer be executed."""
    return (
        entry.boot_id == clock.boot
        and wait_for_lookup(entry, now=now, clock=clock, settle=timedelta()) <= 0
    )


def wait_for_lookup(entry: Entry, *, now: datetime, clock: BootTime, settle: timedelta) -> float:
    """Return the seconds until the next lookup of an UNKNOWN row is due, at most 0 if it is due.

    The time must pass both by the database's clock and since the machine's boot.
    """
    if entry.in_flight_until is None or entry.in_flight_until_s is None:
        raise InvalidTransition
    if entry.boot_id != clock.boot:
        raise InvalidTransition
    ended_for = min(
        (now - entry.in_flight_until).total_seconds(), clock.seconds - entry.in_flight_until_s
    )
    # Rounded: floating-point remainders would never end a wait.
    return round(settle.total_seconds() * _settle_times(entry.empty_lookups + 1) - ended_for, 3)


def _settle_times(lookup: int) -> int:
    """Return how many settle times after the end of an attempt a lookup is due."""
    return lookup + (FAR - 1) * max(0, lookup - CLOSE_LOOKUPS)


def sendable_from(entry: Entry) -> datetime | None:
    """Return when a READY row may be sent again after an outage; None: immediately.

    Waits belong to the service (see the circuit breaker). Only a row that was refused `REFUSALS` times
    waits itself: as long as the time since its first attempt, up to `LONGEST_PAUSE`.
    """
    if entry.reason != OUTAGE or entry.intended_at is None or entry.first_intended_at is None:
        return None
    if entry.attempt < REFUSALS:
        return None
    return entry.intended_at + min(entry.intended_at - entry.first_intended_at, LONGEST_PAUSE)
