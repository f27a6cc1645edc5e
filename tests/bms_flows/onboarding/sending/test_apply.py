"""The applier in virtual time: each row reaches exactly one outcome, without duplicates or losses."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from bms.errors import AmbiguousWrite
from bms_flows.onboarding.ledger.decisions import reopen
from bms_flows.onboarding.ledger.entry import EXISTING, NewRow, State
from bms_flows.onboarding.resources.evidence import RecordIds
from bms_flows.onboarding.sending.apply import NothingSent
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.sending.send import AHEAD, CreatesRefused
from bms_warehouse.locks import Busy
from proofs.simulation import creation
from proofs.simulation import ledger as simulated_ledger
from proofs.simulation.clock import now
from proofs.simulation.creation import applier, hurried, to_the_end
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.process import Killed, Process
from proofs.simulation.recorder import Recorder
from proofs.simulation.service import Record, SimulatedService, drawn, person
from tests.bms_flows.onboarding.sending.simulated import SETTINGS, applied, ledger_of

pytestmark = pytest.mark.virtual_time

PROBES = 11
"""Creates that a task tries in the time that it waits for a service: after 1, 2, 4 ... 120 s."""


async def test_lost_replies_are_adopted_after_one_settle_time_for_all() -> None:
    loop = asyncio.get_running_loop()
    ledger, service = ledger_of(30), SimulatedService(lambda: "lost" if loop.time() < 1 else "good")
    counts = await applied(ledger, service)
    assert counts == {State.ADOPTED: 28, State.CREATED: 2}
    assert loop.time() < 92, "the settle time was waited more than once"
    assert ledger.rows[1].evidence == ("new", "key", "name", "start_date")
    assert not service.doubles()


@pytest.mark.parametrize(
    ("rows", "first", "settle_times"),
    [
        (12, ["good", "failed", "good", "failed"], 2),
        (12, ["good", "unavailable", "good", "unavailable"], 2),
        (5, ["failed", "good", "good", "failed"], 4),  # a second row has to show it
    ],
)
async def test_creates_without_a_record_are_sent_again_on_a_quiet_service(
    rows: int, first: list[str], settle_times: int
) -> None:
    """The last rows of the drop show that the lists are up to date: no other record would."""
    loop = asyncio.get_running_loop()
    fates = iter([*first, *["good"] * 30])
    ledger, service = ledger_of(rows), SimulatedService(lambda: next(fates))
    counts = await applied(ledger, service)
    assert counts == {State.CREATED: rows}
    assert not service.doubles()
    bounds = SETTINGS.create_timeout_s + settle_times * SETTINGS.settle_s
    assert loop.time() < bounds + 5, "rows wait for more than their attempt and settle times"


async def confirmed_one(ledger: MemoryLedger, service: SimulatedService) -> asyncio.Task[None]:
    """Create a row, which shows the offset of `created_on`, and let other users work from then on."""
    fates, service.fates = service.fates, lambda: "good"
    row = ledger.add(person(99))
    await applied(ledger, service, row)
    service.fates = fates
    return asyncio.create_task(service.stay_busy(20))


async def test_a_row_that_the_service_never_creates_goes_to_review_after_five_posts() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "failed")
    others = await confirmed_one(ledger, service)
    row = ledger.add(person(1))
    assert await applied(ledger, service, row) == {State.REVIEW: 1}
    others.cancel()
    assert len(service.sent) == 1 + 5
    assert ledger.rows[row].reason == "attempts_used"
    assert [*hurried(ledger, SETTINGS)] == []


async def test_a_row_without_a_later_record_of_anyone_goes_to_review_after_one_post() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "failed")
    row = ledger.add(person(1))
    assert await applied(ledger, service, row) == {State.REVIEW: 1}
    assert ledger.rows[row].reason == "absence_not_proven"
    assert len(service.sent) == 1


@pytest.mark.parametrize("same_boot", [True, False])
async def test_a_step_of_the_databases_clock_shortens_no_settle_time(
    same_boot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A create is lost, the clock steps ten minutes forward, the record shows a settle time later."""
    ledger, service = MemoryLedger(), SimulatedService(lambda: "lost", lag=lambda: 25.0)
    row = ledger.add(person(1))

    class Dying(Process):
        """It is killed once its request is sent."""

        async def create(self, body: Any, before_send: Any, on_id: Any) -> RecordIds:  # noqa: ARG002 - as its base
            await before_send()
            with suppress(AmbiguousWrite):
                await self._service.create(body)
            self.dead = True
            raise Killed

    with pytest.raises(Killed):
        await applier(Dying(ledger, service), SETTINGS).apply([row])
    assert ledger.rows[row].state is State.SENDING
    ahead = timedelta(minutes=10)

    async def stepped() -> datetime:
        return now() + ahead

    monkeypatch.setattr(ledger, "now", stepped)
    monkeypatch.setattr(simulated_ledger, "now", lambda: now() + ahead)
    worker = Process(ledger, service, boot="boot" if same_boot else "another")
    loop = asyncio.get_running_loop()
    started = loop.time()
    await applier(worker, SETTINGS).apply([row])
    assert loop.time() - started >= 60 + 30 - 1
    assert ledger.rows[row].state is State.ADOPTED
    assert len(service.sent) == 1


async def test_rows_never_sent_end_the_task_without_an_ambiguous_outcome() -> None:
    class Hanging(Process):
        """Its token endpoint doesn't answer: a create is never about to be sent."""

        async def create(self, body: Any, before_send: Any, on_id: Any) -> Any:  # noqa: ARG002 - as its base
            await asyncio.Event().wait()

    ledger, service = ledger_of(3), SimulatedService(lambda: "good")
    with pytest.raises(NothingSent, match="none of 3 rows"):
        await applier(Hanging(ledger, service), SETTINGS).apply(list(ledger.rows))
    assert {entry.state for entry in ledger.rows.values()} == {State.READY}
    assert not service.sent


@pytest.mark.parametrize(
    ("fate", "stopped", "most"),
    [
        ("no_connection", pytest.raises(CreatesPaused), SETTINGS.create_concurrency + PROBES),
        (
            "forbidden",
            pytest.raises(CreatesRefused, match="remove 403 from BMS_CREATE_STOPPED_BY"),
            AHEAD * SETTINGS.create_concurrency,
        ),
    ],
    ids=["no connection", "forbidden"],
)
async def test_a_failed_connection_or_revoked_permission_stops_all_rows_and_changes_none(
    fate: str, stopped: Any, most: int
) -> None:
    ledger, service = ledger_of(200), SimulatedService(lambda: fate)
    with stopped:
        await applied(ledger, service)
    assert {e.state for e in ledger.rows.values()} == {State.READY}
    assert all(e.unsent and e.max_attempts - e.attempt == 5 for e in ledger.rows.values())
    assert service.fired[fate] <= most
    service.fates = lambda: "good"
    assert await to_the_end(ledger, service, SETTINGS)
    assert len(service.records) == 200


async def test_a_status_configured_as_row_specific_rejects_only_its_row() -> None:
    fates = iter(["forbidden", "good"])
    ledger, service = ledger_of(2), SimulatedService(lambda: next(fates))
    settings = replace(SETTINGS, create_stopped_by="404", create_concurrency=1)
    await applier(Process(ledger, service), settings).apply([1, 2])
    assert [e.state for e in ledger.rows.values()] == [State.REJECTED, State.CREATED]
    assert ledger.rows[1].reason == "refused_403"


async def test_a_manager_is_created_first_and_its_number_goes_into_the_body() -> None:
    ledger, service = MemoryLedger(), SimulatedService(drawn(Random(1), {"lost": 1, "good": 1}))
    boss = ledger.add(person(1))
    middle = ledger.add(person(2), manager=ledger.rows[boss].key)
    ledger.add(person(3), manager=ledger.rows[middle].key)
    await applied(ledger, service, 1, 2, 3)
    assert {e.state for e in ledger.rows.values()} <= EXISTING
    assert [key for _, key in service.sent] == [ledger.rows[n].key for n in (1, 2, 3)]


async def test_reports_of_a_manager_adopted_without_a_number_are_rejected_unsent() -> None:
    class Unnumbered(SimulatedService):
        """Its list leaves the employee number out."""

        def listed(self) -> list[Record]:
            return [
                replace(record, known=msgspec.structs.replace(record.known, number=None))
                for record in super().listed()
            ]

    ledger, service = MemoryLedger(), Unnumbered(lambda: "lost")
    boss = ledger.add(person(1))
    ledger.add(person(2), manager=ledger.rows[boss].key)
    await applied(ledger, service, 1, 2)
    assert ledger.rows[boss].state is State.ADOPTED
    assert ledger.rows[2].reason == "manager_without_number"
    assert len(service.sent) == 1


async def test_an_earlier_refused_report_is_rejected_with_its_refused_manager() -> None:
    """Refused, dropped again below a new manager, who is refused too."""
    ledger, service = MemoryLedger(), SimulatedService(lambda: "refused")
    row = ledger.add(person(1))
    await applied(ledger, service, row)
    boss = ledger.add(person(2))
    again = NewRow(
        line=2, key="", digest=ledger.rows[row].digest, body={}, manager_key=ledger.rows[boss].key
    )
    await ledger.change([row], lambda e, now: reopen(e, again, now=now, attempts=5))
    counts = await applied(ledger, service, boss, row)
    assert counts == {State.REJECTED: 2}
    assert ledger.rows[row].reason == "manager_not_created"
    assert len(service.sent) == 2


async def test_rows_leased_by_a_running_task_are_left_alone() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "lost")
    row = ledger.add(person(1))
    first = asyncio.create_task(applied(ledger, service, row))
    await asyncio.sleep(5)
    with pytest.raises(Busy) as busy:
        await applied(ledger, service, row)
    assert 30 < busy.value.retry_after <= 60, "the task renews its lease"
    assert await first == {State.ADOPTED: 1}
    assert len(service.sent) == 1


async def test_rows_of_a_killed_task_are_continued_when_its_lease_expires() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    row = ledger.add(person(1))
    killed: Any = {"owner": "killed", "leased_until": now() + timedelta(seconds=10)}
    ledger.rows[row] = msgspec.structs.replace(ledger.rows[row], **killed)
    with pytest.raises(Busy) as busy:
        await applied(ledger, service, row)
    await asyncio.sleep(busy.value.retry_after)
    assert now() - killed["leased_until"] <= timedelta(seconds=1)
    assert await applied(ledger, service, row) == {State.CREATED: 1}


@pytest.mark.parametrize("fate", ["early_id", "slow_read_back"])
@pytest.mark.parametrize(("settle_times", "state"), [(15, State.ADOPTED), (60, State.REVIEW)])
async def test_a_returned_id_prevents_a_duplicate_of_a_record_listed_late(
    fate: str, settle_times: float, state: State
) -> None:
    ledger = MemoryLedger()
    lag = settle_times * SETTINGS.settle_s
    service = SimulatedService(lambda: fate, lag=lambda: lag)
    row = ledger.add(person(1))
    await applied(ledger, service, row)
    assert ledger.rows[row].state is state
    assert len(service.sent) == 1


async def test_a_lag_beyond_the_settle_time_makes_a_duplicate_that_the_audit_finds() -> None:
    from bms_flows.onboarding.reporting.duplicates import compare

    ledger = MemoryLedger()
    fates = iter(["lost", "good"])
    lags = iter([0.0, 1000.0])
    service = SimulatedService(lambda: next(fates), lag=lambda: next(lags, 0.0))
    others = await confirmed_one(ledger, service)
    row = ledger.add(person(1))
    await applied(ledger, service, row)
    others.cancel()
    assert ledger.rows[row].state is State.CREATED
    entries = {e.key: e for e in ledger.rows.values()}
    assert compare(entries, [each.known for each in service.listed()]) == []
    await asyncio.sleep(1000)
    [found] = compare(entries, [each.known for each in service.listed()])
    assert found.what == "double"
    assert len(found.remote_ids) == 2


@pytest.mark.parametrize("fate", ["good", "lost", "early_id"])
async def test_a_ledger_that_lost_the_intent_of_a_create_under_way_permits_no_second_post(
    fate: str,
) -> None:
    """PostgreSQL failed over to a replica without the latest commits; the worker continues."""
    unsent = {"first_intended_at": None, "intended_at": None, "in_flight_until": None}

    class Failover(Process):
        async def create(self, body: Any, before_send: Any, on_id: Any) -> RecordIds:
            async def sent() -> None:
                await before_send()
                for number, entry in ledger.rows.items():
                    ledger.rows[number] = msgspec.structs.replace(
                        entry, state=State.READY, attempt=entry.attempt - 1, **unsent
                    )

            return await super().create(body, sent, on_id)

    ledger, service = MemoryLedger(), SimulatedService(lambda: fate, lag=lambda: 20.0)
    row = ledger.add(person(1))
    counts = await applier(Failover(ledger, service), SETTINGS).apply([row])
    assert sum(counts[each] for each in EXISTING & counts.keys()) == 1
    assert len(service.sent) == 1


@pytest.mark.parametrize(
    ("lag", "state", "reason"),
    [(600.0, State.ADOPTED, None), (1e6, State.REVIEW, "absence_not_proven")],
    ids=["late", "never"],
)
async def test_no_row_is_sent_again_while_the_lists_lack_records_created_at_that_time(
    lag: float, state: State, reason: str | None
) -> None:
    """The response to the third of ten rows is lost."""
    fates = iter(["good", "good", "lost", *["good"] * 7])
    ledger, service = ledger_of(10), SimulatedService(lambda: next(fates), lag=lambda: lag)
    assert await applied(ledger, service) == {State.CREATED: 9, state: 1}
    assert len(service.sent) == 10
    assert {e.reason for e in ledger.rows.values()} == {None, reason}


async def test_a_created_record_that_an_hr_user_deletes_later_delays_no_other_row() -> None:
    ledger, service = MemoryLedger(), SimulatedService(lambda: "good")
    first = ledger.add(person(1))
    await applied(ledger, service, first)
    service.records.clear()
    others = await confirmed_one(ledger, service)
    await asyncio.sleep(3600)
    fates = iter(["failed", "good"])
    service.fates = lambda: next(fates)
    second = ledger.add(person(2))
    await applied(ledger, service, first, second)
    others.cancel()
    assert ledger.rows[second].attempt == 2
    assert ledger.rows[second].state is State.CREATED


async def test_a_later_record_of_another_list_proves_no_absence() -> None:
    """Each entity's list is its own response, perhaps of another replica."""

    class StaleList(SimulatedService):
        """The list of entity 2 is an hour late."""

        def listed(self) -> list[Record]:
            late = now() - timedelta(hours=1)
            shown = super().listed()
            return [r for r in shown if r.known.values["id_entity"] == 1 or r.exists_from < late]

    ledger, service = MemoryLedger(), StaleList(lambda: "lost")
    others = await confirmed_one(ledger, service)
    row = ledger.add(person(1, id_entity=2), snapshot=service.snapshot([1, 2], now()))
    await applied(ledger, service, row)
    others.cancel()
    assert not service.doubles()
    assert ledger.rows[row].reason == "absence_not_proven"


@pytest.mark.parametrize("seed", range(100))
def test_no_fault_duplicates_or_loses_a_row(seed: int) -> None:
    """Workers, kills, stops, every fate, lags within the settle time; from one seed."""
    assert creation.broken(seed, Recorder()) == []
