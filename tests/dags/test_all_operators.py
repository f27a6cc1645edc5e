"""All operators in one real DAG run: their results, and the absence of personal data."""

import gzip
import json
import re
import socket
import stat
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from bms.endpoints import BY_NAME, ENDPOINTS
from bms_sandbox.serve import Sandbox, running
from bms_sandbox.tokens import Credentials
from tests.dags.airflow_program import run_program

DAG_FILE = Path(__file__).parent / "all_operators.py"
CREDENTIALS = Credentials("canary-client", "canary-application", "canary-secret-9d2c")
BODIES: dict[str, dict[str, Any]] = {
    "employee": {
        "id_entity": 1,
        "first_name": "Canari-Prénom",
        "last_name": "Canari-Nom",
        "social_security_number": "canary-ssn-2840677",
        "salary_base": 98765.43,
        "personal_email": "canary.perso@home.example",
    },
    "contact": {
        "first_name": "Canari-Prénom",
        "last_name": "Canari-Nom",
        "email": "canary.contact@client.example",
        "notes": "canary-notes",
    },
    "consultant": {
        "first_name": "Canari-Prénom",
        "last_name": "Canari-Nom",
        "rate": 1234.56,
        "email": "canary.consultant@indep.example",
    },
}


@dataclass(frozen=True)
class Run:
    """Traces of one run of the DAG: states, metadata database, output, logs, files, metrics."""

    states: dict[str, str]
    database: str
    home: Path
    output: str
    data: Path
    sandbox: Sandbox
    metrics: str

    def rows(self, statement: str) -> list[Any]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(statement).fetchall()

    def xcoms(self) -> dict[str, Any]:
        found = self.rows("select task_id, value from xcom where key = 'return_value'")
        return {
            task: json.loads(value) if isinstance(value, str) else value for task, value in found
        }


@pytest.fixture(scope="module")
def run(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The DAG run, in a separate process with a separate database."""
    folder = tmp_path_factory.mktemp("operators")
    data = folder / "data"
    (data / "in").mkdir(parents=True)
    for each in ENDPOINTS:
        (data / f"in/{each.noun}.json").write_text(
            json.dumps(BODIES.get(each.noun, {"name": "New"}))
        )
    name = f"airflow_{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    database = re.sub(r"/postgres\?", f"/{name}?", postgres)
    with (
        running(credentials=CREDENTIALS, options=("--today", "2026-03-31", "--frozen")) as sandbox,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as metrics,
    ):
        metrics.bind(("127.0.0.1", 0))
        metrics.settimeout(0)
        form = {
            "conn_type": "bms",
            "host": sandbox.url,
            "login": CREDENTIALS.client_id,
            "password": CREDENTIALS.secret,
            "extra": {"application_id": CREDENTIALS.application_id},
        }
        last, output = run_program(
            DAG_FILE,
            home=folder / "home",
            dags=DAG_FILE.parent,
            database=database,
            AIRFLOW__METRICS__STATSD_ON="True",
            AIRFLOW__METRICS__STATSD_PORT=str(metrics.getsockname()[1]),
            AIRFLOW_CONN_BMS_DEFAULT=json.dumps(form),
            BMS_DATA_ROOT=f"file://{data}",
        )
        yield Run(
            states=json.loads(last),
            database=database,
            home=folder / "home",
            output=output,
            data=data,
            sandbox=sandbox,
            metrics="\n".join(_received(metrics)),
        )


def _received(metrics: socket.socket) -> Iterator[str]:
    try:
        while True:
            yield metrics.recv(65536).decode()
    except BlockingIOError:
        return


def test_every_operation_ran_in_one_run(run: Run) -> None:
    tasks = {"check_access", *BY_NAME} - {"request_token"}
    assert {*run.states} == tasks
    assert {*run.states.values()} == {"success"}
    asked = run.sandbox.truth()["requests"]
    assert {*asked} == {"token", *BY_NAME} - {"request_token"}


def test_xcom_values_are_small_and_name_the_files(run: Run) -> None:
    xcoms = run.xcoms()
    assert {*xcoms} == {*run.states}
    for task, value in xcoms.items():
        assert len(json.dumps(value)) < 2048, task
        if task.startswith(("list_", "read_")):
            keys = {"version", "operation", "time_zone", "path", "rows", "sha256", "bytes"}
            assert {*value} == keys
    assert xcoms["list_contacts"]["rows"] == 251
    assert {*xcoms["create_employee"]} == {"guid_employee", "id_employee", "is_standby"}
    assert {*xcoms["create_contact"]} == {*xcoms["create_consultant"]} == {"id"}


def test_files_are_in_folders_by_run_and_task_and_readable_by_their_owner_only(run: Run) -> None:
    [folder] = (run.data / "operators/all_operators").iterdir()
    assert re.fullmatch(r"[A-Za-z0-9._-]+", folder.name)
    files = {file.name: file for file in folder.iterdir()}
    read = {task for task in run.states if task.startswith("read_")}
    listed = {task for task in run.states if task.startswith("list_")}
    assert {*files} == {f"{t}.json" for t in read} | {f"{t}.jsonl.gz" for t in listed}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files.values()} == {0o600}
    with gzip.open(files["list_employees.jsonl.gz"], "rt") as lines:
        names = [json.loads(line)["last_name"] for line in lines]
    assert names.count("Canari-Nom") == 1


def test_airflow_stores_no_secret_and_no_personal_data(run: Run) -> None:
    """Not in any table of its database (XCom, rendered fields, serialised DAG), output or log."""
    personal = {
        str(value)
        for body in BODIES.values()
        for name, value in body.items()
        if name != "id_entity"
    }
    listed = [
        row for kind in ("employees", "contacts", "consultants") for row in run.sandbox.rows(kind)
    ]
    personal |= {
        row[field] for row in listed for field in ("email", "business_email") if row.get(field)
    }
    canaries = {CREDENTIALS.secret, "eyJ", *personal}
    tables = [
        name for (name,) in run.rows("select tablename from pg_tables where schemaname = 'public'")
    ]
    stored = {name: repr(run.rows(f'select * from "{name}"')) for name in tables}
    stored["output"] = run.output
    stored |= {str(file): file.read_text(errors="replace") for file in run.home.rglob("*.log")}
    assert "canary-client" not in stored["xcom"]
    assert "in/employee.json" in stored["rendered_task_instance_fields"]
    found = {
        (source, canary) for source, text in stored.items() for canary in canaries if canary in text
    }
    assert found == set()


def test_the_client_s_metrics_are_emitted(run: Run) -> None:
    assert re.search(r"^airflow\.bms\.requests.*:\d+\|c", run.metrics, re.MULTILINE)
    assert re.search(r"^airflow\.bms\.latency.*:[\d.]+\|ms", run.metrics, re.MULTILINE)
