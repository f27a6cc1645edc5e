"""Run of a drop from plan to receipt, as its tasks do it."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.onboarding.creation import Creation, Entered
from bms_flows.onboarding.ledger import entering
from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.report import RowOutcome
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.sending.apply import NothingSent
from bms_flows.onboarding.settings import OnboardingSettings
from bms_sandbox.serve import Sandbox
from bms_warehouse import database

TODAY = date(2026, 3, 31)
QUICK = OnboardingSettings(approval="never", settle_s=0.3, create_timeout_s=0.4, lease_s=0.3)


def let_clock_run(sandbox: Sandbox) -> None:
    """Let the service's clock run, from now but another second than 0.

    Lags end by this clock. A single record of a second 0 looks like one of a service that writes minutes:
    what the lists then prove comes a minute later.
    """
    sandbox.set_clock(datetime.now(UTC).replace(second=1), frozen=False)


@contextmanager
def others_working(sandbox: Sandbox, resource: str) -> Iterator[None]:
    """Let other users of the service create records in the meantime."""
    ended = threading.Event()
    given = {"id_entity": 1} if resource == "employees" else {}

    def work() -> None:
        while not ended.wait(0.1):
            sandbox.insert(resource, last_name="Autre", first_name="Personne", **given)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class Run:
    """The parameters of a run."""

    warehouse: str
    service: ClientSettings
    drop_id: int
    content: bytes
    settings: OnboardingSettings = QUICK
    resource: str = "employee"
    kept: str = ""
    """File with the results of its steps; without a file every step runs again."""
    entities: tuple[int, ...] = ()
    """The entities of the connection."""


class Kept:
    """Results of steps, as Airflow stores them: a retried task finds them, a cleared run does not."""

    def __init__(self, file: str) -> None:
        self._file = Path(file) if file else None

    def get(self, step: str) -> Any:
        """Return what a step returned, None where it has not ended."""
        return self._all().get(step)

    def put(self, step: str, returned: Any) -> None:
        """Keep what a step returned."""
        if self._file:
            whole = self._file.with_suffix(".part")
            whole.write_text(json.dumps(self._all() | {step: returned}))
            whole.replace(self._file)

    def _all(self) -> dict[str, Any]:
        if self._file is None or not self._file.exists():
            return {}
        found: dict[str, Any] = json.loads(self._file.read_text())
        return found


def onboard(run: Run, **settings: Any) -> list[RowOutcome]:
    """Take a drop from plan to receipt, as its tasks would one after the other."""
    run = replace(run, settings=replace(run.settings, **settings))
    engine = database.connect(run.warehouse)
    try:
        return asyncio.run(_carried_through(engine, run))  # waits for threads, too
    finally:
        engine.dispose()


def onboard_patiently(run: Run, **settings: Any) -> list[RowOutcome]:
    """Onboard a drop whose creates a busy machine doesn't make ambiguous."""
    return onboard(run, **{"create_timeout_s": 20, "lease_s": 20, **settings})


def ended(outcomes: list[RowOutcome]) -> dict[str, int]:
    """Return the number of rows by state."""
    return dict(Counter(outcome.state for outcome in outcomes))


def codes(outcomes: list[RowOutcome]) -> list[str]:
    """Return the codes of all rows."""
    return [fault.code for outcome in outcomes for fault in outcome.faults]


@asynccontextmanager
async def creation_of(
    run: Run, engine: Engine, **settings: Any
) -> AsyncIterator[tuple[Creation, Sheet]]:
    """Yield the creation of a drop, and the content of its file."""
    settled = replace(run.settings, **settings)
    async with Client(run.service) as reader, Client(replace(run.service, attempts=1)) as writer:
        remote = REMOTES[run.resource](reader, writer, settled, run.entities)
        read_rules = rules.read(remote.resource)
        yield (
            Creation(engine, remote, read_rules, settled, run.drop_id, TODAY),
            read(run.content, "drop.csv", remote.resource),
        )


async def entered(creation: Creation, sheet: Sheet, plan_id: str | None = None) -> Entered:
    """Plan a drop, unless its plan is given, and enter its rows without sending any."""
    begun = await creation.enter(plan_id or (await creation.plan(sheet)).plan.id, sheet)
    assert isinstance(begun, Entered)
    return begun


async def _carried_through(engine: Engine, run: Run) -> list[RowOutcome]:
    """Plan, enter, apply every chunk, conclude; what has returned before is not done again."""
    kept = Kept(run.kept)
    async with creation_of(run, engine) as (creation, sheet):
        plan_id = kept.get("plan")
        if plan_id is None:
            plan_id = (await creation.plan(sheet)).plan.id
            kept.put("plan", plan_id)
        known = kept.get("enter")
        if known is None:
            begun = await entered(creation, sheet, plan_id)
            kept.put("enter", known := [begun.plan_id, begun.chunks])
        plan_id, chunks = known
        for number in range(chunks):
            if kept.get(f"create {number}") is None:
                kept.put(f"create {number}", await _applied(creation, plan_id, number))
        concluded = await creation.conclude(plan_id, sheet)
    with engine.begin() as connection:
        entering.save_matches(connection, run.resource, run.drop_id, concluded.matched)
    return list(concluded.outcomes)


async def _applied(creation: Creation, plan_id: str, number: int) -> dict[str, int]:
    """Apply a chunk, again when a busy machine sent nothing in time, as Airflow does."""
    for _ in range(9):
        with suppress(NothingSent):
            return await creation.apply(plan_id, number)
    return await creation.apply(plan_id, number)
