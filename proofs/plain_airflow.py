"""A plain Airflow in an environment of its own, without folders or settings of the project."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import psycopg

from stack import airflow as components
from stack.launcher import free_port
from stack.paths import StackPaths
from stack.postgres import Postgres
from stack.processes import Children, last_lines, until

PATIENCE = 300.0


class PlainAirflow:
    """A plain Airflow in an environment of its own, on loopback, with its metadata in PostgreSQL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "venv/bin/python"
        self.port = free_port(None)
        self.url = f"http://127.0.0.1:{self.port}"
        self.mark = f"fresh-{os.getpid()}"
        (folder / "logs").mkdir()
        self.processes = Children(self.mark, folder / "logs")
        self.postgres = Postgres(folder / "postgres", self.mark)
        self.paths = StackPaths(folder, folder / "airflow")
        self.paths.prepare()
        self.secrets = self.paths.load_secrets()
        components.write_passwords(self.paths, self.secrets)
        self.bundles = {"team": folder / "team"}

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every process: a plain Airflow, without a folder or setting of the project."""
        mine = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AIRFLOW", "BMS_", "PYTHON"))
        }
        plain = components.environment(
            mine,
            self.paths,
            self.secrets,
            database=self.postgres.url("airflow", "postgresql+psycopg2"),
            port=self.port,
            warehouse="",
        )
        for name in (
            "AIRFLOW__CORE__DAGS_FOLDER",
            "AIRFLOW__CORE__PLUGINS_FOLDER",
            "AIRFLOW_CONN_BMS_WAREHOUSE",
            "BMS_DATA_ROOT",
        ):
            del plain[name]
        local = "airflow.dag_processing.bundles.local.LocalDagBundle"
        bundles = [
            {"name": name, "classpath": local, "kwargs": {"path": str(path)}}
            for name, path in self.bundles.items()
        ]
        return plain | {"AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles)}

    def command(self, *arguments: str | Path) -> str:
        """Run a program of the environment; return its output."""
        program, *rest = map(str, arguments)
        path = self.python.with_name(program)
        done = subprocess.run(  # noqa: S603 - ours
            [path, *rest],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program} {rest}: {done.stdout[-1500:]}{done.stderr[-3000:]}"
        return done.stdout

    def start(self) -> None:
        """Start the four components and wait until the pages answer and the DAG files are parsed."""
        for command in (
            ("api-server", "--host", components.HOST, "--port", str(self.port)),
            ("scheduler", "--skip-serve-logs"),
            ("dag-processor",),
            ("triggerer", "--skip-serve-logs"),
        ):
            airflow = (self.python, "-P", "-m", "airflow", *command)
            self.processes.start(command[0], airflow, self.environment, folder=self.folder)
        assert until(self._answers, PATIENCE), last_lines(self.folder / "logs/api-server.log")

    def _answers(self) -> bool:
        self.processes.check()
        try:
            health = httpx.get(
                f"{self.url}/api/v2/monitor/health", timeout=2, trust_env=False
            ).json()
        except (httpx.HTTPError, ValueError):
            return False
        return all(
            health[name]["status"] == "healthy"
            for name in ("scheduler", "dag_processor", "triggerer")
        )

    def stop(self) -> None:
        """Stop the components."""
        self.processes.stop(grace=10)
        self.processes = Children(self.mark, self.folder / "logs")

    def api(self, path: str) -> Any:
        """Return the answer of Airflow's API."""
        login = {"username": components.USER, "password": self.secrets.password}
        with httpx.Client(base_url=self.url, trust_env=False, timeout=60) as client:
            token = client.post("/auth/token", json=login).json()["access_token"]
            return (
                client.get(f"/api/v2{path}", headers={"Authorization": f"Bearer {token}"})
                .raise_for_status()
                .json()
            )

    def dags(self) -> set[str]:
        """Return the ids of the active DAGs."""
        return {each["dag_id"] for each in self.api("/dags?limit=100")["dags"]}

    def rows(self, statement: str) -> list[Any]:
        """Return rows of Airflow's metadata."""
        with psycopg.connect(self.postgres.url("airflow")) as connection:
            return connection.execute(statement.encode()).fetchall()

    def packages(self) -> set[str]:
        """Return the names of the installed packages."""
        listed = json.loads(self.command("pip", "list", "--format", "json"))
        return {each["name"] for each in listed}
