"""Run of a drop in a separate process that a test can kill at any durable step.

The steps are found by wrapping what is durable or leaves the process: every COMMIT of the
database driver (before and after) and every create on the wire (before, on its way, after).
"""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from bms import transport
from bms.client import Client
from bms.errors import BmsError
from bms.settings import ClientSettings
from bms_flows.onboarding import execution, proposal
from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.ledger import matches
from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.outcome import RowOutcome
from bms_flows.onboarding.resources.remote import ListUnsettled
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.sending.apply import NothingSent
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.settings import OnboardingSettings
from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from bms_warehouse.locks import Busy
from proofs.interruptions import kill

TODAY = date(2026, 3, 31)
AGAIN = 75
"""Exit status of a run to repeat, like a task with retries left."""

QUICK = OnboardingSettings(
    approval="never",
    settle_s=0.3,
    create_timeout_s=0.4,
    lease_s=0.3,
)


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


class Steps:
    """Counts durable steps, and does something at one of them: kills the process, or stops it."""

    def __init__(self, at: int | None = None, act: Callable[[], None] = kill) -> None:
        self.at = at
        self.act = act
        self.done = 0

    def __call__(self) -> None:
        self.done += 1
        if self.done == self.at:
            self.act()

    def wrap_commits(self, engine: Any) -> None:
        """Make a step of every moment before and after a COMMIT."""
        commit = engine.dialect.do_commit

        def stepped(connection: Any) -> None:
            self()
            commit(connection)
            self()

        engine.dialect.do_commit = stepped

    def wrap_sends(self) -> None:
        """Make a step of every create before it is sent, on its way and once it is answered."""
        send = transport.Transport.send

        async def stepped(self_: Any, request: transport.Request) -> Any:
            if not request.endpoint.name.startswith("create_"):
                return await send(self_, request)
            self()
            on_its_way = asyncio.get_running_loop().call_later(0.01, self)
            try:
                return await send(self_, request)
            finally:
                if (
                    not on_its_way.cancelled()
                    and on_its_way.when() > asyncio.get_running_loop().time()
                ):
                    on_its_way.cancel()
                    self()
                self()

        transport.Transport.send = stepped  # type: ignore[method-assign, assignment]  # this process ends with it


def onboard(run: Run, on_engine: Callable[[Any], None] = lambda _: None) -> list[RowOutcome]:
    """Take a drop from plan to receipt, as its tasks would one after the other."""
    engine = database.connect(run.warehouse)
    on_engine(engine)
    try:
        return asyncio.run(_on_a_bench(engine, run))  # waits for threads, too
    finally:
        engine.dispose()


async def _on_a_bench(engine: Engine, run: Run) -> list[RowOutcome]:
    resource = REMOTES[run.resource].resource
    sheet = read(run.content, "drop.csv", resource)
    async with Client(run.service) as reader, Client(replace(run.service, attempts=1)) as writer:
        remote = REMOTES[run.resource](reader, writer, run.settings, run.entities)
        bench = OnboardingContext(engine, remote, rules.read(resource), run.settings)
        return await carried_through(bench, run.drop_id, sheet, Kept(run.kept))


async def carried_through(
    bench: OnboardingContext, drop_id: int, sheet: Sheet, kept: Kept
) -> list[RowOutcome]:
    """Plan, begin, apply every chunk, verify, make the receipt; what has returned before is not done again."""
    plan_id = kept.get("plan")
    if plan_id is None:
        plan_id = (await proposal.plan_drop(bench, drop_id, sheet, TODAY)).plan.id
        kept.put("plan", plan_id)
    entered = kept.get("enter")
    if entered is None:
        begun = await proposal.begin(bench, drop_id, plan_id, sheet, TODAY)
        assert isinstance(begun, proposal.Entered)
        kept.put("enter", entered := [begun.plan_id, begun.chunks])
    plan_id, chunks = entered
    for number in range(chunks):
        if kept.get(f"create {number}") is None:
            kept.put(f"create {number}", await _applied(bench, drop_id, plan_id, number))
    concluded = await execution.conclude(bench, drop_id, plan_id, sheet)
    with bench.warehouse.begin() as connection:
        matches.save(connection, bench.resource.name, drop_id, concluded.matched)
    return list(concluded.outcomes)


async def _applied(
    bench: OnboardingContext, drop_id: int, plan_id: str, number: int
) -> dict[str, int]:
    """Apply a chunk, again when a busy machine sent nothing in time, as Airflow does."""
    for _ in range(9):
        with suppress(NothingSent):
            return await execution.apply_chunk(bench, drop_id, plan_id, number)
    return await execution.apply_chunk(bench, drop_id, plan_id, number)


def child(run: Run, kill_at: int | None, counted: Any = None) -> None:
    """Run in this process; exit 0 when done, `AGAIN` when it should be repeated."""
    steps = Steps(kill_at)
    steps.wrap_sends()
    try:
        onboard(run, steps.wrap_commits)
    except (Busy, ListUnsettled, CreatesPaused, BmsError):
        sys.exit(AGAIN)
    if counted is not None:
        counted.value = steps.done
