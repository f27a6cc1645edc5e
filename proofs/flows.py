"""Flows in separate processes: paused at a point, resumed, killed, run again.

Each runs what a task runs, over real HTTP and PostgreSQL, and reports its end as Airflow's retry
policy would see it. Soak, grid, kills of extractions and the tests of real faults use this module.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

import psutil
from upath import UPath

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.invoices import leases
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import CONTACTS, source
from bms_flows.mirror.run import sync
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import DEMO
from bms_warehouse import database
from proofs.interruptions import kill, watch, watch_durable
from stack.processes import until
from tests.bms_flows.onboarding import onboarding
from tests.support.measurement import peak_memory

Act = Callable[[], None]
AGAIN = 75
"""Exit status of a flow to repeat, like a task with retries left."""
LIMIT = 300.0
"""Seconds after which a flow counts as stuck."""
UNIT = Unit(
    1, (Window(date(2026, 3, 2), date(2026, 3, 4)), Window(date(2026, 3, 9), date(2026, 3, 9)))
)
"""The days of an extraction."""


class Flow(Protocol):
    """What a task runs."""

    def __call__(self, at: int | None, act: Act) -> list[str]:
        """Run, do `act` at point `at`, and return the points."""


@dataclass(frozen=True)
class Load:
    """A load from the service into a warehouse; points are its effects."""

    warehouse: str
    data_root: str
    url: str
    run: str = "first"

    def __call__(self, at: int | None, act: Act) -> list[str]:
        """Load."""
        reached = watch(at, act)
        self.load()
        return reached

    def load(self) -> None:
        """Load in this process, without points."""
        engine = database.connect(self.warehouse)
        try:
            settings = FlowSettings(window_days=2)
            asyncio.run(self.work(FlowContext(engine, UPath(self.data_root), settings)))
        finally:
            engine.dispose()

    async def work(self, flow: FlowContext) -> None:
        """Load with a flow's context."""
        raise NotImplementedError


@dataclass(frozen=True)
class Extraction(Load):
    """An extraction of `UNIT`."""

    lease_s: float | None = None
    """Seconds that a lease lives without a heartbeat, instead of `leases.LIFE`."""

    def __call__(self, at: int | None, act: Act) -> list[str]:
        """Extract."""
        if self.lease_s is not None:
            leases.LIFE = timedelta(seconds=self.lease_s)  # of this process alone
        return super().__call__(at, act)

    async def work(self, flow: FlowContext) -> None:
        """Extract."""
        span, client = UNIT.span, Client(service(self.url, concurrency=2))
        step = Step("invoice_extraction", self.run, "extract", 1, span.start, span.end)
        await extract_unit(client, flow, UNIT, step, language="FR")


@dataclass(frozen=True)
class ContactSync(Load):
    """A sync of the contacts."""

    page_size: int = 10

    async def work(self, flow: FlowContext) -> None:
        """Sync."""
        step = Step("contact_sync", self.run, "sync")
        async with Client(service(self.url, page_size=self.page_size)) as client:
            await sync(client, flow, CONTACTS, source(client, CONTACTS), RunOptions(), step)


@dataclass(frozen=True)
class Creation:
    """A drop's way from plan to receipt."""

    drop: onboarding.Run
    still_s: float | None = None
    """Seconds that a transaction may be idle, instead of `database.SESSION`."""

    def __call__(self, at: int | None, act: Act) -> list[str]:
        """Create."""
        if self.still_s is not None:
            limit = {"idle_in_transaction_session_timeout": f"{self.still_s * 1000:.0f}ms"}
            database.SESSION.update(limit)  # of this process alone
        reached = watch_durable(at, act)
        onboarding.onboard(self.drop)
        return reached


def service(url: str, **given: Any) -> ClientSettings:
    """Return settings for the sandbox at `url`; waits between tries are short."""
    settings = ClientSettings(base_url=url, timeout=10, backoff_cap=0.2, **asdict(DEMO))
    return replace(settings, **given)


@dataclass(frozen=True)
class Ending:
    """How a flow's process ended; `retriable` is its error's own attribute."""

    code: int | None
    reached: Sequence[str] = field(default=(), repr=False)
    """The points of the flow, in order."""
    kind: str = ""
    text: str = field(default="", repr=False)
    retriable: bool | None = None
    peak: int = 0
    """Bytes that it held at most."""

    @property
    def points(self) -> int:
        """How many points there were."""
        return len(self.reached)

    @property
    def well(self) -> bool:
        """Whether it did what it was to do."""
        return self.code == 0

    @property
    def killed(self) -> bool:
        """Whether it was killed."""
        return self.code == -signal.SIGKILL

    @property
    def acceptable(self) -> bool:
        """Whether it succeeded, or failed with a retriable error."""
        return self.well or self.retriable is True


class Process:
    """A flow at work."""

    def __init__(self, flow: Flow, at: int | None, act: Act, context: Any) -> None:
        here, there = context.Pipe(duplex=False)
        self._said = here
        self._process: BaseProcess = context.Process(target=_work, args=(flow, at, act, there))
        self._process.start()
        there.close()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid is not None
        return self._process.pid

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def stopped(self) -> bool:
        """Wait until it is paused or has ended; return whether it is paused."""
        assert until(lambda: self._still() or not self.alive(), LIMIT), "neither stopped nor ended"
        return self.alive()

    def _still(self) -> bool:
        try:
            return psutil.Process(self.pid).status() == psutil.STATUS_STOPPED
        except psutil.NoSuchProcess:
            return False

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.alive():
            os.kill(self.pid, number)

    def ended(self, limit: float = LIMIT) -> Ending:
        """Wait until it has ended and return how; one that hasn't by then is killed and has no code."""
        self._process.join(limit)
        if self.alive():
            self._process.kill()
            self._process.join()
            return Ending(None, kind="stuck")
        try:
            said = self._said.recv() if self._said.poll() else {}
        except EOFError:
            said = {}
        return Ending(self._process.exitcode, **said)


@contextmanager
def begun(
    flow: Flow, at: int | None = None, act: Act = kill, context: Any = None
) -> Iterator[Process]:
    """Begin a flow for the block; what is left of it at the end is killed.

    `context` is how multiprocessing makes the process, by default from one that has all loaded.
    """
    process = Process(flow, at, act, context or CONTEXT)
    try:
        yield process
    finally:
        process.send(signal.SIGKILL)
        process.ended()


def run(flow: Flow, at: int | None = None, act: Act = kill, context: Any = None) -> Ending:
    """Run a flow to its end."""
    with begun(flow, at, act, context) as process:
        return process.ended()


def at_once(*flow: Flow) -> Sequence[Ending]:
    """Run flows side by side to their ends."""
    with ExitStack() as stack:
        processes = [stack.enter_context(begun(each)) for each in flow]
        return [each.ended() for each in processes]


def well(flow: Flow) -> None:
    """Run a flow to its end; raise AssertionError with its output if it failed."""
    ending = run(flow)
    assert ending.well, f"{ending.code} {ending.kind}: {ending.text}"


def finished(flow: Flow, tries: int = 12) -> list[Ending]:
    """Run a flow as a task with retries, until it succeeds or fails for good."""
    endings: list[Ending] = []
    while len(endings) < tries and (not endings or endings[-1].retriable):
        endings.append(run(flow))
    return endings


def _work(flow: Flow, at: int | None, act: Act, said: Connection) -> None:
    try:
        reached = flow(at, act)
    except Exception as error:  # noqa: BLE001 - reported to the parent
        retriable = getattr(error, "retriable", None)
        said.send({"kind": type(error).__name__, "text": str(error), "retriable": retriable})
        sys.exit(AGAIN if retriable else 1)
    said.send({"reached": reached, "peak": peak_memory()})


CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])
