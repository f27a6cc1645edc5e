"""One create of one row: intent committed, time checked on the open connection, POST, outcome committed."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bms.errors import (
    AmbiguousWrite,
    BmsError,
    ConnectionFailed,
    Refused,
    ServiceUnavailable,
    Throttled,
    Timeout,
)
from bms_flows.onboarding.ledger import transitions
from bms_flows.onboarding.ledger.entry import Entry
from bms_flows.onboarding.ledger.store import RemoteIdConflict, Step
from bms_flows.onboarding.resources.remote import IdUnconfirmed, Made, NotSent, Remote
from bms_flows.onboarding.sending.breaker import CircuitBreaker, CreatesPaused, Permit
from bms_flows.onboarding.sending.group_commit import GroupCommit
from bms_flows.onboarding.settings import OnboardingSettings


def ticks() -> float:
    """Return seconds that go on while this process is stopped and while the machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


OUTAGES: Final = (Throttled, ServiceUnavailable, ConnectionFailed, Timeout)
"""Errors that say, of a create that surely was not executed, that the service takes none for now."""
UNAVAILABLE: Final = frozenset({429, 503})
"""Statuses by which the service says that it takes no creates for now; such attempts don't count."""
PAUSING: Final = UNAVAILABLE | {502, 504}
"""Statuses that stop the sending of other rows: a gateway that reaches no service says the same."""


class CreatesRefused(Exception):
    """The service refuses creates as such: another row would fare no better."""

    retriable = False

    def __init__(self, error: BmsError) -> None:
        super().__init__(
            f"{error}; nothing was created by it. Is the scope for it granted, does base_url lead to"
            " the service? Once that is mended, clear this task. Where the service answers a row's"
            f" own data so, take {error.status} out of BMS_CREATE_STOPPED_BY"
        )


@dataclass(frozen=True)
class RowSender:
    """Sends rows of the ledger for one owner, `slots` at once; `ticks` is replaced in simulations."""

    journal: GroupCommit
    remote: Remote
    settings: OnboardingSettings
    owner: str
    slots: asyncio.Semaphore
    breaker: CircuitBreaker
    ticks: Callable[[], float] = ticks

    async def send(self, row: int, body: Mapping[str, Any]) -> Exception | None:
        """Make the next attempt for `row` once the breaker permits; return an error that stops the others too.

        Such an error (no scope, no such path, an outage that lasts) says that nothing was sent; the row is
        READY again. After a cancellation or a kill it is SENDING, and settles from there.
        """
        try:
            permit = await self.breaker.permit()
        except CreatesPaused as paused:
            return paused
        try:
            return await self._attempt(row, body, permit)
        finally:
            self.breaker.done(permit)

    async def _attempt(self, row: int, body: Mapping[str, Any], permit: Permit) -> Exception | None:
        owner, settings = self.owner, self.settings
        started = self.ticks()
        intended = await self.journal.move(
            row,
            lambda entry, now: transitions.intend(
                entry,
                owner=owner,
                now=now,
                in_flight=settings.in_flight,
                max_age=settings.check_max_age,
            ),
        )
        if intended is None:
            return None  # another is at work on it, or was faster
        attempt, sent = intended.attempt, False

        async def before_send() -> None:
            nonlocal sent
            await self._check(intended, permit, started)
            limit.reschedule(loop.time() + settings.create_timeout_s - (self.ticks() - started))
            sent = True

        def outcome(reason: str) -> Step:
            return (_doubtful if sent else _withdrawn)(attempt, reason)

        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(settings.send_within_s - (self.ticks() - started))
        try:
            async with limit, self.slots:
                made = await self.remote.create(body, before_send)
        except NotSent as stopped:
            await self.journal.move(row, _withdrawn(attempt, stopped.reason))
        except TimeoutError:
            await self.journal.move(row, outcome("cut_off"))
        except BmsError as error:
            return await self._failed(row, attempt, permit, error)
        except Exception:
            await self.journal.move(row, outcome("error"))
            raise
        else:
            self.breaker.taken(permit)
            await self._made(row, attempt, made)
        return None

    async def _check(self, intended: Entry, permit: Permit, started: float) -> None:
        """Raise `NotSent` if a create, on its open connection, may not be sent any more."""
        # The database's clock goes on while this machine is paused; ours while this process is.
        now = await self.journal.now()
        if intended.intended_at is None or self.settings.send_within_s <= max(
            (now - intended.intended_at).total_seconds(), self.ticks() - started
        ):
            raise NotSent("too_late")
        if not self.breaker.allows(permit):
            raise NotSent("circuit_open")

    async def _failed(
        self, row: int, attempt: int, permit: Permit, error: BmsError
    ) -> Exception | None:
        if isinstance(error, AmbiguousWrite):
            if isinstance(error, IdUnconfirmed):
                self.breaker.taken(permit)
            elif error.status in PAUSING:
                self.breaker.refused(permit, error.retry_after)
            await self.journal.move(row, self._ambiguous(attempt, error))
            return None
        own = isinstance(error, Refused) and error.endpoint == self.remote.create_endpoint
        if own and error.status not in self.settings.stopping:
            self.breaker.taken(permit)
            reason = f"refused_{error.status}"
            await self.journal.move(
                row, lambda entry, _: transitions.reject(entry, attempt=attempt, reason=reason)
            )
            return None
        # Whatever else the client raises for a create, or for its token, surely was not executed.
        if isinstance(error, OUTAGES):
            self.breaker.refused(permit, getattr(error, "retry_after", None))
            await self.journal.move(row, _withdrawn(attempt, type(error).__name__))
            return None
        await self.journal.move(row, _withdrawn(attempt, type(error).__name__))
        return CreatesRefused(error) if own else error

    def _ambiguous(self, attempt: int, error: AmbiguousWrite) -> Step:
        if error.status not in UNAVAILABLE:
            returned_id = error.remote_id if isinstance(error, IdUnconfirmed) else None
            return _doubtful(attempt, error.reason.replace(" ", "_"), returned_id)
        outage = self.settings.outage
        return lambda entry, now: transitions.mark_ambiguous(
            entry, attempt=attempt, reason=transitions.OUTAGE, now=now, outage=outage
        )

    async def _made(self, row: int, attempt: int, made: Made) -> None:
        try:
            moved = await self.journal.move(
                row,
                lambda entry, _: transitions.confirm(
                    entry,
                    attempt=attempt,
                    remote_id=made.remote_id,
                    number=made.number,
                    standby=made.is_standby,
                ),
            )
        except RemoteIdConflict:
            # The service named a record that another row has: no answer to build on.
            await self.journal.move(row, _doubtful(attempt, "id_claimed"))
            return
        if moved is None:
            await self.journal.move(
                row,
                lambda entry, _: transitions.record_late_response(entry, remote_id=made.remote_id),
            )


def _doubtful(attempt: int, reason: str, returned_id: str | None = None) -> Step:
    return lambda entry, now: transitions.mark_ambiguous(
        entry, attempt=attempt, reason=reason, now=now, returned_id=returned_id
    )


def _withdrawn(attempt: int, reason: str) -> Step:
    return lambda entry, _: transitions.withdraw(entry, attempt=attempt, reason=reason)
