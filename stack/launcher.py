"""Start, supervision and stop of one checkout's whole stack."""

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from stack import airflow, connections
from stack.api import AirflowApi
from stack.lock import Lock
from stack.paths import StackPaths, read_json_cache, write_private_json
from stack.postgres import PORT, Postgres
from stack.processes import Children, StackError, kill_tagged
from stack.progress import Progress
from stack.sandbox import Sandbox
from stack.signals import POLL_INTERVAL
from stack.startup import Startup
from stack.steps import run_steps

GRACE = 6.0
"""Seconds that processes get to exit; Airflow's components sleep up to five."""
IDLE_GRACE = 1.0
"""Seconds that processes without work get to exit before they are killed."""


@dataclass(frozen=True)
class Running:
    """A running stack; `.local/stack.json` has what other processes need of it."""

    url: str
    user: str
    password: str
    warehouse: str
    data_root: str
    paths: StackPaths
    environment: Mapping[str, str]
    api: AirflowApi
    sandbox: str | None
    """The sandbox's base URL; None if the user's own service is preset."""

    def __repr__(self) -> str:
        return f"Running({self.url})"


class Stack:
    """One checkout's stack; call `stop` after `start`, whether or not `start` succeeded."""

    def __init__(
        self,
        paths: StackPaths,
        environ: Mapping[str, str],
        *,
        progress: Progress,
        pause: Callable[[], None],
        port: int | None = None,
        sandbox_port: int | None = None,
        command: str = "stack",
        without: Collection[str] = (),
    ) -> None:
        """Prepare a stack `without` some of Airflow's components; `command` names its owner."""
        self.paths = paths
        self.progress = progress
        self.grace = GRACE
        self._without = without
        self._environ = environ
        self._pause = pause
        self._ports = port, sandbox_port
        self._command = command
        self._lock = Lock(paths.lock)
        self._children = Children(paths.process_tag, paths.logs)
        self._postgres = Postgres(paths.postgres, paths.process_tag)
        self._api: AirflowApi | None = None

    def start(self) -> Running:
        """Start everything and write `.local/stack.json`; raise StackError if a step fails."""
        paths = self.paths
        # Read first, so that an invalid preset is rejected before any file is written.
        preset_warehouse = connections.warehouse_url(self._environ)
        paths.prepare()
        port, sandbox_port = (free_port(preset) for preset in self._ports)
        url = f"http://{airflow.HOST}:{port}"
        self._lock.acquire(
            {"pid": os.getpid(), "command": self._command, "root": str(paths.root), "url": url}
        )
        phase = "start" if self._postgres.exists else "first start"
        self.progress.begin(phase)
        self._clean_up()
        secrets = paths.load_secrets()
        airflow.write_passwords(paths, secrets)
        self._api = AirflowApi(url, airflow.USER, secrets.password, self._pause)
        environment = airflow.environment(
            self._environ,
            paths,
            secrets,
            database=self._postgres.url("airflow", "postgresql+psycopg2"),
            port=port,
            warehouse=connections.embedded_warehouse(
                str(self._postgres.socket_folder), PORT, "bms"
            ),
        )
        has_service = bool(self._environ.get(connections.SERVICE))
        sandbox = (
            None if has_service else Sandbox.from_environ(self._environ, secrets, sandbox_port)
        )
        running = Running(
            url=url,
            user=airflow.USER,
            password=secrets.password,
            warehouse=preset_warehouse or self._postgres.url("bms"),
            data_root=environment["BMS_DATA_ROOT"],
            paths=paths,
            environment=environment,
            api=self._api,
            sandbox=sandbox.url if sandbox else None,
        )
        startup = Startup(
            paths=paths,
            children=self._children,
            postgres=self._postgres,
            api=self._api,
            environment=environment,
            warehouse=running.warehouse,
            port=port,
            sandbox=sandbox,
            without=self._without,
        )
        took = run_steps(
            startup.steps(), progress=self.progress, pause=self._pause, check=self.check
        )
        self.save_durations(took | {phase: self.progress.end()})
        names = ("url", "user", "password", "warehouse", "data_root")
        write_private_json(paths.stack_file, {name: getattr(running, name) for name in names})
        return running

    def check(self) -> None:
        """Raise StackError if a long-running process has exited."""
        self._children.check()

    def save_durations(self, took: Mapping[str, float]) -> None:
        """Save the seconds of steps and phases; those of phases are the next estimates."""
        # A step that was skipped finishes at once and would spoil the estimate.
        measured = {
            name: round(seconds, 1) for name, seconds in took.items() if seconds > POLL_INTERVAL * 2
        }
        saved = read_json_cache(self.paths.durations)
        write_private_json(self.paths.durations, saved | measured)

    def stop(self) -> None:
        """Stop every process and remove the files of this start; do nothing if it never began."""
        if not self._lock.held:
            return
        self.progress.begin("stop")
        self.progress.update("stopping")
        with contextlib.ExitStack() as callbacks:  # runs all, last first, even if one raises
            callbacks.callback(self._lock.release)
            callbacks.callback(self._clean_up)
            callbacks.callback(self._postgres.stop)
            callbacks.callback(self._children.stop, grace=self.grace, exclude=self._postgres.child)
            if self._api is not None:
                callbacks.callback(self._api.close)
            callbacks.callback(self.paths.stack_file.unlink, missing_ok=True)
        self.progress.end()

    def _clean_up(self) -> None:
        """Remove processes and files that this start or a killed launcher left."""
        self.paths.stack_file.unlink(missing_ok=True)
        kill_tagged(self.paths.process_tag)
        self._postgres.kill_leftovers()
        for temporary in self.paths.local.glob("*.tmp"):
            temporary.unlink()


def free_port(preset: int | None) -> int:
    """Return the preset port, or any free one; raise StackError if the preset one is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((airflow.HOST, preset or 0))
        except OSError as error:
            raise StackError(
                f"Port {preset} is not available: {error.strerror}. Choose another one with "
                "BMS_STACK_PORT or BMS_SANDBOX_PORT, or unset both to use any free ports."
            ) from error
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(
    environ: Mapping[str, str] | None = None, paths: StackPaths | None = None
) -> Iterator[Running]:
    """Run the whole stack around a block, for tests and scripts.

    `environ`, by default this process's, is the user's environment with presets; `paths` overrides
    its `BMS_LOCAL_DIR`.
    """
    environ = os.environ if environ is None else environ
    paths = paths or StackPaths.from_environ(environ)
    stack = Stack(
        paths,
        environ,
        progress=Progress(read_json_cache(paths.durations), sys.stderr),
        pause=lambda: time.sleep(POLL_INTERVAL),
        command="stack.running",
    )
    try:
        yield stack.start()
    finally:
        stack.stop()
