"""Two drops with the same person under two keys: one record in every order of steps."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.onboarding.creation import Creation, Entered
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_sandbox.serve import Sandbox
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.crm import people
from tests.bms_flows.onboarding.onboarding import Run, creation_of, entered, let_clock_run
from tests.support.sql import fetch

ONE_PERSON = {
    "contact": (
        people("contact", "Girard;Alice;alice@depot.example;06 00 00 00 03;;"),
        people("contact", "Girard;Alice;;06 00 00 00 03;;"),
    ),
    "consultant": (
        people("consultant", "Girard;Alice;alice@depot.example;;;"),
        people("consultant", "GIRARD;Alice;;06 00 00 00 03;1988;"),
    ),
    "employee": (csv("900001;Girard;Alice;2026-05-15;"), csv("900002;Girard;Alice;2026-05-15;")),
}


class Meeting:
    """A remote that continues only after the other drop has read the same lists."""

    def __init__(self, remote: Any, both: asyncio.Barrier) -> None:
        self._remote = remote
        self._both = both
        self._met = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._remote, name)

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        """Read the lists, and wait for the other drop the first time."""
        found: ServiceLists = await self._remote.read_all(scopes, at)
        if not self._met:
            self._met = True
            await self._both.wait()
        return found


@dataclass(frozen=True)
class Taking:
    """One drop on its bench."""

    creation: Creation
    sheet: Sheet

    async def plan(self) -> str:
        return (await self.creation.plan(self.sheet)).plan.id

    async def enter(self, plan_id: str | None = None) -> Entered:
        return await entered(self.creation, self.sheet, plan_id)

    async def apply(self, begun: Entered) -> list[dict[str, int]]:
        return [await self.creation.apply(begun.plan_id, number) for number in range(begun.chunks)]


@asynccontextmanager
async def taking(run: Run, engine: Engine) -> AsyncIterator[Taking]:
    async with creation_of(run, engine, create_timeout_s=20, lease_s=20) as (creation, sheet):
        yield Taking(creation, sheet)


@pytest.mark.parametrize("resource", ONE_PERSON)
async def test_two_plans_made_before_either_entered_create_one_record(
    resource: str, sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    runs = [drop(content, resource) for content in ONE_PERSON[resource]]
    async with taking(runs[0], warehouse) as one, taking(runs[1], warehouse) as other:
        plans = await asyncio.gather(one.plan(), other.plan())
        with warehouse.begin() as connection:  # as after the days of an approval: both read again
            connection.exec_driver_sql("delete from bms.creation_snapshot")
        both = asyncio.Barrier(2)

        def meeting(drop: Taking) -> Taking:
            remote: Any = Meeting(drop.creation.remote, both)
            return replace(drop, creation=replace(drop.creation, remote=remote))

        drops = [meeting(one), meeting(other)]
        begun = await asyncio.gather(*map(Taking.enter, drops, plans))
        ended = await asyncio.gather(*map(Taking.apply, drops, begun))
    assert sorted(ended, key=len) == [[], [{"created": 1}]]
    assert len(sandbox.truth()["created"][f"{resource}s"]) == 1
    states = fetch(warehouse, "select state from bms.creation order by 1")
    assert [state for (state,) in states] == ["created", "review"]


@pytest.mark.parametrize("resource", ONE_PERSON)
def test_a_record_not_listed_yet_is_not_created_again(
    resource: str, sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    """Created and without a receipt yet: neither the lists nor a match lead to it."""
    let_clock_run(sandbox)
    sandbox.set_fault("list_lag", f"create_{resource}", seconds=0.3)

    async def main() -> None:
        runs = [drop(content, resource) for content in ONE_PERSON[resource]]
        async with taking(runs[0], warehouse) as one, taking(runs[1], warehouse) as other:
            begun = await one.enter()
            assert await one.apply(begun) == [{"created": 1}]
            assert (await other.enter()).chunks == 0
        assert len(sandbox.truth()["created"][f"{resource}s"]) == 1

    asyncio.run(main())


async def test_two_files_with_the_same_people_report_their_creation_once(
    sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    rows = ("900001;Girard;Alice;2026-05-15;", "900002;Petit;Luc;2026-05-15;")
    runs = [drop(csv(*rows)), drop(csv(*reversed(rows)))]
    async with taking(runs[0], warehouse) as one, taking(runs[1], warehouse) as other:
        drops = (one, other)
        plans = [await each.plan() for each in drops]
        begun = [await each.enter(plan) for each, plan in zip(drops, plans, strict=True)]
        for each, rows_of in zip(drops, begun, strict=True):
            await each.apply(rows_of)
        ended = [
            await each.creation.conclude(rows_of.plan_id, each.sheet)
            for each, rows_of in zip(drops, begun, strict=True)
        ]
    states = [[outcome.state for outcome in each.outcomes] for each in ended]
    assert states == [["already_there"] * 2, ["created"] * 2]  # the later drop took the rows over
    assert all(outcome.guid for each in ended for outcome in each.outcomes)
    assert len(sandbox.truth()["created"]["employees"]) == 2
