"""Absence of canary values in Airflow after an approved, a rejected and a failed run."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

from bms_sandbox.dialect import Dialect
from bms_sandbox.serve import Sandbox
from stack.launcher import Running
from tests.e2e.airflow_api import DONE, Airflow, unpaused, until
from tests.e2e.canaries import (
    PLANTED,
    created,
    drop,
    sandbox_of,
    secrets_of,
    stored_in_airflow,
)

DAG = "employee_onboarding"
ASKED_FOR = 4.0
"""Seconds before an answer: one that overtakes the task's way into waiting costs a retry."""
ANSWERS = {"approved": "Approuver", "rejected": "Rejeter"}
NUMBERS = {"approved": 851, "rejected": 852, "failed": 853}

pytestmark = pytest.mark.prove


@pytest.fixture(scope="module")
def airflow(stack: Running) -> Iterator[Airflow]:
    with unpaused(stack, DAG, "inbox_dispatch") as api:
        yield api


@pytest.fixture(scope="module")
def sandbox(stack: Running) -> Sandbox:
    return sandbox_of(stack)


def run_of(stack: Running, kind: str) -> str | None:
    with psycopg.connect(stack.warehouse) as connection:
        row = connection.execute(
            "select dag_run_id from bms.dropped_file where path = %s", [f"canary-{kind}.csv"]
        ).fetchone()
    return str(row[0]) if row else None


class Playing:
    """Drops files, answers the approval requests, waits for the runs; stores the displayed requests."""

    def __init__(self, stack: Running, airflow: Airflow) -> None:
        self.stack, self.airflow = stack, airflow
        self.shown: list[str] = []
        self._since: dict[str, float] = {}

    def play(self, *kinds: str) -> dict[str, str]:
        inbox = Path(self.stack.data_root.removeprefix("file://")) / "inbox" / "employees"
        inbox.mkdir(parents=True, exist_ok=True)
        for kind in kinds:
            (inbox / f"canary-{kind}.csv").write_bytes(drop(kind, NUMBERS[kind]))
        until(lambda: self._ended(kinds), lambda: self.airflow.runs(DAG))
        states = self.airflow.runs(DAG)
        return {kind: states[run_of(self.stack, kind) or ""] for kind in kinds}

    def _ended(self, kinds: tuple[str, ...]) -> bool:
        runs = {kind: run_of(self.stack, kind) for kind in kinds}
        for kind, run in runs.items():
            if run and self.airflow.runs(DAG).get(run) == "running":
                self._answer(run, ANSWERS.get(kind, "Approuver"))
        return all(self.airflow.runs(DAG).get(run or "") in DONE for run in runs.values())

    def _answer(self, run: str, choice: str) -> None:
        path = f"/dags/{DAG}/dagRuns/{run}"
        for each in self.airflow.call("GET", f"{path}/hitlDetails")["hitl_details"]:
            if each["task_instance"]["state"] != "awaiting_input":
                continue
            if time.monotonic() - self._since.setdefault(run, time.monotonic()) > ASKED_FOR:
                self.shown.append(str(each))
                task = each["task_instance"]["task_id"]
                body = {"chosen_options": [choice], "params_input": {}}
                self.airflow.call("PATCH", f"{path}/taskInstances/{task}/-1/hitlDetails", body)


@pytest.fixture(scope="module")
def played(stack: Running, airflow: Airflow, sandbox: Sandbox) -> Playing:
    playing = Playing(stack, airflow)
    assert playing.play("approved", "rejected") == {"approved": "success", "rejected": "success"}
    assert created(stack, "canary-approved.csv") == 3
    # The credentials may read but not create: planning succeeds, the creation fails.
    sandbox.set_dialect(granted_scopes=["read:employee"])
    try:
        assert playing.play("failed") == {"failed": "failed"}
    finally:
        # Not a reset: other tests of the stack rely on the records that were created so far.
        sandbox.set_dialect(granted_scopes=Dialect().granted_scopes)
    return playing


@pytest.fixture(scope="module")
def planted(sandbox: Sandbox) -> Mapping[str, tuple[str, ...]]:
    """The canary values, the connection's secret and the prefix of every token."""
    return {**PLANTED, **secrets_of(sandbox)}


def test_the_runs_waited_for_approval_before_creating(played: Playing) -> None:
    assert len(played.shown) >= 2


def test_the_metadata_database_contains_no_canary(
    played: Playing, planted: Mapping[str, tuple[str, ...]], stack: Running
) -> None:
    """Covers every table and column: XCom, rendered fields, approval requests, asset events, connections."""
    assert played.shown
    assert "dag_run" in stored_in_airflow(stack, "employee-drop-"), "what is looked for so is found"
    for what, texts in planted.items():
        for text in texts:
            assert stored_in_airflow(stack, text) == set(), what


def test_no_log_contains_a_canary(
    played: Playing, planted: Mapping[str, tuple[str, ...]], stack: Running
) -> None:
    assert played.shown
    logs = [path for path in stack.paths.logs.rglob("*") if path.is_file()]
    assert any(DAG in str(path) for path in logs)
    for path in logs:
        content = path.read_text(errors="replace")
        for what, texts in planted.items():
            for text in texts:
                assert text not in content, f"{what} in {path.relative_to(stack.paths.logs)}"


def test_no_approval_request_contains_a_canary(
    played: Playing, planted: Mapping[str, tuple[str, ...]]
) -> None:
    for shown in played.shown:
        for what, texts in planted.items():
            assert not any(text in shown for text in texts), what
