"""What the wheel leaves in an Airflow after its removal: how much of it, and the command that removes it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from proofs.plain_airflow import PlainAirflow
from stack import airflow as components

CONNECTIONS = ("bms_default", "bms_warehouse")
DROP_TABLES = "drop schema bms, bms_private cascade"
DROP_ROLES = "drop role bms_analyst, bms_private_reader"


@dataclass(frozen=True)
class Leftover:
    """One kind of thing that remains."""

    what: str
    count: Callable[[], int]
    command: str
    remove: Callable[[], None]


class Leftovers:
    """Everything that remains of `dags`, and of `packages` that pip installed with the wheel."""

    def __init__(
        self, airflow: PlainAirflow, bundle: Path, dags: list[str], packages: list[str]
    ) -> None:
        self.airflow = airflow
        self.bundle = bundle
        self.dags = dags
        self.packages = packages
        self.warehouse = airflow.postgres.url("bms")
        self.data = airflow.paths.airflow_home / "data"
        self.logs = [components.task_logs(airflow.paths) / f"dag_id={dag}" for dag in dags]

    def rows(self) -> list[Leftover]:
        """Return all kinds in the order of their removal."""
        names = ", ".join(f"'{name}'" for name in self.dags)
        return [
            Leftover(
                "DAGs in Airflow's metadata, with their runs",
                lambda: self._metadata(f"select count(*) from dag where dag_id in ({names})"),  # noqa: S608 - ours
                "airflow dags delete --yes DAG_ID",
                lambda: self._each("dags", "delete", "--yes", names=self.dags),
            ),
            Leftover(
                "connections",
                lambda: self._metadata("select count(*) from connection where conn_id like 'bms%'"),
                "; ".join(f"airflow connections delete {name}" for name in CONNECTIONS),
                lambda: self._each("connections", "delete", names=CONNECTIONS),
            ),
            Leftover(
                "pools",
                lambda: self._metadata("select count(*) from slot_pool where pool = 'bms_service'"),
                "airflow pools delete bms_service",
                lambda: self._each("pools", "delete", names=["bms_service"]),
            ),
            Leftover(
                "folders of task logs",
                lambda: len([folder for folder in self.logs if folder.exists()]),
                "rm -r LOG_FOLDER/dag_id=DAG_ID",
                self._delete_logs,
            ),
            Leftover(
                "tables in the warehouse",
                lambda: self._warehouse(
                    "select count(*) from pg_tables where schemaname in ('bms', 'bms_private')"
                ),
                DROP_TABLES,
                lambda: self._execute(DROP_TABLES),
            ),
            Leftover(
                "roles of the warehouse's server",
                lambda: self._warehouse(
                    "select count(*) from pg_roles where rolname in ('bms_analyst', 'bms_private_reader')"
                ),
                DROP_ROLES,
                lambda: self._execute(DROP_ROLES),
            ),
            Leftover(
                "files below the data root",
                lambda: len([file for file in self.data.rglob("*") if file.is_file()]),
                "rm -r $AIRFLOW_HOME/data",
                lambda: shutil.rmtree(self.data),
            ),
            Leftover(
                "DAG files",
                lambda: len(list(self.bundle.glob("*.py"))),
                "rm -r BUNDLE_FOLDER",
                lambda: shutil.rmtree(self.bundle),
            ),
            Leftover(
                "packages that pip installed with the wheel",
                lambda: len(self.airflow.packages() & set(self.packages)),
                f"pip uninstall {' '.join(self.packages)}",
                self._uninstall,
            ),
        ]

    def _each(self, *command: str, names: list[str] | tuple[str, ...]) -> None:
        for name in names:
            self.airflow.command("airflow", *command, name)

    def _delete_logs(self) -> None:
        for folder in self.logs:
            shutil.rmtree(folder, ignore_errors=True)

    def _uninstall(self) -> None:
        self.airflow.command("pip", "uninstall", "--quiet", "--yes", *self.packages)

    def _metadata(self, statement: str) -> int:
        return int(self.airflow.rows(statement)[0][0])

    def _warehouse(self, statement: str) -> int:
        with psycopg.connect(self.warehouse) as connection:
            ((found,),) = connection.execute(statement.encode()).fetchall()
        return int(found)

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.warehouse) as connection:
            connection.execute(statement.encode())
