"""Sending of creates: commit the intent, check the time on the open connection, POST, commit the outcome."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
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
from bms_flows.onboarding.ledger import transitions, waits
from bms_flows.onboarding.ledger.entry import BootTime, Entry
from bms_flows.onboarding.ledger.store import NextTransition, RemoteIdConflict
from bms_flows.onboarding.resources.evidence import RecordIds
from bms_flows.onboarding.resources.remote import IdUnconfirmed, NotSent
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_flows.onboarding.sending.breaker import CircuitBreaker, CreatesPaused, Permit
from bms_flows.onboarding.sending.group_commit import GroupCommit
from bms_flows.onboarding.settings import OnboardingSettings

OUTAGES: Final = (Throttled, ServiceUnavailable, ConnectionFailed, Timeout)
"""Errors of creates that were not executed because the service is unavailable."""
THROTTLED: Final = 429
UNAVAILABLE: Final = frozenset({THROTTLED, 503})
"""Statuses of an unavailable service; such attempts don't count."""
PAUSING: Final = UNAVAILABLE | {502, 504}
"""Statuses that pause the sending of other rows; gateways answer 502 and 504."""

REDIRECTED: Final = "redirected"
"""Reason of an ambiguous outcome that concerns all creates: the service has another address."""

QUICK_S: Final = 1.0
"""Duration of a send below which workers commit intents ahead."""
AHEAD: Final = 3
"""Maximum workers per concurrent create: one sends while the transitions of the others commit."""

PendingRows = Iterator[tuple[int, Mapping[str, Any]]]


class CreatesRefused(Exception):
    """The service refuses all creates, independent of the row."""

    retriable = False

    def __init__(self, error: BmsError) -> None:
        super().__init__(
            f"{error}; this request created no record. Check that the scope is granted and that base_url is the"
            " service, then clear this task. If the service answers invalid data with this status,"
            f" remove {error.status} from BMS_CREATE_STOPPED_BY"
        )


@dataclass(frozen=True)
class RowSender:
    """Sends ledger rows for one owner, at most as many at a time as `slots`; simulations replace `clock`."""

    commits: GroupCommit
    remote: ServiceRemote
    settings: OnboardingSettings
    owner: str
    slots: asyncio.Semaphore
    breaker: CircuitBreaker
    existed: Callable[[Entry, str], bool]
    """Returns whether a record is older than the POST of a row."""
    clock: Callable[[], BootTime] = BootTime.now

    def ticks(self) -> float:
        """Return the machine's time in seconds."""
        return self.clock().seconds

    async def send(self, row: int, body: Mapping[str, Any]) -> Exception | None:
        """Make the next attempt for `row` when the breaker permits; return an error that concerns all rows.

        After such an error (missing scope, wrong path, long outage) the create was not executed and the
        row is READY. After a cancellation or a kill the row is SENDING and is settled later.
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
        intended = await self.commits.change(
            row,
            lambda entry, now: transitions.intend(
                entry,
                owner=owner,
                now=now,
                clock=self.clock(),
                in_flight=settings.in_flight,
                max_age=settings.check_max_age,
            ),
        )
        if intended is None:
            return None  # another worker has the row
        attempt, sent, returned_id = intended.attempt, False, None
        record = partial(self._record, intended)

        async def before_send() -> None:
            nonlocal sent
            await self._check(intended, permit, started)
            limit.reschedule(loop.time() + settings.create_timeout_s - (self.ticks() - started))
            sent = True

        async def on_id(remote_id: str) -> None:
            nonlocal returned_id
            returned_id = remote_id
            step = partial(transitions.record_returned_id, attempt=attempt, remote_id=remote_id)
            await record(lambda entry, _: step(entry))

        def outcome(reason: str) -> NextTransition:
            unknown = self._ambiguous(attempt, reason, returned_id)
            return unknown if sent else _withdrawn(attempt, reason)

        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(settings.send_within_s - (self.ticks() - started))
        try:
            async with limit, self.slots:
                made = await self.remote.create(body, before_send, on_id)
        except NotSent as stopped:
            await record(_withdrawn(attempt, stopped.reason))
        except TimeoutError:
            await record(outcome("cut_off"))
        except BmsError as error:
            return await self._failed(intended, permit, error)
        except Exception:
            await record(outcome("error"))
            raise
        else:
            self.breaker.accepted(permit)
            await self._confirm(intended, made)
        return None

    async def _record(self, intended: Entry, step: NextTransition) -> Entry | None:
        """Commit an outcome of an attempt, also in a ledger that lost the attempt's intent."""
        return await self.commits.change(
            intended.id,
            lambda entry, now: step(transitions.with_intent(entry, intended), now),
        )

    async def _check(self, intended: Entry, permit: Permit, started: float) -> None:
        """Raise `NotSent` if the create may no longer be sent; runs on the open connection."""
        # The database's clock covers a pause of the machine, `ticks` a pause of the process.
        now = await self.commits.now()
        if intended.intended_at is None or self.settings.send_within_s <= max(
            (now - intended.intended_at).total_seconds(), self.ticks() - started
        ):
            raise NotSent("too_late")
        if not self.breaker.allows(permit):
            raise NotSent("circuit_open")

    async def _failed(self, intended: Entry, permit: Permit, error: BmsError) -> Exception | None:
        """Commit the outcome of a failed create; return the error if it concerns all rows."""
        attempt, record = intended.attempt, partial(self._record, intended)
        if isinstance(error, AmbiguousWrite):
            if isinstance(error, IdUnconfirmed):
                self.breaker.accepted(permit)
            elif error.status in PAUSING:
                throttled = error.status == THROTTLED
                self.breaker.refused(permit, error.retry_after, throttled=throttled)
            await record(self._ambiguous_error(attempt, error))
            return error if error.reason == REDIRECTED else None
        own = isinstance(error, Refused) and error.endpoint == self.remote.create_endpoint
        if own and error.status not in self.settings.stopping:
            self.breaker.accepted(permit)
            reason = f"refused_{error.status}"
            await record(lambda entry, _: transitions.reject(entry, attempt=attempt, reason=reason))
            return None
        # Every other error of the client, for a create or its token, means: not executed.
        if isinstance(error, OUTAGES):
            after = getattr(error, "retry_after", None)
            self.breaker.refused(permit, after, throttled=isinstance(error, Throttled))
            await record(_withdrawn(attempt, type(error).__name__))
            return None
        await record(_withdrawn(attempt, type(error).__name__))
        return CreatesRefused(error) if own else error

    def _ambiguous_error(self, attempt: int, error: AmbiguousWrite) -> NextTransition:
        if error.status not in UNAVAILABLE:
            returned_id = error.remote_id if isinstance(error, IdUnconfirmed) else None
            return self._ambiguous(attempt, error.reason.replace(" ", "_"), returned_id)
        return self._ambiguous(attempt, waits.OUTAGE, outage=self.settings.outage)

    def _ambiguous(
        self,
        attempt: int,
        reason: str,
        returned_id: str | None = None,
        outage: timedelta | None = None,
    ) -> NextTransition:
        return lambda entry, now: transitions.mark_ambiguous(
            entry,
            attempt=attempt,
            reason=reason,
            now=now,
            clock=self.clock(),
            returned_id=returned_id,
            outage=outage,
        )

    async def _confirm(self, intended: Entry, made: RecordIds) -> None:
        attempt, record = intended.attempt, partial(self._record, intended)
        if self.existed(intended, made.remote_id):
            # The response belongs to another request, or the service created nothing.
            await record(self._ambiguous(attempt, "id_existed", made.remote_id))
            return
        try:
            moved = await record(
                lambda entry, _: transitions.confirm(entry, attempt=attempt, record=made)
            )
        except RemoteIdConflict:
            # The service returned the id of another row's record: the response is not usable.
            await record(self._ambiguous(attempt, "id_claimed", made.remote_id))
            return
        if moved is None:
            await record(
                lambda entry, _: transitions.record_late_response(entry, remote_id=made.remote_id)
            )


def _withdrawn(attempt: int, reason: str) -> NextTransition:
    return lambda entry, _: transitions.withdraw(entry, attempt=attempt, reason=reason)


class WorkerPool:
    """Sends rows with at most `concurrency` creates in progress.

    While the service is fast, additional workers commit intents ahead, so that a row is ready when a
    slot is free. While it is slow they don't: the time limit of a create starts at its intent.
    """

    def __init__(self, sender: RowSender, concurrency: int) -> None:
        self._sender = sender
        self._concurrency = concurrency
        self._workers: set[asyncio.Task[None]] = set()
        self._failures: list[Exception] = []

    async def send(self, rows: Mapping[int, Mapping[str, Any]]) -> Exception | None:
        """Send all `rows` (bodies by number); stop at the first error that concerns all rows."""
        todo = iter(rows.items())
        for _ in range(min(self._concurrency, len(rows))):
            self._begin(todo)
        try:
            while self._workers:
                done, _ = await asyncio.wait(self._workers, return_when=asyncio.FIRST_COMPLETED)
                self._workers -= done
                await asyncio.gather(*done)
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
        return self._failures[0] if self._failures else None

    def _begin(self, todo: PendingRows) -> None:
        self._workers.add(asyncio.create_task(self._work(todo)))

    async def _work(self, todo: PendingRows) -> None:
        for row, body in todo:
            started = self._sender.ticks()
            try:
                failure: Exception | None = await self._sender.send(row, body)
            except Exception as error:  # noqa: BLE001 - raised by `apply` after the other workers end
                failure = error
            if failure is not None:
                self._failures.append(failure)
            if self._failures:
                return
            quick = self._sender.ticks() - started <= QUICK_S
            if quick and len(self._workers) < AHEAD * self._concurrency:
                self._begin(todo)
            elif not quick and len(self._workers) > self._concurrency:
                return
