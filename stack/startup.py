"""Start order of the stack: each step with its command, its dependencies and its health check."""

import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bms_provider import pool
from stack import airflow
from stack.api import AirflowApi, parse_time
from stack.paths import StackPaths, read_json_cache, write_private_json
from stack.postgres import Postgres
from stack.processes import Child, Children, StackError
from stack.sandbox import Sandbox
from stack.steps import Step

CLUSTER = "database cluster"
POSTGRES = "postgresql"
METADATA = "airflow schema"
WAREHOUSE = "warehouse schema"
SANDBOX = "sandbox"
API = "api-server"
PROCESSOR = "dag-processor"
CONNECTION = "connection bms_default"
POOL = f"pool {pool.NAME}"
DAGS = "dags listed"

HEALTH_INTERVAL = 0.3
"""Seconds between two queries of the components' health, which costs the api-server database reads."""


@dataclass
class Startup:
    """The steps of one start; `environment` is that of every process except PostgreSQL."""

    paths: StackPaths
    children: Children
    postgres: Postgres
    api: AirflowApi
    environment: Mapping[str, str]
    warehouse: str
    port: int
    sandbox: Sandbox | None
    without: Collection[str] = ()
    """Names of Airflow's components not to start."""
    _commands: dict[str, Child] = field(default_factory=dict)
    _started: dict[str, datetime] = field(default_factory=dict)
    _health: dict[str, Any] = field(default_factory=dict)
    _health_time: float = 0

    def steps(self) -> list[Step]:
        """Return the steps in the order of their display."""
        cluster = [] if self.postgres.exists else [self._cluster()]
        return [
            *cluster,
            Step(
                POSTGRES,
                lambda: self.postgres.start(self.children),
                self.postgres.ready,
                after=tuple(step.name for step in cluster),
            ),
            Step(METADATA, self._migrate_metadata, self._metadata_migrated, after=(POSTGRES,)),
            Step(
                WAREHOUSE,
                self._migrate_warehouse,
                lambda: self._finished(WAREHOUSE),
                after=(POSTGRES,),
            ),
            *([self._service(self.sandbox)] if self.sandbox else []),
            *(
                self._component(name, command)
                for name, command in airflow.components(self.port).items()
                if name not in self.without
            ),
            *self._provisioning(),
            Step(DAGS, lambda: None, self._dags_listed, after=(API, PROCESSOR, WAREHOUSE)),
        ]

    def _provisioning(self) -> Iterator[Step]:
        """Yield the steps that create Airflow's pool and the connection to the sandbox."""

        def ensure_pool() -> None:
            self.api.ensure_pool(pool.NAME, pool.SLOTS, pool.DESCRIPTION)

        yield Step(POOL, ensure_pool, after=(API,))
        if (sandbox := self.sandbox) is not None:
            connect = partial(self.api.upsert_connection, sandbox.connection())
            yield Step(CONNECTION, connect, after=(API, SANDBOX))

    def _cluster(self) -> Step:
        def start() -> None:
            self._commands[CLUSTER] = self.postgres.init_cluster(self.children)

        def ready() -> bool:
            if not self._finished(CLUSTER):
                return False
            self.postgres.install_cluster()
            return True

        return Step(CLUSTER, start, ready)

    def _service(self, sandbox: Sandbox) -> Step:
        def start() -> None:
            environment = {**self.environment, **sandbox.credentials.environment}
            self.children.start(SANDBOX, sandbox.command, environment, folder=self.paths.root)

        return Step(SANDBOX, start, sandbox.healthy, after=(POSTGRES,))

    def _component(self, name: str, command: tuple[str, ...]) -> Step:
        def start() -> None:
            self._started[name] = datetime.now(UTC)
            self.children.start(name, command, self.environment, folder=self.paths.root)

        return Step(name, start, lambda: self._healthy(name), after=(METADATA,))

    def _start_command(self, name: str, command: tuple[str, ...], more: Mapping[str, str]) -> None:
        self._commands[name] = self.children.start(
            name.replace(" ", "-"),
            command,
            {**self.environment, **more},
            folder=self.paths.root,
            long_running=False,
        )

    def _finished(self, name: str) -> bool:
        return self._commands[name].finished()

    def _migrate_warehouse(self) -> None:
        command = (sys.executable, "-P", "-m", "bms_cli", "migrate")
        self._start_command(WAREHOUSE, command, {"BMS_WAREHOUSE_URL": self.warehouse})

    def _migrate_metadata(self) -> None:
        saved = read_json_cache(self.paths.migrated)
        if saved.get("revision") is None or saved != self._metadata():
            self._start_command(METADATA, (*airflow.COMMAND, "db", "migrate"), {})

    def _metadata_migrated(self) -> bool:
        if METADATA not in self._commands:
            return True
        if not self._finished(METADATA):
            return False
        write_private_json(self.paths.migrated, self._metadata())
        return True

    def _metadata(self) -> dict[str, str | None]:
        """Return Airflow's version and the revision of its schema, None before the first migration.

        If both are unchanged since the last migration, no migration is needed; Airflow's own check
        takes four seconds.
        """
        with psycopg.connect(self.postgres.url("airflow")) as connection:
            table = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
            found = None
            if table and table[0]:
                found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return {"airflow": airflow.version(), "revision": found[0] if found else None}

    def _healthy(self, name: str) -> bool:
        """Return whether a component sent a heartbeat since this start, or the api-server responds.

        Airflow's status alone is not enough: a killed scheduler still counts as healthy for half a
        minute.
        """
        if time.monotonic() - self._health_time > HEALTH_INTERVAL:
            self._health = self.api.health()
            self._health_time = time.monotonic()
        if name == API:
            return bool(self._health)
        key = name.replace("-", "_")
        report = self._health.get(key, {})
        heartbeat = parse_time(report.get(f"latest_{key}_heartbeat"))
        return (
            report.get("status") == "healthy"
            and heartbeat is not None
            and heartbeat > self._started[name]
        )

    def _dags_listed(self) -> bool:
        """Return whether Airflow has parsed every DAG file since this start.

        Raises StackError with the traceback of a file that cannot be imported.
        """
        since = self._started[PROCESSOR]
        for error in self.api.import_errors():
            if (parse_time(error["timestamp"]) or since) >= since:
                trace = error["stack_trace"].strip()
                raise StackError(f"{error['filename']} cannot be imported:\n{trace}")
        folder = Path(self.environment["AIRFLOW__CORE__DAGS_FOLDER"])
        listed = {
            dag["relative_fileloc"]
            for dag in self.api.dags()
            if (parse_time(dag["last_parsed_time"]) or since) > since
            and not dag["has_import_errors"]
        }
        return {path.name for path in folder.glob("*.py")} <= listed
