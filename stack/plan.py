"""What a start consists of: every step of the stack, what it needs and how its health shows."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from bms_provider import pool
from stack import airflow
from stack.api import Api, instant
from stack.place import Place, read_kept, write_private
from stack.postgres import Postgres
from stack.processes import Child, Children, StackError
from stack.sandbox import Sandbox
from stack.steps import Step

CLUSTER = "database cluster"
POSTGRES = "postgresql"
METADATA = "airflow's schema"
WAREHOUSE = "warehouse's schema"
SANDBOX = "sandbox"
API = "api-server"
PROCESSOR = "dag-processor"
CONNECTION = "connection bms_default"
POOL = f"pool {pool.NAME}"
DAGS = "dags listed"

# How often the api-server is asked for everybody's health, in seconds: it costs it some queries.
HEALTH_EVERY = 0.3


@dataclass
class Plan:
    """The steps of one start. `environment` is what every process of ours gets."""

    place: Place
    children: Children
    postgres: Postgres
    api: Api
    environment: Mapping[str, str]
    warehouse: str
    port: int
    sandbox: Sandbox | None
    _finishing: dict[str, Child] = field(default_factory=dict)
    _began: dict[str, datetime] = field(default_factory=dict)
    _health: dict[str, Any] = field(default_factory=dict)
    _asked: float = 0

    def steps(self) -> list[Step]:
        """Return the steps in the order in which they are shown."""
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
                lambda: self._ended(WAREHOUSE),
                after=(POSTGRES,),
            ),
            *([self._service(self.sandbox)] if self.sandbox else []),
            *(
                self._component(name, command)
                for name, command in airflow.components(self.port).items()
            ),
            *self._furnishing(),
            Step(DAGS, lambda: None, self._dags_listed, after=(API, PROCESSOR, WAREHOUSE)),
        ]

    def _furnishing(self) -> list[Step]:
        """Return what is put into a healthy Airflow: the pool, and the sandbox's connection."""
        steps = [
            Step(
                POOL,
                lambda: self.api.provide_pool(pool.NAME, pool.SLOTS, pool.DESCRIPTION),
                lambda: True,
                after=(API,),
            )
        ]
        if (sandbox := self.sandbox) is not None:
            steps.append(
                Step(
                    CONNECTION,
                    lambda: self.api.store_connection(sandbox.connection()),
                    lambda: True,
                    after=(API, SANDBOX),
                )
            )
        return steps

    def _cluster(self) -> Step:
        def start() -> None:
            self._finishing[CLUSTER] = self.postgres.initialise(self.children)

        def ready() -> bool:
            if not self._ended(CLUSTER):
                return False
            self.postgres.adopt()
            return True

        return Step(CLUSTER, start, ready)

    def _service(self, sandbox: Sandbox) -> Step:
        def start() -> None:
            environment = {**self.environment, **sandbox.environment}
            self.children.start(SANDBOX, sandbox.command, environment, folder=self.place.root)

        return Step(SANDBOX, start, sandbox.healthy, after=(POSTGRES,))

    def _component(self, name: str, command: tuple[str, ...]) -> Step:
        def start() -> None:
            self._began[name] = datetime.now(UTC)
            self.children.start(name, command, self.environment, folder=self.place.root)

        return Step(name, start, lambda: self._healthy(name), after=(METADATA,))

    def _run(self, name: str, command: tuple[str, ...], more: Mapping[str, str]) -> None:
        """Start a command that ends by itself."""
        self._finishing[name] = self.children.start(
            name.replace("'s ", "-"),
            command,
            {**self.environment, **more},
            folder=self.place.root,
            lasting=False,
        )

    def _ended(self, name: str) -> bool:
        return self._finishing[name].finished()

    def _migrate_warehouse(self) -> None:
        command = (sys.executable, "-P", "-m", "bms_warehouse", "migrate")
        self._run(WAREHOUSE, command, {"BMS_WAREHOUSE_URL": self.warehouse})

    def _migrate_metadata(self) -> None:
        kept = read_kept(self.place.migrated)
        if kept.get("revision") is None or kept != self._metadata():
            self._run(METADATA, (*airflow.COMMAND, "db", "migrate"), {})

    def _metadata_migrated(self) -> bool:
        if METADATA not in self._finishing:
            return True
        if not self._ended(METADATA):
            return False
        write_private(self.place.migrated, self._metadata())
        return True

    def _metadata(self) -> dict[str, str | None]:
        """Return Airflow's version and its database's revision, None before the first migration.

        Where both are as the last migration left them there is nothing to migrate; to ask Airflow
        itself takes it four seconds.
        """
        with psycopg.connect(self.postgres.url("airflow")) as connection:
            table = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
            found = None
            if table and table[0]:
                found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return {"airflow": airflow.version(), "revision": found[0] if found else None}

    def _healthy(self, name: str) -> bool:
        """Return whether a component reported itself since this start, or the api-server answers.

        Airflow's own word alone would not do: what a killed scheduler wrote stays healthy for
        half a minute.
        """
        if time.monotonic() - self._asked > HEALTH_EVERY:
            self._health = self.api.health()
            self._asked = time.monotonic()
        if name == API:
            return bool(self._health)
        key = name.replace("-", "_")
        report = self._health.get(key, {})
        beat = instant(report.get(f"latest_{key}_heartbeat"))
        return report.get("status") == "healthy" and beat is not None and beat > self._began[name]

    def _dags_listed(self) -> bool:
        """Return whether Airflow lists a DAG of every file, read since this start.

        Raises StackError with the message of a file that cannot be imported.
        """
        since = self._began[PROCESSOR]
        for error in self.api.import_errors():
            if (instant(error["timestamp"]) or since) >= since:
                trace = error["stack_trace"].strip()
                raise StackError(f"{error['filename']} cannot be imported:\n{trace}")
        folder = Path(self.environment["AIRFLOW__CORE__DAGS_FOLDER"])
        listed = {
            dag["relative_fileloc"]
            for dag in self.api.dags()
            if (instant(dag["last_parsed_time"]) or since) > since and not dag["has_import_errors"]
        }
        return airflow.dag_files(folder) <= listed
