"""The ledger in the warehouse: batches beyond the parameter limit, one writer per row."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.ledger import entering, transitions
from bms_flows.onboarding.ledger.entering import enter, verified_fields
from bms_flows.onboarding.ledger.entry import Entry, NewRow, Transition
from bms_flows.onboarding.ledger.store import PostgresLedger

MANY = [str(number) for number in range(70_000)]


async def test_more_keys_and_ids_than_parameters_are_asked_for_at_once(warehouse: Engine) -> None:
    ledger = PostgresLedger(warehouse, "contact")
    assert await ledger.by_key(MANY) == {}
    assert await ledger.owners(MANY) == {}
    rows = range(1, 70_000)
    assert await ledger.change(rows, lambda entry, _: Transition(entry)) == {}
    assert (await ledger.entries(rows), await ledger.bodies(rows)) == ([], {})
    assert verified_fields(warehouse, rows) == {}
    drop = claim.claim_file(warehouse, "contact", FoundFile("a.csv", 1, "1")).id
    with warehouse.begin() as connection:
        entering.save_matches(connection, "contact", drop, {"7": "42"})
        entering.save_matches(connection, "contact", drop, {"7": "43", "8": "43"})
    with warehouse.connect() as connection:
        found = entering.matched_ids(connection, "contact", MANY)
    assert found == {"7": "42", "8": "43"}


def until_someone_waits(warehouse: Engine, task: asyncio.Task[object]) -> None:
    waiting = text("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
    with warehouse.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not (task.done() or connection.scalar(waiting)):
            pass


@pytest.mark.parametrize("step", ["enter", "take over", "verify"])
async def test_a_drop_waits_for_a_task_without_a_deadlock(step: str, warehouse: Engine) -> None:
    """The keys of the rows are in another order than their numbers."""
    drop = claim.claim_file(warehouse, "contact", FoundFile("a.csv", 1, "1")).id
    with warehouse.begin() as connection:
        for key in ("b", "a"):
            row = NewRow(line=2, key=key, digest="d", body={})
            enter(connection, "contact", drop, [row], attempts=5)

    def work(ids: Sequence[int]) -> None:
        if step == "verify":
            entering.save_verified(warehouse, {each: {} for each in reversed(ids)})
            return
        with warehouse.begin() as connection:
            if step == "enter":
                entering.lock_entering(connection, "contact", ["a", "b"])
                enter(connection, "contact", drop, [row], attempts=5)
            entering.take_over(connection, "contact", drop, {"a": 2, "b": 3})

    lock = text("select from bms.creation where id = :id for update")
    with warehouse.begin() as connection:
        first, second = connection.scalars(text("select id from bms.creation order by 1"))
        connection.execute(lock, {"id": first})
        working = asyncio.create_task(asyncio.to_thread(work, [first, second]))
        await asyncio.to_thread(until_someone_waits, warehouse, working)
        connection.execute(lock, {"id": second})
    await working


async def test_the_second_of_two_concurrent_claims_sees_the_first(warehouse: Engine) -> None:
    """Without the row's lock both would find it free, and both would send."""
    drop = claim.claim_file(warehouse, "employee", FoundFile("a.csv", 1, "1")).id
    with warehouse.begin() as connection:
        enter(
            connection, "employee", drop, [NewRow(line=2, key="k", digest="d", body={})], attempts=5
        )
        [row] = connection.scalars(text("select id from bms.creation"))
    ledger, reading, go_on = (
        PostgresLedger(warehouse, "employee"),
        threading.Event(),
        threading.Event(),
    )

    def claim_slowly(entry: Entry, now: datetime) -> Transition:
        reading.set()
        assert go_on.wait()
        return transitions.claim(entry, owner="first", now=now, life=timedelta(minutes=1))

    def claim_too(entry: Entry, now: datetime) -> Transition:
        return transitions.claim(entry, owner="second", now=now, life=timedelta(minutes=1))

    first = asyncio.create_task(ledger.change([row], claim_slowly))
    await asyncio.to_thread(reading.wait, 60)
    second = asyncio.create_task(ledger.change([row], claim_too))
    await asyncio.to_thread(until_someone_waits, warehouse, second)
    go_on.set()
    taken = await first
    assert [entry.owner for entry in taken.values()] == ["first"]
    assert await second == {}
