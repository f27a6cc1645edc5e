"""All operators in one real DAG run: their results, and the absence of personal data."""

import gzip
import json
import re
import stat
from typing import Any

import psycopg
import pytest
from psycopg import sql

from bms.endpoints import BY_NAME
from tests.dags.conftest import BODIES, CREDENTIALS, SIGNUPS, Runs

TASKS = {"check_access", *BY_NAME} - {"request_token"}


@pytest.fixture(scope="module")
def xcoms(runs: Runs) -> dict[str, Any]:
    """What each task returned."""
    returned = runs.results["all_operators"]["returned"]
    return {task: value for task, (value,) in returned.items()}


def test_every_operation_ran_in_one_run(runs: Runs, xcoms: dict[str, Any]) -> None:
    assert {*xcoms} == TASKS
    assert {*runs.results["all_operators"]["states"].values()} == {"success"}
    asked = runs.sandbox.truth()["requests"]
    assert {*asked} == {"token", *BY_NAME} - {"request_token"}


def test_xcom_values_are_small_and_name_the_files(xcoms: dict[str, Any]) -> None:
    for task, value in xcoms.items():
        assert len(json.dumps(value)) < 2048, task
        if task.startswith(("list_", "read_")):
            keys = {"version", "operation", "time_zone", "path", "rows", "sha256", "bytes"}
            assert {*value} == keys
    assert xcoms["list_contacts"]["rows"] == 6 + 1
    assert {*xcoms["create_employee"]} == {"guid_employee", "id_employee", "is_standby"}
    assert {*xcoms["create_contact"]} == {*xcoms["create_consultant"]} == {"id"}


def test_files_are_in_folders_by_run_and_task_and_readable_by_their_owner_only(runs: Runs) -> None:
    [folder] = (runs.data / "operators/all_operators").iterdir()
    assert re.fullmatch(r"[A-Za-z0-9._-]+", folder.name)
    files = {file.name: file for file in folder.iterdir()}
    read = {task for task in TASKS if task.startswith("read_")}
    listed = {task for task in TASKS if task.startswith("list_")}
    assert {*files} == {f"{t}.json" for t in read} | {f"{t}.jsonl.gz" for t in listed}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files.values()} == {0o600}
    with gzip.open(files["list_employees.jsonl.gz"], "rt") as lines:
        names = [json.loads(line)["last_name"] for line in lines]
    assert names.count("Canari-Nom") == 1


def test_airflow_stores_no_secret_and_no_personal_data(runs: Runs) -> None:
    """Not in any table of its database (XCom, rendered fields, serialized DAGs), output or log."""
    bodies = [
        value for body in BODIES.values() for name, value in body.items() if name != "id_entity"
    ]
    rows = [
        row for kind in ("employees", "contacts", "consultants") for row in runs.sandbox.rows(kind)
    ]
    emails = {row[field] for row in rows for field in ("email", "business_email") if row.get(field)}
    canaries = {
        CREDENTIALS.secret,
        "eyJ",
        *map(str, bodies),
        *emails,
        *(each[1] for each in SIGNUPS),
    }
    assert {each[3] for each in SIGNUPS} <= canaries
    with psycopg.connect(runs.airflow) as connection:
        tables = connection.execute("select tablename from pg_tables where schemaname = 'public'")
        stored = {
            name: repr(
                connection.execute(
                    sql.SQL("select * from {}").format(sql.Identifier(name))
                ).fetchall()
            )
            for (name,) in tables.fetchall()
        }
    stored["output"] = runs.output
    stored |= {str(file): file.read_text(errors="replace") for file in runs.home.rglob("*.log")}
    assert "canary-client" not in stored["xcom"]
    assert "in/employee.json" in stored["rendered_task_instance_fields"]
    assert "create_contact" in stored["rendered_task_instance_fields"]
    found = {
        (source, canary) for source, text in stored.items() for canary in canaries if canary in text
    }
    assert found == set()


def test_the_client_s_metrics_are_emitted(runs: Runs) -> None:
    sent = "\n".join(runs.metrics.lines)
    assert re.search(r"^airflow\.bms\.requests.*:\d+\|c", sent, re.MULTILINE)
    assert re.search(r"^airflow\.bms\.latency.*:[\d.]+\|ms", sent, re.MULTILINE)
