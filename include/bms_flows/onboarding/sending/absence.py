"""Decision what a read of the service's lists proves about the absence of a record. Pure.

A record is absent only if the same read shows what the lists can show only when they are up to date.
The service may list records late, answer from a replica, or answer an empty list:

- Before any send, the lists must have the records of an earlier snapshot and the records of our own
  confirmed creates. A record that the service no longer has, deleted or keeps in another list does
  not count.
- After an ambiguous outcome, the lists must in addition show a later record: one that was created
  after the attempt ended. The interface leaves format and zone of `created_on` open, so its offset to
  the machine's clock is learned from our own confirmed creates. Without an offset only our own creates
  count.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from bms.dates import parse_datetime
from bms_flows.onboarding.ledger.entry import BootTime, Entry
from bms_flows.onboarding.resources.evidence import ServiceRecord

INCOMPLETE: Final = "lists_incomplete"
"""Code: the lists lack records that the service has."""
UNPROVEN: Final = "absence_not_proven"
"""Code: no record shows that the lists are up to date."""

LEARNED_WITHIN_S: Final = 24 * 3600.0
"""Age in seconds of the creates from which the offset is learned: it may change with summer time."""
SAMPLE: Final = 20
"""Maximum number of missing records whose details are read."""
MINUTE: Final = 60.0
NEVER: Final = float("-inf")


class Offset(msgspec.Struct, frozen=True):
    """Seconds to subtract from a `created_on` for the earliest time since boot that it may denote."""

    seconds: float
    precision: float

    def earliest(self, created_on: str | None) -> float:
        """Return the earliest time since boot at which a record was created."""
        shown = _seconds(created_on)
        return NEVER if shown is None else shown - self.seconds - self.precision


def learned_offset(own: Iterable[tuple[Entry, str | None]], in_flight: timedelta) -> Offset | None:
    """Return the offset of `created_on`, from own creates and what the lists show for them.

    None if the values are missing, show days only, or contradict each other.
    """
    pairs = [
        (shown, entry.intended_s)
        for entry, created_on in own
        if (shown := _seconds(created_on)) is not None and entry.intended_s is not None
    ]
    values = [shown for shown, _ in pairs]
    if not pairs or all(value % MINUTE == 0 and _is_midnight(value) for value in values):
        return None
    differences = [shown - intended for shown, intended in pairs]
    precision = MINUTE if all(value % MINUTE == 0 for value in values) else 1.0
    if max(differences) - min(differences) > in_flight.total_seconds() + precision:
        return None
    return Offset(max(differences), precision)


def up_to_date_until(
    records: Iterable[ServiceRecord],
    own: Mapping[str, Entry],
    clock: BootTime,
    in_flight: timedelta,
) -> float:
    """Return the time since boot until which the lists that show `records` are up to date.

    This is the time of the latest creation. `own` are confirmed creates of this boot by remote id.
    """
    shown = {known.remote_id: known.created_on for known in records}
    ours = [(entry, shown[each]) for each, entry in own.items() if each in shown]
    latest = max((entry.intended_s or NEVER for entry, _ in ours), default=NEVER)
    recent = [
        (entry, text)
        for entry, text in ours
        if clock.seconds - (entry.intended_s or NEVER) <= LEARNED_WITHIN_S
    ]
    offset = learned_offset(recent, in_flight)
    if offset is None:
        return latest
    # A value in the future is no time of creation.
    others = (offset.earliest(text) for each, text in shown.items() if each not in own)
    return max([latest, *(each for each in others if each <= clock.seconds)])


def proves_absence(entry: Entry, clock: BootTime, until: float) -> bool:
    """Return whether lists that are up to date until a time would show a record of the last attempt."""
    ended = entry.in_flight_until_s
    return entry.boot_id == clock.boot and ended is not None and ended < until


def missing(
    earlier: Iterable[Collection[str]], confirmed: Iterable[str], shown: Collection[str]
) -> Sequence[str]:
    """Return the ids of earlier snapshots and of confirmed creates that the lists lack."""
    return sorted({each for ids in (*earlier, confirmed) for each in ids}.difference(shown))


def is_incomplete(existing: int, lacking: int, earlier: int) -> bool:
    """Return whether lists that lack records prove nothing.

    `existing` of the sampled records exist in the service and belong to a list that was read; the lists
    lack `lacking` of the `earlier` records of the rows' snapshots.
    """
    return existing > 0 or (lacking > SAMPLE and 2 * lacking > earlier)


def _seconds(created_on: str | None) -> float | None:
    """Return a `created_on` as seconds in any zone; None for a day or an unreadable value."""
    try:
        moment = parse_datetime(created_on, "UTC")
    except ValueError:
        return None
    if moment is None or len(created_on or "") <= len("2026-01-01"):
        return None
    return moment.timestamp()


def _is_midnight(value: float) -> bool:
    """Return whether a value is a midnight in a zone of full quarters of an hour."""
    return value % 900 == 0
