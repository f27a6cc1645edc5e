"""Conditions for sending a create, on real connections, with the ledger in PostgreSQL."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine, text

from bms.client import Client
from bms.settings import ClientSettings
from bms.transport import BeforeSend
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.ledger.entering import enter
from bms_flows.onboarding.ledger.entry import BootTime, NewRow, State
from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.resources.evidence import RecordIds
from bms_flows.onboarding.resources.remote import OnId
from bms_flows.onboarding.resources.remotes import Employees
from bms_flows.onboarding.sending.apply import Applier, NothingSent
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.settings import OnboardingSettings
from bms_sandbox.serve import Sandbox
from proofs.simulation.service import person
from tests.support.sql import scalars

LEAVES_WITHIN = OnboardingSettings(create_timeout_s=4, lease_s=0.8, settle_s=0.2)
"""A create leaves within 0.8 s of its intent or never."""


def entered(warehouse: Engine, count: int) -> list[int]:
    """Enter employees into the ledger; return their numbers."""
    drop = claim.claim_file(warehouse, "employee", FoundFile("a.csv", 1, "1")).id
    bodies = [person(n) for n in range(900_001, 900_001 + count)]
    keys = [Employees.identity.key(body) for body in bodies]
    new = [
        NewRow(line=line, key=key, digest="d", body=body)
        for line, (key, body) in enumerate(zip(keys, bodies, strict=True), 2)
        if key is not None
    ]
    with warehouse.begin() as connection:
        enter(connection, "employee", drop, new, attempts=5)
        return list(connection.scalars(text("select id from bms.creation order by 1")))


def events(warehouse: Engine) -> Counter[str]:
    return Counter(scalars(warehouse, "select what from bms.creation_event"))


@asynccontextmanager
async def connected(settings: ClientSettings) -> AsyncIterator[tuple[Client, Client]]:
    """A client that reads and a client that sends each create once, both with an open connection."""
    async with Client(settings) as reader, Client(replace(settings, attempts=1)) as writer:
        await writer.access()
        await reader.list_employees(id_entity=1)  # the check before sending finds it open
        yield reader, writer


class Disturbed(Employees):
    """A remote with a disturbance before its first create, after the intent."""

    def __init__(
        self, reader: Client, writer: Client, first: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(reader, writer)
        self._first: Callable[[], Awaitable[None]] | None = first

    async def create(
        self, body: Mapping[str, Any], before_send: BeforeSend, on_id: OnId
    ) -> RecordIds:
        first, self._first = self._first, None
        if first:
            await first()
        return await super().create(body, before_send, on_id)


@pytest.mark.parametrize("suspended", [False, True])
async def test_a_create_connected_too_late_or_after_a_suspend_is_not_sent(
    warehouse: Engine, sandbox: Sandbox, client_settings: ClientSettings, suspended: bool
) -> None:
    """A kernel that gets no answer tries again after a second; a suspend stops the monotonic clock."""
    rows = entered(warehouse, 1)
    delay, clock = partial(asyncio.to_thread, sandbox.delay_connections, 0.7), BootTime.now
    if suspended:
        delay, clock = partial(asyncio.sleep, 1.0), lambda: BootTime("boot", 0.0)
    async with connected(client_settings) as (reader, writer):
        ledger, remote = PostgresLedger(warehouse, "employee"), Disturbed(reader, writer, delay)
        counts = await Applier(ledger, remote, LEAVES_WITHIN, clock=clock).apply(rows)
    assert counts == {State.CREATED: 1}
    found = events(warehouse)
    assert found["entered"] == found["created"] == 1
    assert found["intended"] - 1 == found["withdrawn"] >= 1  # more on a slow machine
    assert sandbox.truth()["requests"]["create_employee"] == {"201": 1}


async def test_a_connection_timeout_is_unambiguous(
    warehouse: Engine, sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    rows = entered(warehouse, 1)
    async with connected(client_settings) as (reader, writer):
        sandbox.delay_connections(4)
        ledger = PostgresLedger(warehouse, "employee")
        applier = Applier(ledger, Employees(reader, writer), LEAVES_WITHIN)
        with pytest.raises(NothingSent):
            await applier.apply(rows)
    assert events(warehouse) == {"entered": 1, "intended": 3, "withdrawn": 3}


IN_SMALL = OnboardingSettings(
    create_timeout_s=1.0, lease_s=5, settle_s=0.2, outage_wait_s=30, check_max_age_s=60
)


async def end_of(sandbox: Sandbox, kind: str, seconds: float) -> None:
    """End a fault some seconds after it struck."""
    while not sandbox.truth()["faults"].get(kind):  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.05)
    await asyncio.sleep(seconds)
    sandbox.clear_faults()


@pytest.mark.parametrize(
    ("fault", "refused_by_429"),
    [
        ({"kind": "503", "retry_after": 1}, False),
        ({"kind": "429", "retry_after": None}, False),
        ({"kind": "gateway", "seconds": 0, "origin_seconds": 0.2, "status": 502}, False),
        ({"kind": "rate_limit", "per_second": 10, "retry_after": 1}, True),
    ],
    ids=lambda given: given["kind"] if isinstance(given, dict) else str(given),
)
async def test_outages_and_rate_limits_pass_without_a_review(
    warehouse: Engine,
    sandbox: Sandbox,
    client_settings: ClientSettings,
    fault: dict[str, Any],
    refused_by_429: bool,
) -> None:
    rows = entered(warehouse, 60)
    given = replace(client_settings, create_refused_by_429=refused_by_429)
    async with connected(given) as (reader, writer):
        sandbox.set_fault(**fault, operation="create_employee")
        ledger, remote = PostgresLedger(warehouse, "employee"), Employees(reader, writer)
        ending = asyncio.create_task(end_of(sandbox, fault["kind"], 1.0))
        counts = await Applier(ledger, remote, IN_SMALL).apply(rows)
        await ending
    assert counts.keys() <= {State.CREATED, State.ADOPTED}
    truth = sandbox.truth()
    assert len(truth["created"]["employees"]) == 60
    assert truth["duplicates"]["employees"] == []
    assert 0 < truth["faults"][fault["kind"]] <= 20


async def test_a_long_retry_after_ends_the_task_and_sets_its_retry(
    warehouse: Engine, sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    rows = entered(warehouse, 60)
    async with connected(client_settings) as (reader, writer):
        sandbox.set_fault("read_only", status=503, retry_after=7200)
        ledger, remote = PostgresLedger(warehouse, "employee"), Employees(reader, writer)
        with pytest.raises(CreatesPaused) as paused:
            await Applier(ledger, remote, IN_SMALL).apply(rows)
    assert paused.value.retry_after == pytest.approx(7200, abs=30)
    assert sandbox.truth()["faults"]["read_only"] <= IN_SMALL.create_concurrency
