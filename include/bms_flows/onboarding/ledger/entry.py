"""A row of the ledger as a value: where it stands, what is known of it. Pure, and nothing in it is personal.

Which moves there are, and when they are lawful, stands in `states`.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec


class State(StrEnum):
    """Where a row of the ledger stands."""

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
HERE: Final = frozenset({State.CREATED, State.ADOPTED})
"""The record exists and is known."""
DONE: Final = frozenset({*HERE, State.REJECTED, State.GIVEN_UP})
"""Nothing more happens unless the row is dropped again."""


EXISTED: Final = "existed"
"""Evidence of a row whose record was found before it was sent."""


class InvalidTransition(Exception):
    """The row isn't where this move may start: another is at work on it, or was faster."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of the ledger; times are aware and the ledger's own clock's."""

    id: int
    key: str
    """Digest of the natural key."""
    digest: str
    """Digest of the body to be sent."""
    drop_id: int = 0
    """The drop by which it was last entered."""
    state: State = State.READY
    attempt: int = 0
    """POSTs intended so far; the number of the last one."""
    max_attempts: int
    """The last attempt that may be made."""
    first_intended_at: datetime | None = None
    """The first intent since the row was last entered."""
    intended_at: datetime | None = None
    in_flight_until: datetime | None = None
    empty_lookups: int = 0
    """Looks since the last attempt that found no trace."""
    snapshot_id: int | None = None
    """The snapshot of the service that was taken before the row was entered."""
    checked_at: datetime | None = None
    """When its lease holder last saw the service without a record for the row."""
    returned_id: str | None = None
    """The id that the last POST returned, while its record can't be read."""
    remote_id: str | None = None
    remote_number: int | None = None
    is_standby: bool | None = None
    reason: str | None = None
    """A short code: why it is unknown, rejected or needs review."""
    evidence: tuple[str, ...] = ()
    """What the adoption rests on, as codes."""
    candidates: tuple[str, ...] = ()
    """Remote ids that a person is to choose from."""
    dismissed: tuple[str, ...] = ()
    """Remote ids that a reviewer saw and decided against when asking for a creation."""
    manager_key: str | None = None
    """Key of the row whose number goes into the body as the manager."""
    owner: str | None = None
    leased_until: datetime | None = None

    @property
    def unsent(self) -> bool:
        """Whether no POST was intended since the row was last entered; earlier ones had a no."""
        return self.first_intended_at is None

    @property
    def existed(self) -> bool:
        """Whether its record was in the service before anything was sent for the row."""
        return EXISTED in self.evidence

    def held_by(self, owner: str, now: datetime) -> bool:
        """Whether `owner` holds the lease at `now`."""
        return self.owner == owner and self.leased_until is not None and self.leased_until > now

    def free(self, now: datetime) -> bool:
        """Whether anybody may take the lease at `now`."""
        return self.owner is None or self.leased_until is None or self.leased_until <= now


class Transition(msgspec.Struct, frozen=True, gc=False):
    """A row after a lawful move, and what goes into its history (`what` is None for nothing)."""

    entry: Entry
    what: str | None = None
    detail: str | None = None
    who: str | None = None
