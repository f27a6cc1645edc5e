"""A backfill of 30 days through Airflow, beside an extraction of three days and a drop."""

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date, timedelta
from typing import Any

import httpx
import pytest

from bms_flows.invoices.leases import lease_days
from bms_flows.invoices.units import Unit
from bms_flows.runtime.windows import Window
from bms_warehouse import database
from stack.launcher import Running
from tests.e2e.airflow_api import DONE, Airflow, inbox_of, query, until

DAG, DROPS = "invoice_extraction", "employee_onboarding"
UNPAUSED = (DAG, DROPS, "inbox_dispatch")
FIRST, LAST = date(2026, 1, 12), date(2026, 2, 10)
ENTITY = 1
DAYS = [FIRST + timedelta(days=n) for n in range(30)]
BUSY = Window(FIRST, FIRST + timedelta(days=2))
"""Days that another load holds when the backfill begins."""
FILE = "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n850001;Dupré;Zoé;1;2027-01-04\r\n"
LIMIT = 2400.0

pytestmark = [pytest.mark.prove, pytest.mark.timeout(3000)]


class Backfill:
    """A backfill from its request to its last run."""

    def __init__(self, stack: Running, airflow: Airflow) -> None:
        self.stack, self.airflow = stack, airflow
        self.waited: set[str] = set()
        self.took_s = self.drop_s = 0.0
        self.left = 0

    def create(self, dag: str) -> httpx.Response:
        """Request a backfill of the days as Airflow's dialog does."""
        body = {
            "dag_id": dag,
            "from_date": f"{FIRST}T00:00:00+01:00",
            "to_date": f"{LAST}T00:00:00+01:00",
            "max_active_runs": 10,
            "reprocess_behavior": "none",
            "dag_run_conf": {"entities": [ENTITY]},
        }
        return self.airflow._client.post("/api/v2/backfills", json=body)

    def runs(self) -> dict[str, str]:
        found = self.airflow.runs(DAG)
        return {run: state for run, state in found.items() if run.startswith("backfill__")}

    def tasks(self) -> list[Any]:
        path = f"/dags/{DAG}/dagRuns/~/taskInstances?limit=1000"
        found: list[Any] = self.airflow.call("GET", path)["task_instances"]
        return [task for task in found if task["dag_run_id"].startswith("backfill__")]

    def some_wait(self) -> bool:
        waiting = {t["dag_run_id"] for t in self.tasks() if t["state"] == "up_for_reschedule"}
        self.waited |= waiting
        return len(self.waited) == BUSY.days

    def done(self) -> int:
        return sum(state in DONE for state in self.runs().values())


@pytest.fixture(scope="module")
def backfill(stack: Running, airflow: Airflow) -> Backfill:
    """The ended backfill; three of its days were busy at first, and a file was dropped meanwhile."""
    played = Backfill(stack, airflow)
    warehouse = database.connect(stack.warehouse)
    with ExitStack() as busy:
        held = lease_days(warehouse, Unit(ENTITY, (BUSY,)), step_run_id=0, task="another load")
        busy.enter_context(held)
        begun = time.monotonic()
        assert played.create(DAG).is_success
        until(played.some_wait, lambda: Counter(t["state"] for t in played.tasks()), LIMIT)
    warehouse.dispose()
    (inbox_of(stack) / "during.csv").write_bytes(FILE.encode("cp1252"))
    dropped = time.monotonic()

    def drop_ended() -> bool:
        return set(airflow.runs(DROPS).values()) == {"success"}

    until(drop_ended, lambda: (airflow.runs(DROPS), played.runs()), LIMIT)
    played.drop_s, played.left = time.monotonic() - dropped, len(DAYS) - played.done()
    until(lambda: played.done() == len(DAYS), lambda: Counter(played.runs().values()), LIMIT)
    played.took_s = time.monotonic() - begun
    return played


def test_thirty_runs_succeed_and_read_each_day_once(
    backfill: Backfill, figure: Callable[[str], None]
) -> None:
    assert Counter(backfill.runs().values()) == {"success": len(DAYS)}
    read = query(
        backfill.stack,
        "select id_entity, details->'windows', state, requests from bms.step_run"
        " where step = 'extract' and dag_run_id like %s order by window_start",
        "backfill%",
    )
    assert [(entity, windows, state) for entity, windows, state, _ in read] == [
        (ENTITY, [f"{day}/{day}"], "complete") for day in DAYS
    ]
    requests = sum(row[3] for row in read)
    tokens = len(DAYS)  # each task has its own
    assert requests == len(DAYS) + tokens
    figure(
        f"backfill: {len(DAYS)} runs, {len(read)} days read once each with "
        f"{requests - tokens} requests and {tokens} tokens, {backfill.took_s:.0f} s"
    )


def test_busy_days_wait_and_no_attempt_fails(
    backfill: Backfill, figure: Callable[[str], None]
) -> None:
    assert len(backfill.waited) == BUSY.days
    tasks = backfill.tasks()
    assert {task["state"] for task in tasks} == {"success"}
    assert {task["try_number"] for task in tasks} == {1}
    figure(
        f"{len(backfill.waited)} runs waited for busy days; {len(tasks)} tasks, each one attempt"
    )


def test_tasks_of_a_drop_are_queued_before_those_of_the_backfill(
    backfill: Backfill, figure: Callable[[str], None]
) -> None:
    path = f"/dags/{DROPS}/dagRuns/~/taskInstances?limit=100"
    drop = backfill.airflow.call("GET", path)["task_instances"]
    waits = [(task["scheduled_when"], task["queued_when"]) for task in drop]
    queued = [(task["scheduled_when"], task["queued_when"]) for task in backfill.tasks()]
    overtaken = sum(since < other < until for since, until in waits for _, other in queued)
    overtakes = sum(since < until < other for _, until in waits for since, other in queued)
    assert overtaken == 0
    figure(
        f"a file dropped meanwhile ended after {backfill.drop_s:.0f} s, {backfill.left} runs before"
        f" the backfill; its {len(drop)} tasks overtook {overtakes}, and none overtook them"
    )


def test_the_backfill_raises_no_alarm(backfill: Backfill) -> None:
    assert query(backfill.stack, "select code, subject from bms.alarm") == []


def test_each_load_is_an_event_of_the_asset(backfill: Backfill) -> None:
    [asset] = backfill.airflow.call("GET", "/assets?name_pattern=bms_client_invoice")["assets"]
    events = backfill.airflow.call("GET", f"/assets/events?asset_id={asset['id']}&limit=100")
    extras = [
        event["extra"]
        for event in events["asset_events"]
        if event["source_run_id"].startswith("backfill__")
    ]
    days = Counter((extra["id_entity"], extra["days"]) for extra in extras)
    assert days == {(ENTITY, f"{day}/{day}"): 1 for day in DAYS}
    assert len(json.dumps(extras[0])) < 2_000


def test_a_dag_without_a_data_window_refuses_a_backfill(backfill: Backfill) -> None:
    refused = backfill.create("contact_sync")
    assert refused.is_client_error
    assert "does not allow backfill runs" in refused.text
