"""A ledger row as an immutable value without personal data; `transitions` has the state machine."""

import time
import uuid
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from bms_warehouse.queries.drops import MADE


class State(StrEnum):
    """State of a ledger row."""

    READY = "ready"
    SENDING = "sending"
    UNKNOWN = "unknown"
    CREATED = "created"
    ADOPTED = "adopted"
    REJECTED = "rejected"
    REVIEW = "review"
    GIVEN_UP = "given_up"


OPEN: Final = frozenset({State.READY, State.SENDING, State.UNKNOWN})
"""The engine has work to do."""
EXISTING: Final = frozenset({State.CREATED, State.ADOPTED})
"""The service has the record, and its id is known."""
UNSENT: Final = frozenset({State.READY, State.REVIEW})
"""The row may still wait for its manager; a row in another state was sent, or is never sent."""
FINAL: Final = frozenset({*EXISTING, State.REJECTED, State.GIVEN_UP})
"""Final unless the row is dropped again."""


EXISTED: Final = "existed"
"""Evidence code of a record that existed before the row was sent."""
LISTS_INCOMPLETE: Final = "lists_incomplete"
"""Reason: the lists lack records that the service has, so they prove nothing."""
RELEASED: Final[Mapping[str, None]] = {"owner": None, "leased_until": None, "checked_at": None}
"""Fields of a row that no worker holds."""


class BootTime(msgspec.Struct, frozen=True):
    """Seconds since the machine's boot `boot`, unaffected by changes of any wall clock."""

    boot: str
    seconds: float

    @classmethod
    def now(cls) -> "BootTime":
        """Return the time since boot; it continues while the process is stopped and the machine sleeps."""
        clock = getattr(time, "CLOCK_BOOTTIME", None)
        return cls(_boot(), time.monotonic() if clock is None else time.clock_gettime(clock))


@cache
def _boot() -> str:
    """Return the id of the machine's boot; where the system has none, an id of this process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"process {uuid.uuid4()}"


class InvalidTransition(Exception):
    """The row is not in a state from which this transition is allowed, or another worker has it."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One ledger row; times are aware and come from the database's clock."""

    id: int
    key: str
    """Digest of the natural key."""
    digest: str
    """Digest of the data as dropped."""
    drop_id: int = 0
    """The drop that last entered the row."""
    state: State = State.READY
    attempt: int = 0
    """Number of the last attempt."""
    max_attempts: int
    """Number of the last attempt allowed."""
    first_intended_at: datetime | None = None
    """Time of the first intent since the row was last entered."""
    intended_at: datetime | None = None
    in_flight_until: datetime | None = None
    boot_id: str | None = None
    """The boot of the machine that sent the last POST, or that settles it."""
    in_flight_until_s: float | None = None
    """`in_flight_until` in seconds since that boot: the database's clock may be changed."""
    empty_lookups: int = 0
    """Consecutive lookups that found no record, or were not conclusive, for the next or last attempt."""
    snapshot_id: int | None = None
    """The snapshot of the service's lists from before the row was entered."""
    checked_at: datetime | None = None
    """When the lease holder last found no record of the row in the service."""
    returned_id: str | None = None
    """The id that the last POST returned; only the next intent clears it."""
    remote_id: str | None = None
    remote_number: int | None = None
    is_standby: bool | None = None
    reason: str | None = None
    """Code: why the row is unknown, rejected or in review."""
    evidence: tuple[str, ...] = ()
    """Codes: why the record was adopted."""
    candidates: tuple[str, ...] = ()
    """Remote ids that a reviewer chooses from."""
    dismissed: tuple[str, ...] = ()
    """Remote ids that a reviewer decided against."""
    alike: tuple[str, ...] = ()
    """Keys of rows with the same match keys that the review compares; a release decides against them."""
    manager_key: str | None = None
    """Key of the manager's row, whose number goes into the body."""
    owner: str | None = None
    leased_until: datetime | None = None

    @property
    def unsent(self) -> bool:
        """Whether no POST was intended since the row was last entered."""
        return self.first_intended_at is None

    @property
    def intended_s(self) -> float | None:
        """Time of the last intent, in seconds since the boot."""
        if None in (self.intended_at, self.in_flight_until, self.in_flight_until_s):
            return None
        in_flight = self.in_flight_until - self.intended_at  # type: ignore[operator]
        return self.in_flight_until_s - in_flight.total_seconds()  # type: ignore[operator]

    @property
    def existed(self) -> bool:
        """Whether the service had the record before a POST was sent for the row."""
        return EXISTED in self.evidence

    @property
    def made(self) -> bool:
        """Whether a create of the row made its record, with or without a response."""
        adopted = self.state is State.ADOPTED and not set(MADE).isdisjoint(self.evidence)
        return adopted or self.state is State.CREATED

    def held_by(self, owner: str, now: datetime) -> bool:
        """Whether `owner` holds the lease at `now`."""
        return self.owner == owner and self.leased_until is not None and self.leased_until > now

    def free(self, now: datetime) -> bool:
        """Whether any worker may take the lease at `now`."""
        return self.owner is None or self.leased_until is None or self.leased_until <= now


class NewRow(msgspec.Struct, frozen=True, kw_only=True):
    """A planned row to enter; its repr shows no body."""

    line: int
    key: str
    digest: str
    body: Mapping[str, Any]
    manager_key: str | None = None
    reason: str | None = None
    """Why a reviewer decides first; None for a row that may be sent."""
    candidates: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    """Keys of other rows that the reviewer compares."""

    def __repr__(self) -> str:
        return f"NewRow(line={self.line})"

    def __rich_repr__(self) -> list[tuple[str, int]]:
        return [("line", self.line)]


class Transition(msgspec.Struct, frozen=True, gc=False):
    """A row after an allowed transition, with its history event (`what`; None for no event)."""

    entry: Entry
    what: str | None = None
    detail: str | None = None
    who: str | None = None
