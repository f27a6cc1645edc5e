"""Decision what a read of the service's lists proves about the absence of a record. Pure.

A record is absent only if the same read shows what the lists can show only when they are up to date.
The service may list records late, answer from a replica, or answer an empty list:

- Before any send, the lists must have the records of an earlier snapshot and the records of our own
  confirmed creates. A record that the service no longer has, deleted or moved to another list does
  not count; but lists that lack most of the snapshot prove nothing, even if the service answers 404
  for each record.
- After an ambiguous outcome, the list of the row must in addition show a later record: one that was
  created after the attempt ended. A record of another list proves nothing: each list is a response of
  its own, perhaps of another replica. The interface leaves format and zone of `created_on` open, so its offset to
  the machine's clock is learned from our own confirmed creates. Without an offset only our own creates
  count. On a quiet service only a drop's own creates can be later records, so each list's last rows are
  sent after the other rows of the list, and after the ambiguous attempts are over (`next_rows`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from bms.dates import parse_datetime
from bms_flows.onboarding.ledger.entry import BootTime, Entry
from bms_flows.onboarding.resources.snapshot import ServiceLists

UNPROVEN: Final = "absence_not_proven"
"""Code: no record shows that the lists are up to date."""

LEARNED_WITHIN_S: Final = 24 * 3600.0
"""Age in seconds of the creates from which the offset is learned: it may change with summer time."""
SAMPLE: Final = 20
"""Maximum number of missing records whose details are read."""
MINUTE: Final = 60.0
QUARTER: Final = 15 * MINUTE
NEVER: Final = float("-inf")
WITNESSES: Final = 2
"""Rows of each list that are sent last; the second one in case the first one fails."""


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
    if all(value % QUARTER == 0 for value in values):  # perhaps a midnight, in some zone
        return None
    differences = [shown - intended for shown, intended in pairs]
    precision = MINUTE if all(value % MINUTE == 0 for value in values) else 1.0
    if max(differences) - min(differences) > in_flight.total_seconds() + precision:
        return None
    return Offset(max(differences), precision)


def up_to_date_until(
    shown: ServiceLists, own: Mapping[str, Entry], clock: BootTime, in_flight: timedelta
) -> dict[str, float]:
    """Return the time since boot until which each list is up to date: that of its latest creation.

    `own` are confirmed creates of this boot by remote id.
    """
    recent = [
        (entry, shown.records[each].created_on)
        for each, entry in own.items()
        if each in shown.records and clock.seconds - (entry.intended_s or NEVER) <= LEARNED_WITHIN_S
    ]
    offset = learned_offset(recent, in_flight)

    def created(remote_id: str) -> float:
        if remote_id in own:
            return own[remote_id].intended_s or NEVER
        known = shown.records.get(remote_id)
        if offset is None or known is None:
            return NEVER
        earliest = offset.earliest(known.created_on)
        return earliest if earliest <= clock.seconds else NEVER  # no creation is in the future

    return {
        name: max(map(created, map(str, state.rows)), default=NEVER)
        for name, state in shown.lists.items()
    }


def proves_absence(entry: Entry, clock: BootTime, until: float) -> bool:
    """Return whether lists that are up to date until a time would show a record of the last attempt."""
    ended = entry.in_flight_until_s
    return entry.boot_id == clock.boot and ended is not None and ended < until


def sample(missing: Collection[str]) -> Sequence[str]:
    """Return some of the missing records, evenly from the oldest to the newest id."""
    ids = sorted(missing, key=lambda each: (len(each), each))
    return ids[:: -(-len(ids) // SAMPLE) or 1]


def lacks_most(lacking: int, earlier: int) -> bool:
    """Return whether lists that lack `lacking` of `earlier` records prove nothing."""
    return 2 * lacking > earlier


def next_rows(
    ready: Mapping[int, str], ended: Collection[str], in_flight: Collection[str]
) -> list[int]:
    """Return the rows to send now, in order.

    `ready` has the list of each row that may be sent; `ended` are the lists with ambiguous attempts
    that are over, `in_flight` those with ambiguous attempts that may still be executed.
    """
    rows = dict[str, list[int]]()
    for row, name in ready.items():
        rows.setdefault(name, []).append(row)
    chosen = set[int]()
    for name, waiting in rows.items():
        if len(waiting) > WITNESSES:
            chosen.update(waiting[:-WITNESSES])
        elif name not in in_flight:
            chosen.update(waiting[:1] if name in ended else waiting)
    return [row for row in ready if row in chosen]


def _seconds(created_on: str | None) -> float | None:
    """Return a `created_on` as seconds in any zone; None for a day or an unreadable value."""
    try:
        moment = parse_datetime(created_on, "UTC")
    except ValueError:
        return None
    if moment is None or len(created_on or "") <= len("2026-01-01"):
        return None
    return moment.timestamp()
