"""What a look at the service says about a row whose POST is in doubt: a pure weighing.

A record is a trace of the row by its natural key. Name and dates (the resource's marks) and
`created_on` around the intent speak for or against it; `created_by` helps a person, never decides.
Where the service doesn't show the key of a record, or shows it otherwise than it was sent (an
address in another case), marks and `created_on` together make it a candidate for a person, no
more: two real persons may share them. So does a key that many may share (name and company), unless
the record was made just then.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from bms_flows.creation.identity import Trust


class Known(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record as the service's list shows it; its repr shows the id only."""

    remote_id: str
    number: int | None = None
    is_standby: bool | None = None
    key: str | None = None
    """Digest of its natural key, None where the list doesn't show it."""
    others: tuple[str, ...] = ()
    """Digests of what else it may be found by."""
    marks: Mapping[str, str | None] = {}
    """What else tells it from others, normalised: name, start date, …"""
    created_on: datetime | None = None
    deleted: bool = False
    """Whether the service calls it deleted."""
    values: Mapping[str, Any] = {}
    """Its fields, by the interface's names."""

    def __repr__(self) -> str:
        return f"Known({self.remote_id})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("remote_id", self.remote_id)]


class Sought(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is looked for: the row's key and marks, and when its POSTs were intended."""

    key: str
    marks: Mapping[str, str | None]
    intended: tuple[datetime, datetime]
    """The first intent and the moment of the look."""
    trust: Trust = "alone"
    """How far the key is believed."""
    others: frozenset[str] = frozenset()
    """What else its record may be found by, where the key isn't enough."""

    @property
    def keys(self) -> frozenset[str]:
        """All that its record may be found by."""
        return self.others | {self.key}

    def __repr__(self) -> str:
        return "Sought(...)"


class Trace(msgspec.Struct, frozen=True, gc=False):
    """Exactly one record is the row's; `evidence` says by what."""

    known: Known
    evidence: tuple[str, ...]


class NoTrace(msgspec.Struct, frozen=True, gc=False):
    """Nothing speaks for the row having been created."""


class Ambiguous(msgspec.Struct, frozen=True, gc=False):
    """A person decides between these records, and none."""

    candidates: tuple[str, ...]
    reason: str


Verdict = Trace | NoTrace | Ambiguous


def weigh(
    sought: Sought, shown: Iterable[Known], *, claimed: Collection[str], skew: timedelta
) -> Verdict:
    """Weigh what the lists showed; `claimed` are remote ids that other rows own.

    `skew` is how far the service's clock may be from ours.
    """
    traces: dict[str, Known] = {}
    against: dict[str, Known] = {}
    maybe: dict[str, Known] = {}
    for known in shown:
        if known.key == sought.key or sought.key in known.others:
            spoken_for = known.remote_id in claimed
            if sought.trust == "never":
                if not spoken_for:
                    place = traces if _when(sought, known, skew) == "around" else maybe
                    place[known.remote_id] = known
                continue
            place = against if spoken_for or contradicted(sought.marks, known.marks) else traces
            place[known.remote_id] = known
        elif known.remote_id not in claimed and _alike(sought, known, skew):
            maybe[known.remote_id] = known
    if len(traces) == 1 and not against:
        [found] = traces.values()
        return Trace(found, _evidence(sought, found, skew))
    if traces or against:
        reason = "several_records" if len(traces) > 1 else "key_with_other_data"
        return Ambiguous(tuple(sorted({**traces, **against})), reason)
    if maybe:
        return Ambiguous(tuple(sorted(maybe)), "alike_without_key")
    return NoTrace()


def contradicted(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> bool:
    """Whether both sides name a mark and differ on it."""
    return any(
        value is not None and theirs.get(name) is not None and theirs[name] != value
        for name, value in ours.items()
    )


def same_marks(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> bool:
    """Whether all marks are named by both and equal."""
    return bool(ours) and all(
        value is not None and theirs.get(name) == value for name, value in ours.items()
    )


def _alike(sought: Sought, known: Known, skew: timedelta) -> bool:
    if sought.others.isdisjoint((known.key, *known.others)) and not (
        known.key is None and same_marks(sought.marks, known.marks)
    ):
        return False
    return _when(sought, known, skew) != "elsewhen"


def _when(sought: Sought, known: Known, skew: timedelta) -> str:
    if known.created_on is None:
        return "unknown"
    first, last = sought.intended
    return "around" if first - skew <= known.created_on <= last + skew else "elsewhen"


def _evidence(sought: Sought, found: Known, skew: timedelta) -> tuple[str, ...]:
    marks = (name for name, value in sought.marks.items() if value == found.marks.get(name))
    when = {"around": ("created_on",), "elsewhen": ("created_on_elsewhen",), "unknown": ()}
    return ("key", *marks, *when[_when(sought, found, skew)])
