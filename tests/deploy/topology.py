"""The topology of docker-compose.yaml without an engine: its services' own commands and environment, on loopback.

What an engine would give is given here in its place: a network (each service's name and port become
a free port of the loopback), disks (each container has a folder for its own, named volumes that
are shared apart), the image's environment and files (from the Dockerfile), restarts.
"""

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import make_url

from stack.launcher import free_port
from stack.postgres import Postgres, program
from stack.processes import Child, Children, kill, kill_tagged, last_lines, until
from tests.deploy.compose import PROJECT, compose, environment_of
from tests.support.patience import LONG_S

LISTENING = (("postgres", 5432), ("redis", 6379), ("api-server", 8080), ("sandbox", 8090))
SHARED = "/opt/airflow/auth"
"""A named volume that must be one for all; the others hold what a container may have for itself."""


def image_environment() -> dict[str, str]:
    """Return what the images of Airflow put into a container's environment."""
    stage = (PROJECT / "Dockerfile").read_text().partition(" AS base\n")[2]
    (block,) = re.findall(r"^ENV ((?:.*\\\n)*.*)$", stage.partition("\nFROM ")[0], re.MULTILINE)
    return dict(re.findall(r"(\w+)=(\S+)", block))


@dataclass
class Topology:
    """The services of the Compose file below `folder`; `settings` are the user's additions to .env."""

    folder: Path
    env: dict[str, str]
    override: Mapping[str, str] = field(default_factory=dict)
    """The variables of docker-compose.override.yaml, for each Airflow service."""
    ports: dict[tuple[str, int], int] = field(default_factory=dict)
    running: dict[str, Child] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mark = f"topology-{os.getpid()}"
        self.children = Children(self.mark, self.folder / "output")
        self.ports = {address: free_port(None) for address in LISTENING}
        self.services: dict[str, Any] = compose(self.env)["services"]
        self.postgres = Postgres(
            self.folder / "postgres", self.mark, tcp=self.ports["postgres", 5432]
        )

    # What a container finds

    def home(self, container: str) -> Path:
        """Return the folder of a container's own disk."""
        return self.folder / container

    def environment(self, service: str, container: str) -> dict[str, str]:
        """Return a container's environment: the image's, .env, the file's, and this network's."""
        own = environment_of(self.services[service], self.env)
        found = (
            {**image_environment(), **own, **self.override}
            if "build" in self.services[service]
            else own
        )
        ours = {
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
            "HOSTNAME": container,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.ports["api-server", 8080]),
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": str(free_port(None)),
        }
        return {name: self.here(value, container) for name, value in found.items()} | ours

    def here(self, text: str, container: str) -> str:
        """Return a text of the file with the addresses and paths of this machine."""
        for (name, port), free in self.ports.items():
            text = re.sub(rf"(?<![\w.-]){name}:{port}\b", f"127.0.0.1:{free}", text)
        paths = {
            SHARED: self.folder / "auth",
            "/opt/airflow": self.home(container) / "airflow",
            "/opt/bms/setup": PROJECT / "deploy/setup",
            "/opt/bms": PROJECT,
            "/data": self.home(container) / "data",
        }
        for path, place in paths.items():
            text = re.sub(rf"(?<![\w.]){path}(?=/|\b)", str(place), text)
        return text

    def command(self, service: str, container: str) -> list[str]:
        """Return the command of a service for this machine."""
        words = [self.here(word, container) for word in self.services[service]["command"]]
        if service == "redis":  # shares this machine's network, so the port must be passed
            words[-1] += f" --bind 127.0.0.1 --port {self.ports['redis', 6379]}"
        if service == "sandbox":
            port = str(self.ports["sandbox", 8090])
            words = [{"0.0.0.0": "127.0.0.1", "8090": port}.get(word, word) for word in words]  # noqa: S104 - replaced
        if service in {"scheduler", "triggerer", "worker"}:
            words.append("--skip-serve-logs")  # it would listen on every address of this machine
        if service == "worker":  # shares this machine's host name, which would identify the worker
            words += ["--celery-hostname", f"{container}@%h"]
        return words

    # What an engine does

    def start(
        self, service: str, container: str | None = None, *, long_running: bool = True
    ) -> Child:
        """Start a container of a service."""
        container = container or service
        for part in ("airflow", "data"):
            (self.home(container) / part).mkdir(parents=True, exist_ok=True)
        dags = self.home(container) / "airflow/dags"
        if not dags.exists():
            dags.symlink_to(PROJECT / "dags")
        child = self.children.start(
            container,
            self.command(service, container),
            self.environment(service, container),
            folder=self.home(container),
            long_running=long_running,
        )
        self.running[container] = child
        return child

    def kill(self, container: str) -> None:
        """End a container as `kill -9` ends it: every process in it at once."""
        leader = psutil.Process(self.running[container].process.pid)
        kill({leader, *leader.children(recursive=True)})
        self.running.pop(container).process.wait()

    def run(self, service: str) -> None:
        """Run a one-shot service to its good end."""
        child = self.start(service, long_running=False)
        assert until(child.finished, LONG_S), last_lines(child.log)

    def await_all(self, told: Mapping[str, Callable[[], bool]]) -> None:
        """Wait until every service is ready; fail with the log of a service that is not."""
        end = time.monotonic() + LONG_S
        for container, healthy in told.items():

            def there(healthy: Callable[[], bool] = healthy) -> bool:
                self.children.check()
                return healthy()

            assert until(there, end - time.monotonic()), last_lines(self.running[container].log)

    def log(self, container: str) -> str:
        """Return what a container has printed."""
        return self.running[container].log.read_text(errors="replace")

    def up(self, workers: tuple[str, ...]) -> None:
        """Bring everything up in the file's own order."""
        (self.folder / "output").mkdir(exist_ok=True)
        self._databases()
        self.start("redis")
        self.start("sandbox")
        self.run("setup")
        for service in ("api-server", "scheduler", "dag-processor", "triggerer"):
            self.start(service)
        for worker in workers:
            self.start("worker", worker)
        self.await_all({name: partial(self._ready, name) for name in workers})

    def _ready(self, worker: str) -> bool:
        return " ready." in self.log(worker)

    def down(self) -> None:
        """End every process."""
        self.children.stop(grace=10, exclude=self.postgres.child)
        self.postgres.stop()
        kill_tagged(self.mark)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _databases(self) -> None:
        """Bring the server up, with the image's hook that makes roles and databases."""
        made = self.postgres.init_cluster(self.children)
        assert until(made.finished, LONG_S), last_lines(made.log)
        self.postgres.install_cluster()
        self.postgres.start(self.children)
        assert until(self.postgres.accepts_connections, LONG_S)
        hook = self.children.start(
            "databases",
            [PROJECT / "deploy/databases"],
            {
                **environment_of(self.services["postgres"], {}),
                "PATH": f"{program('psql').parent}:{os.defpath}",
                "PGHOST": str(self.postgres.socket_folder),
                "PGPORT": str(self.ports["postgres", 5432]),
            },
            folder=self.folder,
            long_running=False,
        )
        assert until(hook.finished, LONG_S), last_lines(hook.log)

    # Where to look

    @property
    def url(self) -> str:
        """Of Airflow's pages."""
        return f"http://127.0.0.1:{self.ports['api-server', 8080]}"

    @property
    def sandbox_url(self) -> str:
        """Of the service."""
        return f"http://127.0.0.1:{self.ports['sandbox', 8090]}"

    def database(self, name: str) -> str:
        """Return the libpq URI of a database, for one who may do everything."""
        return make_url(self.postgres.url("postgres")).set(database=name).render_as_string(False)
