"""Group commit: concurrent transitions share a commit, and each caller waits for it."""

import asyncio
import gc
from collections.abc import Collection
from datetime import datetime, timedelta

import pytest

from bms_flows.onboarding.ledger import transitions
from bms_flows.onboarding.ledger.entry import BootTime, Entry, State
from bms_flows.onboarding.ledger.store import NextTransition, RemoteIdConflict
from bms_flows.onboarding.resources.evidence import RecordIds
from bms_flows.onboarding.sending.group_commit import GroupCommit
from proofs.simulation.clock import now
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.service import person
from tests.bms_flows.onboarding.sending.simulated import applied, ledger_of

pytestmark = pytest.mark.virtual_time

HOUR = timedelta(hours=1)


class Counting(MemoryLedger):
    """A ledger whose commits take a second and are counted."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.commits: list[list[int]] = []
        for n in range(rows):
            row = self.add(person(n))
            claimed = transitions.claim(self.rows[row], owner="me", now=now(), life=HOUR)
            checked = transitions.record_check(claimed.entry, owner="me", checked_at=now())
            self.rows[row] = checked.entry

    async def change(self, ids: Collection[int], step: NextTransition) -> dict[int, Entry]:
        self.commits.append(sorted(ids))
        await asyncio.sleep(1)
        return await super().change(ids, step)


def intend() -> NextTransition:
    return lambda entry, at: transitions.intend(
        entry, owner="me", now=at, clock=BootTime("b", 0), in_flight=HOUR, max_age=HOUR
    )


def answered(remote_id: str) -> NextTransition:
    return lambda entry, _: transitions.confirm(entry, attempt=1, record=RecordIds(remote_id, 1))


async def test_concurrent_transitions_share_a_commit() -> None:
    ledger = Counting(5)
    commits = GroupCommit(ledger, 5)
    found = await asyncio.gather(*(commits.change(row, intend()) for row in ledger.rows))
    assert [each.attempt for each in found if each] == [1] * 5
    assert ledger.commits == [[1, 2, 3, 4, 5]]


async def test_transitions_during_a_commit_join_the_next_commit() -> None:
    ledger = Counting(3)
    commits = GroupCommit(ledger, 1)
    first = asyncio.create_task(commits.change(1, intend()))
    await asyncio.sleep(0.5)
    await asyncio.gather(first, commits.change(2, intend()), commits.change(3, intend()))
    assert ledger.commits == [[1], [2, 3]]


async def test_no_caller_continues_before_the_commit() -> None:
    ledger = Counting(1)
    move = asyncio.create_task(GroupCommit(ledger, 1).change(1, intend()))
    await asyncio.sleep(0.9)
    assert not move.done()
    assert (await move).state is State.SENDING  # type: ignore[union-attr]  # lawful, so never None


async def test_an_invalid_transition_changes_nothing_and_blocks_no_other() -> None:
    ledger = Counting(2)
    commits = GroupCommit(ledger, 2)
    refused, moved = await asyncio.gather(
        commits.change(1, answered("guid-1")), commits.change(2, intend())
    )
    assert refused is None
    assert moved is not None


async def test_an_id_returned_for_two_rows_stops_only_the_second() -> None:
    ledger = Counting(3)
    commits = GroupCommit(ledger, 3)
    await asyncio.gather(*(commits.change(row, intend()) for row in ledger.rows))
    found = await asyncio.gather(
        commits.change(1, answered("guid-1")),
        commits.change(2, answered("guid-1")),
        commits.change(3, answered("guid-3")),
        return_exceptions=True,
    )
    assert isinstance(found[1], RemoteIdConflict)
    assert [ledger.rows[row].remote_id for row in (1, 2, 3)] == ["guid-1", None, "guid-3"]


async def test_an_error_of_the_ledger_reaches_every_waiter_and_the_next_commit_works() -> None:
    class Failing(Counting):
        async def change(self, ids: Collection[int], step: NextTransition) -> dict[int, Entry]:
            if not self.commits:
                self.commits.append([])
                raise ConnectionError
            return await super().change(ids, step)

    ledger = Failing(2)
    commits = GroupCommit(ledger, 2)
    found = await asyncio.gather(
        commits.change(1, intend()), commits.change(2, intend()), return_exceptions=True
    )
    assert [type(each) for each in found] == [ConnectionError] * 2
    assert await commits.change(1, intend()) is not None


@pytest.mark.parametrize(("latency", "ahead"), [(0.05, True), (5.0, False)])
async def test_intents_are_recorded_ahead_only_while_responses_are_fast(
    latency: float, *, ahead: bool
) -> None:

    from proofs.simulation.service import SimulatedService

    most = 0
    ledger, service = ledger_of(60), SimulatedService(lambda: "good", latency=latency)
    await applied(ledger, service)
    open_rows: set[int] = set()
    for _, row, what, _ in ledger.history:
        if what == "intended":
            open_rows.add(row)
        elif what == "created":
            open_rows.discard(row)
        most = max(most, len(open_rows))
    assert len(service.records) == 60
    assert (most > 8) is ahead


class Slow(MemoryLedger):
    """A ledger whose clock takes a while to answer, and returns the time at which it was asked."""

    asked = 0

    async def now(self) -> datetime:
        self.asked += 1
        answer = await super().now()
        await asyncio.sleep(1)
        return answer


async def test_a_clock_read_follows_its_request_and_concurrent_requests_share_it() -> None:
    ledger = Slow()
    async with GroupCommit(ledger, 8) as commits:
        first = asyncio.create_task(commits.now())
        await asyncio.sleep(0.5)  # that read is under way, and too old for who asks now
        asked_at = await MemoryLedger.now(ledger)
        later = await asyncio.gather(*(commits.now() for _ in range(5)))
        assert await first < asked_at
        assert all(each >= asked_at for each in later)
    assert ledger.asked == 2


async def test_a_cancelled_call_does_not_cancel_the_shared_request() -> None:
    ledger = Slow()
    async with GroupCommit(ledger, 8) as commits:
        given_up, waiting = (asyncio.create_task(commits.now()) for _ in range(2))
        await asyncio.sleep(0.5)
        given_up.cancel()
        assert await waiting is not None
    assert ledger.asked == 1


async def test_a_failed_read_without_callers_is_not_logged() -> None:
    class Down(MemoryLedger):
        async def now(self) -> datetime:
            await asyncio.sleep(1)
            raise ConnectionError

    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    async with GroupCommit(Down(), 8) as commits:
        given_up = asyncio.create_task(commits.now())
        await asyncio.sleep(0.5)
        given_up.cancel()
    del commits
    gc.collect()
    assert logged == []
