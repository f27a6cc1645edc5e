"""Rows compared with the service before a POST, in virtual time."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from bms_flows.onboarding.ledger import decisions
from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.remote import ScopeUnlisted
from bms_flows.onboarding.resources.snapshot import ServiceLists, listed
from bms_flows.onboarding.sending.service_check import CheckTooSlow
from proofs.simulation.clock import now
from proofs.simulation.creation import applier
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.process import Process
from proofs.simulation.service import Record, SimulatedService, person
from tests.bms_flows.onboarding.sending.simulated import SETTINGS, applied

pytestmark = pytest.mark.virtual_time


class Slow(Process):
    """A service whose lists take a while."""

    seconds = 0.0

    async def refresh(self, *given: Any) -> ServiceLists:
        await asyncio.sleep(self.seconds)
        return await super().refresh(*given)

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        await asyncio.sleep(self.seconds)
        return await super().read_all(scopes, at)


async def test_a_row_sent_after_its_check_expired_is_checked_again() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good", latency=10)
    for n in range(30):
        ledger.add(person(n), snapshot=service.snapshot([1], now()))
    settings = replace(SETTINGS, create_concurrency=1, check_max_age_s=100)

    async def type_in() -> None:
        await asyncio.sleep(50)
        service.type_in(person(29), 29)

    typing = asyncio.create_task(type_in())
    counts = await applier(Process(ledger, service), settings).apply(list(ledger.rows))
    await typing
    assert counts == {State.CREATED: 29, State.ADOPTED: 1}
    assert ledger.rows[30].existed
    assert len(service.sent) == 29


@pytest.mark.parametrize("planned", [True, False])
async def test_a_check_slower_than_its_validity_fails_the_task_and_names_the_setting(
    planned: bool,
) -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    taken = service.snapshot([1], now()) if planned else None
    row = ledger.add(person(1), snapshot=taken)
    slow = Slow(ledger, service)
    slow.seconds = 601
    with pytest.raises(CheckTooSlow, match="longer than a check is valid"):
        await applier(slow, SETTINGS).apply([row])
    assert ledger.rows[row].state is State.READY
    assert not service.sent


async def test_a_slow_complete_read_is_followed_by_an_incremental_read() -> None:
    class SlowAtFirst(Slow):
        async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
            found = await super().read_all(scopes, at)
            self.seconds = 1
            self._service.type_in(person(1), 1)
            return found

    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    row = ledger.add(person(1))
    slow = SlowAtFirst(ledger, service)
    slow.seconds = 3600
    assert await applier(slow, SETTINGS).apply([row]) == {State.ADOPTED: 1}
    assert not service.sent


async def test_a_list_that_is_not_found_is_no_empty_list() -> None:
    class Unlisted(Process):
        async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:  # noqa: ARG002 - as its base
            return ServiceLists(taken_at=at, lists={}, records={})

    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    row = ledger.add(person(1))
    with pytest.raises(ScopeUnlisted):
        await applier(Unlisted(ledger, service), SETTINGS).apply([row])
    assert not service.sent


async def test_a_candidate_excluded_by_a_reviewer_is_not_reviewed_again() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    row = ledger.add(person(1), snapshot=service.snapshot([1], now()))
    namesake = person(1, payroll_number="900001")
    service.type_in(namesake, 900001)
    await applied(ledger, service, row)
    asked = ledger.rows[row]
    assert (asked.state, asked.reason) == (State.REVIEW, "same_person_other_key")
    decided = decisions.retry_after_review(asked, who="ada", run="r").entry
    ledger.rows[row] = decided
    await applied(ledger, service, row)
    assert ledger.rows[row].state is State.CREATED
    service.type_in(person(1, payroll_number="900002"), 900002)
    ledger.rows[row] = decided
    await applied(ledger, service, row)
    again = ledger.rows[row]
    assert again.state is State.ADOPTED, "its own record is there"


async def test_a_record_compared_during_planning_does_not_go_to_review() -> None:
    """A reviewer decided that two alike rows are two persons."""
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    taken = service.snapshot([1], now())
    ledger.add(person(1), snapshot=taken)
    other = ledger.add(person(1, payroll_number="900001"), snapshot=taken)
    alike = (ledger.rows[1].key,)
    ledger.rows[other] = msgspec.structs.replace(ledger.rows[other], alike=alike)
    for row in (1, 2):
        await applied(ledger, service, row)
    assert {entry.state for entry in ledger.rows.values()} == {State.CREATED}


async def test_a_record_that_another_row_claimed_is_a_candidate() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    taken = service.snapshot([1], now())
    for given in ({}, {"payroll_number": "900001"}):
        ledger.add(person(1, **given), snapshot=taken)
    for row in (1, 2):
        await applied(ledger, service, row)
    asked = ledger.rows[2]
    assert (asked.state, asked.candidates) == (State.REVIEW, (ledger.rows[1].remote_id,))
    assert len(service.sent) == 1


class Emptied(SimulatedService):
    """Its lists lack all records, and it returns the details of `readable` records."""

    readable = True

    def listed(self) -> list[Record]:
        return []

    async def read(self, remote_id: str) -> ServiceRecord | None:
        found = (r.known for r in self.records if r.known.remote_id == remote_id)
        return next(found, None) if self.readable else None


def emptied(people: int, *, readable: bool) -> tuple[MemoryLedger, Emptied]:
    """Return a row planned while the lists showed some records, and the service that lost them."""
    ledger, service = MemoryLedger(), Emptied(lambda: "good")
    service.readable = readable
    for n in range(7, 7 + people):
        service.type_in(person(n), n)
    shown = [each.known for each in SimulatedService.listed(service)]
    ledger.add(
        person(1), snapshot=ServiceLists(taken_at=now(), lists={"1": listed(shown)}, records={})
    )
    return ledger, service


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("people", [1, 3])
async def test_lists_that_lack_all_earlier_records_prove_nothing(
    people: int, readable: bool
) -> None:
    """A service that answers 404 for every record of the plan is more likely wrong than emptied."""
    ledger, service = emptied(people, readable=readable)
    await applied(ledger, service, 1)
    entry = ledger.rows[1]
    assert (entry.state, entry.reason) == (State.REVIEW, "lists_incomplete")
    assert not service.sent


@pytest.mark.parametrize("moved", [True, False])
async def test_a_few_deleted_or_moved_records_do_not_count(moved: bool) -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    for n in range(7, 10):
        service.type_in(person(n), n)
    row = ledger.add(person(1), snapshot=service.snapshot([1], now()))
    if moved:
        for record in service.records:
            service.change(record, person(record.who, id_entity=2))
    else:
        del service.records[0]
    await applied(ledger, service, row)
    assert ledger.rows[row].state is State.CREATED


async def test_a_reviewer_may_send_a_row_although_the_lists_stay_incomplete() -> None:
    ledger, service = emptied(1, readable=True)
    await applied(ledger, service, 1)
    ledger.rows[1] = decisions.retry_after_review(ledger.rows[1], who="ada", run="r").entry
    await applied(ledger, service, 1)
    assert ledger.rows[1].state is State.CREATED


async def test_a_record_with_the_same_key_and_another_name_goes_to_review() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    row = ledger.add(person(1), snapshot=service.snapshot([1], now()))
    service.type_in(person(1, last_name="Autre"), 1001)
    await applied(ledger, service, row)
    entry = ledger.rows[row]
    assert (entry.state, entry.reason) == (State.REVIEW, "same_key_other_data")
    assert entry.candidates == ("guid-1",)


async def test_one_refresh_checks_all_rows_of_a_chunk() -> None:
    class Counted(Process):
        refreshes = 0

        async def refresh(self, *given: Any) -> ServiceLists:
            self.refreshes += 1
            return await super().refresh(*given)

    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    for n in range(200):
        ledger.add(person(n), snapshot=service.snapshot([1], now()))
    counted = Counted(ledger, service)
    await applier(counted, SETTINGS).apply(list(ledger.rows))
    assert (len(service.records), counted.refreshes) == (200, 1)


async def test_a_row_without_a_snapshot_is_checked_against_everything() -> None:
    """Its snapshot was deleted, or the ledger is older than snapshots are."""
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    service.type_in(person(1), 1)
    rows = [ledger.add(person(1)), ledger.add(person(2), snapshot=service.snapshot([1], now()))]
    await applied(ledger, service, *rows)
    assert [ledger.rows[row].state for row in rows] == [State.ADOPTED, State.CREATED]
    assert len(service.sent) == 1


async def test_after_an_upgrade_the_lists_of_all_entities_are_read_again() -> None:
    """Snapshots of earlier rules can't be compared, but they name the lists to read."""
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    row = ledger.add(person(1), snapshot=service.snapshot([1, 2], now()))
    ledger.snapshot[1] = msgspec.structs.replace(ledger.snapshot[1], rules="earlier")
    service.type_in(person(1, id_entity=2, start_date="2020-01-06"), 1001)
    await applied(ledger, service, row)
    entry = ledger.rows[row]
    assert (entry.state, entry.reason) == (State.REVIEW, "same_name_and_number")
    assert service.sent == []


async def test_a_row_without_a_snapshot_is_compared_with_all_entities_of_the_connection() -> None:
    """The row's own entity would not show the person whom another entity employs."""
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good", entities=(1, 2))
    row = ledger.add(person(1))
    service.type_in(person(1, id_entity=2, start_date="2020-01-06"), 1001)
    await applied(ledger, service, row)
    assert ledger.rows[row].reason == "same_name_and_number"
    assert service.sent == []
