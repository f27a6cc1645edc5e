"""The whole stack of one checkout: brought up, announced, watched, stopped without a trace."""

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from stack import airflow, connections
from stack.api import Api
from stack.interruption import PAUSE
from stack.lock import Lock
from stack.place import Place, read_kept, write_private
from stack.plan import Plan
from stack.postgres import PORT, Postgres
from stack.processes import Children, StackError, sweep
from stack.progress import Progress
from stack.sandbox import Sandbox
from stack.steps import climb

# DAGs that `up` lets run on their schedules; the others wait, paused, for a person.
UNPAUSED: tuple[str, ...] = (
    "inbox_dispatch",
    "employee_onboarding",
    "contact_creation",
    "consultant_creation",
)

# Seconds that processes get to end by themselves; nothing of theirs needs more, and Airflow's
# components sleep up to five.
GRACE = 6.0


@dataclass(frozen=True)
class Running:
    """A stack that is up: what `.local/stack.json` says, and more for who runs in this process."""

    url: str
    user: str
    password: str
    warehouse: str
    data_root: str
    place: Place
    environment: Mapping[str, str]
    api: Api
    sandbox: str | None
    """The sandbox's base URL; None where the user's own service stands in its place."""

    def __repr__(self) -> str:
        return f"Running({self.url})"

    def announcement(self) -> dict[str, str]:
        """Return what scripts read from `.local/stack.json`."""
        names = ("url", "user", "password", "warehouse", "data_root")
        return {name: getattr(self, name) for name in names}


class Stack:
    """One checkout's stack; `start` and `stop` bracket everything it does."""

    def __init__(
        self,
        place: Place,
        given: Mapping[str, str],
        *,
        progress: Progress,
        pause: Callable[[], None],
        port: int | None = None,
        sandbox_port: int | None = None,
        command: str = "stack",
    ) -> None:
        self.place = place
        self.progress = progress
        self._given = given
        self._pause = pause
        self._ports = port, sandbox_port
        self._command = command
        self._lock = Lock(place.lock)
        self._children = Children(place.mark, place.logs)
        self._postgres = Postgres(place.postgres, place.mark)
        self._api: Api | None = None

    def start(self) -> Running:
        """Bring everything up and announce it; raise StackError that says what would not come."""
        place = self.place
        own_warehouse = connections.warehouse_url(self._given)  # a bad one is refused before work
        place.prepare()
        port, sandbox_port = (free_port(wanted) for wanted in self._ports)
        url = f"http://{airflow.HOST}:{port}"
        self._lock.acquire(
            {"pid": os.getpid(), "command": self._command, "root": str(place.root), "url": url}
        )
        self._clear()
        keys = place.keys()
        airflow.write_passwords(place, keys)
        self._api = Api(url, airflow.USER, keys.password, self._pause)
        environment = airflow.environment(
            self._given,
            place,
            keys,
            database=self._postgres.url("airflow", "postgresql+psycopg2"),
            port=port,
            warehouse=connections.embedded_warehouse(
                str(self._postgres.socket_folder), PORT, "bms"
            ),
        )
        own_service = bool(self._given.get(connections.SERVICE))
        sandbox = None if own_service else Sandbox.of(self._given, keys, sandbox_port)
        running = Running(
            url=url,
            user=airflow.USER,
            password=keys.password,
            warehouse=own_warehouse or self._postgres.url("bms"),
            data_root=environment["BMS_DATA_ROOT"],
            place=place,
            environment=environment,
            api=self._api,
            sandbox=sandbox.url if sandbox else None,
        )
        plan = Plan(
            place=place,
            children=self._children,
            postgres=self._postgres,
            api=self._api,
            environment=environment,
            warehouse=running.warehouse,
            port=port,
            sandbox=sandbox,
        )
        steps = plan.steps()
        self.progress.announce([step.name for step in steps])
        took = climb(steps, watcher=self.progress, pause=self._pause, check=self.check)
        self.remember(took)
        self.progress.settle()
        write_private(place.announcement, running.announcement())
        return running

    def check(self) -> None:
        """Raise StackError when a process of the stack has ended."""
        self._children.check()

    def remember(self, took: Mapping[str, float]) -> None:
        """Keep how long steps took on this machine, for the next display."""
        # What had nothing to do says nothing about how long it takes when it has.
        measured = {
            name: round(seconds, 1) for name, seconds in took.items() if seconds > PAUSE * 2
        }
        write_private(self.place.durations, read_kept(self.place.durations) | measured)

    def stop(self) -> None:
        """End every process and remove every file of this start; nothing when it never began."""
        if not self._lock.held:
            return
        began = time.monotonic()
        self.progress.settle()
        self.progress.say("stopping …")
        with contextlib.ExitStack() as last_first:  # each happens whatever became of the others
            last_first.callback(self._lock.release)
            last_first.callback(self._clear)
            last_first.callback(self._postgres.stop)
            last_first.callback(self._children.stop, grace=GRACE, but=self._postgres.child)
            if self._api is not None:
                last_first.callback(self._api.close)
            last_first.callback(self.place.announcement.unlink, missing_ok=True)
        self.progress.say(f"stopped after {time.monotonic() - began:.1f} s")

    def _clear(self) -> None:
        """Remove what a start leaves, and what a killed launcher left: processes, then files."""
        self.place.announcement.unlink(missing_ok=True)
        sweep(self.place.mark)
        self._postgres.end_leftovers()
        for draft in self.place.local.glob("*.draft"):
            draft.unlink()


def free_port(wanted: int | None) -> int:
    """Return the wanted port if it is free on loopback, or any free one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((airflow.HOST, wanted or 0))
        except OSError as error:
            raise StackError(f"port {wanted} cannot be had: {error.strerror}") from error
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(
    environ: Mapping[str, str] | None = None, place: Place | None = None
) -> Iterator[Running]:
    """Run the whole stack around a block, for a test or a script.

    `environ` (this process's by default) is the user's environment, with the presets and
    `BMS_LOCAL_DIR` that the commands read; `place` goes before the latter.
    """
    given = os.environ if environ is None else environ
    stack = Stack(
        place or Place.of(given),
        given,
        progress=Progress(read_kept((place or Place.of(given)).durations), sys.stderr),
        pause=lambda: time.sleep(PAUSE),
        command="stack.running",
    )
    try:
        yield stack.start()
    finally:
        stack.stop()
