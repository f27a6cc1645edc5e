"""Drops on a real Airflow: approved, rejected, expired, without approval, failed, dropped again.

Canary values of their persons, and the connection's secrets, are neither in Airflow's database nor in logs.
"""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from bms_sandbox.dialect import Dialect
from stack.launcher import Running
from tests.e2e.airflow_api import DONE, Airflow, inbox_of, query, until
from tests.e2e.canaries import (
    PLANTED,
    drop,
    in_logs,
    sandbox_of,
    secrets_of,
    seen,
    stored_in_airflow,
)

DAG = "employee_onboarding"
UNPAUSED = (DAG, "inbox_dispatch")
ASKED_FOR = 4.0
"""Seconds before an answer: one that overtakes the task's way into waiting costs a retry."""
DROPS = {
    "approved": drop("approved", 851),
    "rejected": drop("rejected", 852),
    "unanswered": drop("unanswered", 853),
    "few": drop("few", 854, count=1),
}
ANSWERS = {"approved": "Approuver", "rejected": "Rejeter", "failed": "Approuver"}

pytestmark = pytest.mark.prove


@pytest.fixture(scope="module")
def inbox(stack: Running) -> Path:
    return inbox_of(stack)


class Drops:
    """Concurrent drops, the outcome of each, and the requests that approvers answered."""

    def __init__(self, stack: Running, airflow: Airflow) -> None:
        self.stack, self.airflow = stack, airflow
        self.waiting: dict[str, float] = {}
        self.shown: list[str] = []
        self.earlier = set(airflow.runs(DAG))

    def named(self) -> dict[str, str]:
        """The run of each file that this module dropped."""
        dropped = "select path, dag_run_id from bms.dropped_file where resource = 'employee'"
        found = query(self.stack, dropped)
        return {path.removesuffix(".csv"): run for path, run in found if run not in self.earlier}

    def answer(self) -> None:
        for kind, choice in ANSWERS.items():
            run = self.named().get(kind)
            if run is None or self.airflow.runs(DAG).get(run) != "running":
                continue
            path = f"/dags/{DAG}/dagRuns/{run}"
            for each in self.airflow.call("GET", f"{path}/hitlDetails")["hitl_details"]:
                if each["task_instance"]["state"] != "awaiting_input":
                    continue
                since = self.waiting.setdefault(run, time.monotonic())
                if time.monotonic() - since > ASKED_FOR:
                    self.shown.append(str(each))
                    body = {"chosen_options": [choice], "params_input": {}}
                    task = each["task_instance"]["task_id"]
                    self.airflow.call("PATCH", f"{path}/taskInstances/{task}/-1/hitlDetails", body)

    def end(self, *kinds: str) -> None:
        """Answer until all runs of files have ended."""

        def ended() -> bool:
            self.answer()
            states, runs = self.airflow.runs(DAG), self.named()
            return runs.keys() >= {*kinds} and all(states.get(r) in DONE for r in runs.values())

        until(ended, lambda: (self.named(), self.airflow.runs(DAG)))

    def outcome(self, kind: str) -> dict[str, object]:
        return self.airflow.result(DAG, self.named()[kind], "conclude")


@pytest.fixture(scope="module")
def drops(stack: Running, airflow: Airflow, inbox: Path) -> Drops:
    played = Drops(stack, airflow)
    for name, content in DROPS.items():
        (inbox / f"{name}.csv").write_bytes(content)
    played.end(*DROPS)
    return played


def test_every_file_has_one_successful_run(drops: Drops) -> None:
    states = drops.airflow.runs(DAG)
    runs = drops.named()
    assert len(set(runs.values())) == len(DROPS)
    assert {states[run] for run in runs.values()} == {"success"}
    assert len(states.keys() - drops.earlier) == len(DROPS)


def test_an_approved_plan_is_applied_and_its_invalid_row_is_rejected(drops: Drops) -> None:
    outcome = drops.outcome("approved")
    assert (outcome["created"], outcome["rejected"], outcome["waiting"]) == (3, 1, 0)


@pytest.mark.parametrize("kind", ["rejected", "unanswered"])
def test_without_approval_nothing_is_created_and_all_rows_are_reported(
    drops: Drops, kind: str
) -> None:
    outcome = drops.outcome(kind)
    assert (outcome["created"], outcome["rejected"], outcome["waiting"]) == (0, 1, 3)


def test_a_small_plan_needs_no_approval(drops: Drops) -> None:
    assert drops.outcome("few")["created"] == 1


def test_the_reports_exist_and_the_inbox_is_empty(drops: Drops, inbox: Path) -> None:
    for kind in DROPS:
        folder = inbox.parent.parent / str(drops.outcome(kind)["report"])
        names = {path.name for path in folder.iterdir()}
        rejected = {"rejected.csv", "rejected.xlsx"}
        plans = {name for name in names if name.startswith("plan-")}
        assert len(plans) == (0 if kind == "few" else 1)
        report = {"created.csv", "needs_review.csv", "receipt.json", *rejected}
        assert names - plans == report
    assert {file.name for file in inbox.glob("[!.]*.csv")} <= {"_modele_employees.csv"}


def test_a_refused_plan_can_be_approved_later(drops: Drops, stack: Running) -> None:
    [(number,)] = query(stack, "select id from bms.dropped_file where path = 'rejected.csv'")
    run = drops.airflow.trigger(DAG, drop=number)
    ANSWERS["rejected"] = "Approuver"
    until(lambda: drops.named()["rejected"] == run, drops.named)
    drops.end()
    assert drops.airflow.runs(DAG)[run] == "success"
    assert drops.outcome("rejected")["created"] == 3


def test_a_row_in_review_is_decided_in_airflow(drops: Drops, stack: Running, inbox: Path) -> None:
    """Equal names and start dates with different payroll numbers need a reviewer's decision."""
    (inbox / "twin.csv").write_bytes(DROPS["few"].replace(b"854000", b"859999"))
    drops.end("twin")
    outcome = drops.outcome("twin")
    assert (outcome["created"], outcome["needs_review"]) == (0, 1)
    run = drops.airflow.trigger(DAG, drop=outcome["drop"], line="2", decision="create")
    drops.airflow.succeed((DAG, run))
    assert drops.outcome("twin")["created"] == 1
    deciders = query(stack, "select who from bms.creation_event where who is not null")
    assert (stack.user,) in deciders


@pytest.fixture(scope="module")
def planted(drops: Drops, stack: Running, inbox: Path) -> Mapping[str, tuple[str, ...]]:
    """The canary values, the secret and the prefix of every token, after a run that failed, too."""
    sandbox = sandbox_of(stack)
    found = {**PLANTED, **secrets_of(sandbox)}
    # The credentials may read but not create: planning succeeds, the creation fails.
    sandbox.set_dialect(granted_scopes=["read:employee"])
    (inbox / "failed.csv").write_bytes(drop("failed", 855))
    try:
        drops.end("failed")
    finally:
        # Not a reset: other tests of the stack rely on the records that were created so far.
        sandbox.set_dialect(granted_scopes=Dialect().granted_scopes)
    assert drops.airflow.runs(DAG)[drops.named()["failed"]] == "failed"
    return found


def test_no_canary_is_in_airflow_s_database_in_logs_or_in_requests_for_approval(
    drops: Drops, planted: Mapping[str, tuple[str, ...]], stack: Running
) -> None:
    """Every table and column: XCom, rendered fields, approval requests, asset events, connections."""
    assert "dag_run" in stored_in_airflow(stack, "employee-drop-"), "what is looked for so is found"
    assert any(DAG in str(path) for path in in_logs(stack, "drop "))
    for what, texts in planted.items():
        for text in texts:
            assert stored_in_airflow(stack, text) == set(), what
            assert in_logs(stack, text) == [], what
    assert len(drops.shown) >= 3
    assert [request for request in drops.shown if seen(request, planted)] == []
