"""`bms doctor` against a real Airflow: nothing on a healthy stack, and each seeded fault of Airflow."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bms_flows.catalog import FLOWS
from stack.launcher import Running
from tests.e2e.airflow_api import Airflow, kill_scheduler, scheduler_again, until

POOL = "bms_service"


def examined(stack: Running, **environment: str) -> tuple[int, dict[str, Any]]:
    """Run the command as an operator does, with the stack's environment."""
    own = {
        **stack.environment,
        "BMS_WAREHOUSE_URL": stack.warehouse,
        "BMS_AIRFLOW_URL": stack.url,
        "BMS_AIRFLOW_USER": stack.user,
        "BMS_AIRFLOW_PASSWORD": stack.password,
        "PATH": os.environ["PATH"],
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-m", "bms_cli", "doctor", "--free-gb", "0", "--json"],
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def named(stack: Running) -> dict[str, str]:
    return {each["code"]: each["detail"] for each in examined(stack)[1]["findings"]}


def test_paused_dags_are_named_and_a_healthy_stack_has_no_findings(
    stack: Running, airflow: Airflow
) -> None:
    for name in FLOWS:
        airflow.pause(name, paused=name != "freshness_watchdog")
    code, report = examined(stack)
    assert code == 1
    paused = [each["detail"] for each in report["findings"] if each["code"] == "dag_paused"]
    assert [each.partition(":")[0] for each in paused] == [
        name for name in FLOWS if name != "freshness_watchdog"
    ]
    try:
        for name in FLOWS:
            airflow.pause(name, paused=False)
        until(lambda: examined(stack)[0] == 0, lambda: examined(stack))
        _, report = examined(stack)
        assert report["findings"] == []
        assert report["not_checked"] == {}
    finally:
        for name in FLOWS:
            airflow.pause(name, paused=name != "freshness_watchdog")


def test_a_wrong_password_of_airflow_is_not_checked(stack: Running) -> None:
    _, report = examined(stack, BMS_AIRFLOW_PASSWORD="wrong-word-1")
    assert "answered 401" in report["not_checked"]["pool"]


def test_a_pool_that_is_missing_or_too_small(stack: Running, airflow: Airflow) -> None:
    pool = airflow.call("GET", f"/pools/{POOL}")
    body = {"name": POOL, "slots": pool["slots"], "description": pool["description"]}
    body["include_deferred"] = pool["include_deferred"]
    try:
        airflow.call(
            "PATCH",
            f"/pools/{POOL}?update_mask=slots",
            {"pool": POOL, "slots": 3, "include_deferred": False},
        )
        until(
            lambda: "has 3 slots; a task takes 8" in named(stack).get("no_slots", ""),
            lambda: examined(stack),
        )
        airflow.call("DELETE", f"/pools/{POOL}")
        until(lambda: "does not exist" in named(stack).get("no_slots", ""), lambda: examined(stack))
    finally:
        names = {each["name"] for each in airflow.call("GET", "/pools")["pools"]}
        if POOL in names:
            airflow.call("DELETE", f"/pools/{POOL}")
        airflow.call("POST", "/pools", body)


def test_a_dag_file_that_fails_to_import(stack: Running, project: Path) -> None:
    broken = project / "dags" / "doctor_broken_dag.py"
    broken.write_text("from airflow.sdk import no_such_name_for_a_dag\n")
    try:
        until(lambda: "import_error" in named(stack), lambda: examined(stack))
        assert "doctor_broken_dag.py" in named(stack)["import_error"]
    finally:
        broken.unlink()
    until(lambda: "import_error" not in named(stack), lambda: examined(stack))


@pytest.fixture(scope="session")
def until_the_end() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.mark.prove
def test_a_scheduler_that_is_dead(stack: Running, until_the_end: ExitStack) -> None:
    kill_scheduler()
    try:
        until(lambda: "component_down" in named(stack), lambda: examined(stack), limit=180)
        assert named(stack)["component_down"] == "scheduler: unhealthy."
    finally:
        until_the_end.enter_context(scheduler_again(stack))  # later tests use the stack, too
        until(lambda: "component_down" not in named(stack), lambda: examined(stack), limit=180)
