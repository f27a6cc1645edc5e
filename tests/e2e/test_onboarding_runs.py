"""Drops on a real Airflow: approved, rejected, expired, without approval, dropped again."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stack.launcher import Running
from tests.e2e.airflow_api import DONE, Airflow, unpaused, until
from tests.e2e.canaries import stored_in_airflow

DAG = "employee_onboarding"
HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n"
SECRET_NAME = "Canari-Zoé"
ASKED_FOR = 4.0
"""Seconds before an answer: one that overtakes the task's way into waiting costs a retry."""

pytestmark = pytest.mark.prove


def rows(kind: str, count: int) -> str:
    number = {"approved": 81, "rejected": 82, "unanswered": 83, "few": 84}[kind]
    return "".join(
        f"{number}{n:04d};{SECRET_NAME};Prénom {kind} {'ABC'[n]};1;2027-01-04\r\n"
        for n in range(count)
    )


DROPS = {
    "approved": HEADER + rows("approved", 3) + "819999;;Sans nom;1;2027-01-04\r\n",
    "rejected": HEADER + rows("rejected", 3),
    "unanswered": HEADER + rows("unanswered", 3),
    "few": HEADER + rows("few", 1),
}
ANSWERS = {"approved": "Approuver", "rejected": "Rejeter"}


@pytest.fixture(scope="module")
def airflow(stack: Running) -> Iterator[Airflow]:
    with unpaused(stack, DAG, "inbox_dispatch") as api:
        yield api


@pytest.fixture(scope="module")
def inbox(stack: Running) -> Path:
    return Path(stack.data_root.removeprefix("file://")) / "inbox" / "employees"


class Drops:
    """Four concurrent drops and the outcome of each."""

    def __init__(self, stack: Running, airflow: Airflow) -> None:
        self.stack, self.airflow = stack, airflow
        self.waiting: dict[str, float] = {}
        self.earlier = set(airflow.runs(DAG))

    def named(self) -> dict[str, str]:
        """The run of each file that this module dropped."""
        with psycopg.connect(self.stack.warehouse) as connection:
            found = connection.execute(
                "select path, dag_run_id from bms.dropped_file where resource = 'employee'"
            ).fetchall()
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
                    assert SECRET_NAME not in json.dumps(each)
                    body = {"chosen_options": [choice], "params_input": {}}
                    task = each["task_instance"]["task_id"]
                    self.airflow.call("PATCH", f"{path}/taskInstances/{task}/-1/hitlDetails", body)

    def ended(self) -> bool:
        self.answer()
        states = self.airflow.runs(DAG)
        runs = self.named()
        return runs.keys() >= DROPS.keys() and all(states.get(r) in DONE for r in runs.values())

    def outcome(self, kind: str) -> dict[str, Any]:
        found = self.airflow.result(DAG, self.named()[kind], "conclude")
        return json.loads(found) if isinstance(found, str) else dict(found)


@pytest.fixture(scope="module")
def drops(stack: Running, airflow: Airflow, inbox: Path) -> Drops:
    played = Drops(stack, airflow)
    inbox.mkdir(parents=True, exist_ok=True)
    for name, content in DROPS.items():
        (inbox / f"{name}.csv").write_bytes(content.encode("cp1252"))
    until(played.ended, lambda: (played.named(), airflow.runs(DAG)))
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
    assert (outcome["created"], outcome["waiting"]) == (0, 3)


def test_a_small_plan_needs_no_approval(drops: Drops) -> None:
    assert drops.outcome("few")["created"] == 1


def test_the_reports_exist_and_the_inbox_is_empty(drops: Drops, inbox: Path) -> None:
    for kind in DROPS:
        folder = inbox.parent.parent / drops.outcome(kind)["report"]
        names = {path.name for path in folder.iterdir()}
        rejected = {"rejected.csv", "rejected.xlsx"}
        plans = {name for name in names if name.startswith("plan-")}
        assert len(plans) == (0 if kind == "few" else 1)
        report = {"created.csv", "needs_review.csv", "receipt.json", *rejected}
        assert names - plans == report
    assert {file.name for file in inbox.glob("[!.]*.csv")} <= {"_modele_employees.csv"}


def test_a_refused_plan_can_be_approved_later(
    drops: Drops, airflow: Airflow, stack: Running
) -> None:
    with psycopg.connect(stack.warehouse) as connection:
        number = connection.execute(
            """select id from bms.dropped_file where path = 'rejected.csv'"""
        ).fetchone()
    assert number is not None
    run = airflow.trigger(DAG, drop=number[0])
    ANSWERS["rejected"] = "Approuver"
    until(lambda: drops.ended() and airflow.runs(DAG)[run] in DONE, lambda: airflow.runs(DAG))
    assert airflow.runs(DAG)[run] == "success"
    assert drops.outcome("rejected")["created"] == 3


def test_no_personal_datum_is_in_airflow_s_database_or_logs(drops: Drops, stack: Running) -> None:
    assert drops.outcome("few")
    assert stored_in_airflow(stack, SECRET_NAME) == set()
    for log in stack.paths.logs.rglob("*.log"):
        assert SECRET_NAME not in log.read_text(errors="replace"), log


def test_a_row_in_review_is_decided_in_airflow(
    drops: Drops, airflow: Airflow, stack: Running, inbox: Path
) -> None:
    """Equal names and start dates with different payroll numbers need a reviewer's decision."""
    drops.outcome("few")
    twin = HEADER + rows("few", 1).replace("840000", "849999")
    (inbox / "twin.csv").write_bytes(twin.encode("cp1252"))
    until(lambda: drops.ended() and "twin" in drops.named(), lambda: airflow.runs(DAG))
    outcome = drops.outcome("twin")
    assert (outcome["created"], outcome["needs_review"]) == (0, 1)
    run = airflow.trigger(DAG, drop=outcome["drop"], line="2", decision="create")
    until(lambda: airflow.runs(DAG)[run] in DONE, lambda: airflow.runs(DAG))
    assert airflow.runs(DAG)[run] == "success"
    assert drops.outcome("twin")["created"] == 1
    with psycopg.connect(stack.warehouse) as connection:
        who = connection.execute(
            "select distinct who from bms.creation_event where who is not null"
        ).fetchall()
    assert (stack.user,) in who
