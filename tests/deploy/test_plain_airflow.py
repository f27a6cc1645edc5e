"""The wheel in a plain Airflow with a real scheduler: a team's own DAGs, in a base installation and with `flows`.

A base installation runs DAGs with hook, pandas, operators and assets; the flows name the extra that is missing.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from bms_flows.extra import MissingExtra
from bms_sandbox.serve import running
from stack import airflow
from stack.api import AirflowApi
from stack.launcher import free_port
from stack.paths import StackPaths
from stack.processes import Children, until
from tests.dags.airflow_program import connection_to, documented, new_database
from tests.deploy.compose import PROJECT
from tests.support.patience import LONG_S

pytestmark = [pytest.mark.prove, pytest.mark.timeout(3000)]

UV = Path(sys.executable).with_name("uv")
DOCUMENTED = ("my_hook_tasks", "my_unpaid_invoices", "my_contact_details")
"""DAGs of the documentation that a base installation runs."""
CHAIN = """
from airflow.sdk import dag, task
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.invoices import BmsListClientInvoicesOperator

POOL = {"pool": "bms_service", "pool_slots": 4}


@dag(schedule=None, params={"first": "FIRST", "last": "LAST"})
def my_chain():
    access = BmsCheckAccessOperator(task_id="access", requires=["list_client_invoices"], **POOL)
    invoices = BmsListClientInvoicesOperator.partial(
        task_id="invoices", first_day="{{ params.first }}", last_day="{{ params.last }}", **POOL
    ).expand(id_entity=[1, 2])

    @task
    def count(manifests):
        from bms_provider.files import read_df

        invoices = read_df(manifests)
        return {"rows": len(invoices), "due": str(invoices["total_due"].sum())}

    access >> invoices
    count(invoices.output)


my_chain()
"""
AFTER = """
from airflow.sdk import dag, task

from bms_provider.assets import CONTACT


@dag(schedule=[CONTACT], is_paused_upon_creation=False)
def my_after_load():
    @task
    def count(triggering_asset_events=None):
        return sum(len(events) for events in triggering_asset_events.values())

    count()


my_after_load()
"""
SYNC = """
from airflow.sdk import dag

from bms_provider.assets import CONTACT
from bms_provider.operators.flows.loads import BmsSyncOperator


@dag(schedule=None)
def my_sync():
    BmsSyncOperator(
        task_id="sync", resource="contact", warehouse_conn_id="team_warehouse", outlets=[CONTACT]
    )


my_sync()
"""
OF_FLOWS = ("my_invoices", "my_sync")


@dataclass(frozen=True)
class Plain:
    """A running Airflow that has only the wheel."""

    extra: bool
    url: str
    api: AirflowApi
    team: str

    def run(self, dag_id: str) -> str:
        """Run a DAG to its good end; return the id of the run."""
        self.api.set_paused(dag_id, paused=False)
        return self.ended(dag_id, self.api.trigger(dag_id, "prove", {}))

    def ended(self, dag_id: str, run_id: str) -> str:
        """Wait for the good end of a run; return its id."""
        ended = {"success", "failed"}
        assert until(lambda: self.api.run(dag_id, run_id)["state"] in ended, LONG_S)
        states = {each["task_id"]: each["state"] for each in self.api.tasks(dag_id, run_id)}
        assert {*states.values()} == {"success"}, states
        return run_id


@pytest.fixture(scope="module", params=["", "[flows]"], ids=["base", "flows"])
def plain(
    request: pytest.FixtureRequest,
    dist: Path,
    postgres: str,
    migrated: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Plain]:
    """Airflow's four processes in an environment with the wheel only, and a sandbox of the service."""
    folder = tmp_path_factory.mktemp("plain")
    venv, dags, paths = folder / "venv", folder / "dags", StackPaths(folder, folder / "local")
    (wheel,) = dist.glob("*.whl")
    install: list[Any] = [UV, "pip", "install", "--quiet", "--python", venv / "bin/python"]
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, venv], check=True)  # noqa: S603 - ours
    subprocess.run(  # noqa: S603 - ours
        [
            *(*install, f"{wheel}{request.param}"),
            *("asyncpg", "psycopg2-binary"),  # for Airflow's own database
            *("--constraint", dist / "constraints.txt"),
        ],
        check=True,
    )
    dags.mkdir()
    documents = documented(PROJECT)
    first, last = (str(datetime.now(UTC).date() - timedelta(days=days)) for days in (9, 2))
    chain = CHAIN.replace("FIRST", first).replace("LAST", last)
    files = {name: documents[name] for name in (*DOCUMENTED, "my_invoices")}
    files |= {"my_chain": chain, "my_after_load": AFTER, "my_sync": SYNC}
    for name, code in files.items():
        (dags / f"{name}.py").write_text(code)
    paths.prepare()
    port, secrets, team = free_port(None), paths.load_secrets(), new_database(postgres, migrated)
    airflow.write_passwords(paths, secrets)
    children = Children(paths.process_tag, paths.logs)
    with ExitStack() as stack:
        sandbox = stack.enter_context(running(options=("--contacts", "6", "--consultants", "5")))
        given = sandbox.credentials
        service = {
            "conn_type": "bms",
            "host": sandbox.url,
            "login": given.client_id,
            "password": given.secret,
            "extra": {"application_id": given.application_id},
        }
        foreign = ("AIRFLOW", "BMS_", "PYTHON")
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(folder / "plugins"),  # does not exist
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",  # a busy machine answers late
            "AIRFLOW_CONN_BMS_DEFAULT": json.dumps(service),
            "AIRFLOW_CONN_TEAM_WAREHOUSE": connection_to(team),
        }
        database = new_database(postgres).replace("postgresql:", "postgresql+psycopg2:")
        environment = airflow.environment(
            environ, paths, secrets, database=database, port=port, warehouse=connection_to(team)
        )
        url, pause = f"http://{airflow.HOST}:{port}", partial(time.sleep, 0.3)
        api = AirflowApi(url, airflow.USER, secrets.password, pause)
        stack.callback(children.stop, grace=10)
        stack.callback(api.close)

        def command(*arguments: str) -> list[str | Path]:
            return [venv / "bin/python", "-m", "airflow", *arguments]

        for setup in (("db", "migrate"), ("pools", "set", "bms_service", "32", "requests")):
            subprocess.run(  # noqa: S603 - ours
                command(*setup), env=environment, cwd=folder, check=True, capture_output=True
            )
        for name, arguments in {
            "api-server": ("api-server", "--host", airflow.HOST, "--port", str(port)),
            "scheduler": ("scheduler", "--skip-serve-logs"),
            "dag-processor": ("dag-processor",),
            "triggerer": ("triggerer", "--skip-serve-logs"),
        }.items():
            children.start(name, command(*arguments), environment, folder=folder)
        assert until(lambda: bool(api.health()), LONG_S)
        assert until(lambda: len(api.dags()) + len(api.import_errors()) == len(files), LONG_S)
        yield Plain(bool(request.param), url, api, team)


def test_hook_pandas_and_operators_run(plain: Plain) -> None:
    for dag_id in DOCUMENTED:
        plain.run(dag_id)
    counted = plain.api.xcom("my_chain", plain.run("my_chain"), "count")
    found = json.loads(counted) if isinstance(counted, str) else counted
    assert found["rows"] > 0
    assert Decimal(found["due"])


def test_a_dag_runs_after_a_load(plain: Plain) -> None:
    """With `flows` after a load of the DAG `my_sync`, else after an event that a load elsewhere reports."""
    if plain.extra:
        plain.run("my_sync")
    else:
        [asset] = plain.api._list("/api/v2/assets?uri_pattern=contact", "assets")
        plain.api._send("POST", "/api/v2/assets/events", {"asset_id": asset["id"]})
    runs: Callable[[], list[Any]] = lambda: plain.api._list(  # noqa: E731 - polled
        "/api/v2/dags/my_after_load/dagRuns", "dag_runs"
    )
    assert until(lambda: bool(runs()), LONG_S)
    run_id = plain.ended("my_after_load", str(runs()[0]["dag_run_id"]))
    assert plain.api.xcom("my_after_load", run_id, "count") in (1, "1")


def test_ten_lines_load_another_warehouse_or_name_the_extra(plain: Plain) -> None:
    errors = {Path(str(each["filename"])).stem: each for each in plain.api.import_errors()}
    if not plain.extra:
        assert {*errors} == {*OF_FLOWS}
        assert all(str(MissingExtra()) in each["stack_trace"] for each in errors.values())
        return
    assert errors == {}
    plain.run("my_invoices")
    with psycopg.connect(plain.team) as connection:
        query = "select id_entity, count(*) from bms.client_invoice group by id_entity"
        loaded: Mapping[int, int] = dict(connection.execute(query).fetchall())
    assert {*loaded} == {1, 2}


def test_the_board_opens_or_names_the_extra(plain: Plain) -> None:
    page = httpx.get(f"{plain.url}/bms/", timeout=LONG_S, trust_env=False)
    if plain.extra:
        assert page.status_code == 401
    else:
        assert (page.status_code, page.text) == (503, f"{MissingExtra()}\n")
