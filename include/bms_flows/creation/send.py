"""One create of one row: intent committed, time checked on the open connection, POST, outcome committed."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bms.errors import AmbiguousWrite, BmsError, Refused
from bms_flows.creation import states
from bms_flows.creation.journal import Journal
from bms_flows.creation.ledger import Claimed, Step
from bms_flows.creation.remote import IdUnconfirmed, Made, Remote, TooLate
from bms_flows.creation.settings import Settings


def ticks() -> float:
    """Return seconds that go on while this process is stopped and while the machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


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
class Sender:
    """Sends rows of the ledger for one owner, `slots` at once; `ticks` is replaced in simulations."""

    journal: Journal
    remote: Remote
    settings: Settings
    owner: str
    slots: asyncio.Semaphore
    ticks: Callable[[], float] = ticks

    async def send(self, row: int, body: Mapping[str, Any]) -> Exception | None:
        """Make the next attempt for `row`; return an error that stops the others too.

        Such an error (no connection, no token, no scope, no such path) says that nothing was sent; the row is
        READY again. After a cancellation or a kill it is SENDING, and settles from there.
        """
        owner, settings = self.owner, self.settings
        started = self.ticks()
        intended = await self.journal.move(
            row,
            lambda entry, now: states.intend(
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
            # The database's clock goes on while this machine is paused; ours while this process is.
            now = await self.journal.now()
            if intended.intended_at is None or settings.send_within_s <= max(
                (now - intended.intended_at).total_seconds(), self.ticks() - started
            ):
                raise TooLate
            limit.reschedule(loop.time() + settings.create_timeout_s - (self.ticks() - started))
            sent = True

        def outcome(reason: str) -> Step:
            return (_doubtful if sent else _withdrawn)(attempt, reason)

        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(settings.send_within_s - (self.ticks() - started))
        try:
            async with limit, self.slots:
                made = await self.remote.create(body, before_send)
        except TooLate:
            await self.journal.move(row, _withdrawn(attempt, "too_late"))
        except TimeoutError:
            await self.journal.move(row, outcome("cut_off"))
        except BmsError as error:
            return await self._failed(row, attempt, error)
        except Exception:
            await self.journal.move(row, outcome("error"))
            raise
        else:
            await self._made(row, attempt, made)
        return None

    async def _failed(self, row: int, attempt: int, error: BmsError) -> Exception | None:
        if isinstance(error, AmbiguousWrite):
            reason = error.reason.replace(" ", "_")
            returned_id = error.remote_id if isinstance(error, IdUnconfirmed) else None
            await self.journal.move(row, _doubtful(attempt, reason, returned_id))
            return None
        own = isinstance(error, Refused) and error.endpoint == self.remote.create_endpoint
        if own and error.status not in self.settings.stopping:
            reason = f"refused_{error.status}"
            await self.journal.move(
                row, lambda entry, _: states.refused(entry, attempt=attempt, reason=reason)
            )
            return None
        # Whatever else the client raises for a create, or for its token, surely was not executed.
        await self.journal.move(row, _withdrawn(attempt, type(error).__name__))
        return CreatesRefused(error) if own else error

    async def _made(self, row: int, attempt: int, made: Made) -> None:
        try:
            moved = await self.journal.move(
                row,
                lambda entry, _: states.answered(
                    entry,
                    attempt=attempt,
                    remote_id=made.remote_id,
                    number=made.number,
                    standby=made.is_standby,
                ),
            )
        except Claimed:
            # The service named a record that another row has: no answer to build on.
            await self.journal.move(row, _doubtful(attempt, "id_claimed"))
            return
        if moved is None:
            await self.journal.move(
                row, lambda entry, _: states.late(entry, remote_id=made.remote_id)
            )


def _doubtful(attempt: int, reason: str, returned_id: str | None = None) -> Step:
    return lambda entry, now: states.doubt(
        entry, attempt=attempt, reason=reason, now=now, returned_id=returned_id
    )


def _withdrawn(attempt: int, reason: str) -> Step:
    return lambda entry, _: states.withdraw(entry, attempt=attempt, reason=reason)
