"""Alarms and recoveries of every failure of a flow, with a real stack and a real webhook."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from stack.launcher import Running, running
from tests.e2e.airflow_api import Airflow, kill_scheduler, scheduler_again, until
from tests.e2e.conftest import own_environment
from tests.listeners import Statsd, Webhook, statsd, webhook
from tests.support.patience import LONG_S

pytestmark = pytest.mark.prove

DAG, WATCHDOG, STUCK = "contact_sync", "freshness_watchdog", "stuck_flow"
PROMISED = 90.0
"""Seconds that the contacts' last complete load may be old here, in place of an hour and a half."""
INTERVAL = 20.0
"""Seconds between two looks of the watchdog here, in place of five minutes."""

Figure = Callable[[str], None]

STUCK_FILE = '''"""A run whose tasks can't begin: their pool is missing."""

from datetime import timedelta

from airflow.sdk import dag, task

from bms_provider import policy


@dag(schedule=None, **policy.dag_arguments("test", deadline=timedelta(seconds=5)))
def stuck_flow() -> None:
    @task(pool="no_such_pool")
    def wait() -> None:
        pass

    wait()


stuck_flow()
'''


@dataclass
class Stand:
    """The stack, its API, its webhook, and the received messages."""

    stack: Running
    airflow: Airflow
    messages: Webhook
    metrics: Statsd
    lineage: Path

    def sandbox(self, method: str, path: str, body: Any) -> None:
        url = f"{self.stack.sandbox}/_sandbox{path}"
        httpx.request(method, url, json=body, timeout=LONG_S, trust_env=False).raise_for_status()

    def sql(self, statement: str) -> list[Any]:
        with psycopg.connect(self.stack.warehouse) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def sync(self) -> str:
        return self.airflow.end_of(DAG, self.airflow.trigger(DAG))

    def look(self) -> None:
        """Run the watchdog."""
        assert self.airflow.end_of(WATCHDOG, self.airflow.trigger(WATCHDOG)) == "success"

    def due_in(self) -> float:
        """Return the seconds until the contacts are late; below 0 when they are."""
        [(age,)] = self.sql(
            "select extract(epoch from now() - max(finished_at)) from bms.step_run"
            " where flow = 'contact_sync' and state = 'complete'"
        )
        return PROMISED - float(age)

    def told(self, count: int, look: Callable[[], object], limit: float = LONG_S) -> None:
        """Run the watchdog every interval until a number of messages has arrived."""
        end = time.monotonic() + limit
        while len(self.messages.taken) < count:
            assert time.monotonic() < end, self.messages.texts
            began = time.monotonic()
            look()
            while len(self.messages.taken) < count and time.monotonic() - began < INTERVAL:
                time.sleep(0.2)


@pytest.fixture(scope="module")
def stand() -> Iterator[Stand]:
    with tempfile.TemporaryDirectory() as folder, webhook() as messages, statsd() as metrics:
        dags = Path(folder) / "dags"
        shutil.copytree(Path(__file__).parents[2] / "dags", dags)
        (dags / f"{STUCK}.py").write_text(STUCK_FILE)
        given = {
            **own_environment(),
            "BMS_LOCAL_DIR": f"{folder}/local",
            "BMS_FRESH_HOURS": json.dumps({"contact_sync": PROMISED / 3600}),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            **metrics.variables,
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
                {"type": "file", "log_file_path": f"{folder}/lineage.jsonl", "append": True}
            ),
            # A busy machine takes its time over the first request of a task.
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
            # Runs are those that the test asks for.
            "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        }
        with running(given) as stack:
            stack.api.upsert_connection(
                {"connection_id": "bms_webhook", "conn_type": "http", "host": messages.url}
            )
            api = Airflow(stack)
            for dag in (DAG, WATCHDOG, STUCK):
                api.pause(dag, paused=False)
            yield Stand(stack, api, messages, metrics, Path(folder) / "lineage.jsonl")
            api.close()


class Trouble:
    """One failure from its alarm to its recovery."""

    def __init__(self, stand: Stand, what: str, who: str, look: Callable[[], object]) -> None:
        self.stand, self.what, self.who, self.look = stand, what, who, look
        self.before = len(stand.messages.taken)
        self.began = time.time()

    def rings(self, code: str, subject: str = DAG) -> str:
        """Wait for the alarm, run the watchdog again, expect no second message."""
        self.stand.told(self.before + 1, self.look)
        moment, text = self.stand.messages.taken[self.before]
        assert text.splitlines()[0] == f"Alarm: {subject} ({code})", text
        self.code, self.after = code, moment - self.began
        self.look()
        self.lasted = len(self.stand.messages.taken) - self.before
        assert self.lasted == 1, self.stand.messages.texts[self.before :]
        return text

    def is_over(self) -> str:
        """Wait for the recovery, run the watchdog again, expect no second message.

        Returns the failure's row of the table in docs/proof.md.
        """
        self.stand.told(self.before + 2, self.look)
        self.look()
        titles = self.stand.messages.titles[self.before + 1 :]
        assert len(titles) == 1, titles
        assert titles[0].startswith("Recovered: "), titles
        after = f"{max(self.after, 0):.0f} s"
        seen = (self.what, self.who, f"`{self.code}`", after, str(self.lasted), str(len(titles)))
        return f"| {' | '.join(seen)} |"


def fresh(stand: Stand) -> None:
    """Start with freshly loaded contacts and no open alarm."""
    assert stand.sync() == "success"
    stand.look()
    assert stand.sql("select subject from bms.alarm where recovered_at is null") == []


def test_metrics_are_received_and_lineage_has_row_counts(stand: Stand) -> None:
    fresh(stand)

    def sent() -> set[tuple[str, ...]]:
        return {tuple(line.partition(":")[0].split(",")) for line in stand.metrics.lines}

    mirror, contact = "operation=mirror_contact", "resource=contact"
    wanted = {
        ("airflow.bms.requests", mirror),
        ("airflow.bms.retries", mirror),
        ("airflow.bms.latency", mirror, "endpoint=list_contacts"),
        ("airflow.bms.rows", contact, "outcome=inserted"),
        ("airflow.bms.rows", contact, "outcome=quarantined"),
        ("airflow.bms.quarantine", contact),
        ("airflow.bms.unknown", contact),
        ("airflow.bms.freshness", "flow=contact_sync"),
        ("airflow.bms.alarms",),
    }
    until(lambda: wanted <= sent(), lambda: wanted - sent())
    events = [json.loads(line) for line in stand.lineage.read_text().splitlines()]
    outputs = [each for event in events for each in event["outputs"] if each.get("outputFacets")]
    [(contacts,)] = stand.sql("select count(*) from bms.contact")
    assert [
        (each["name"], each["outputFacets"]["outputStatistics"]["rowCount"]) for each in outputs
    ] == [("bms.bms.contact", contacts)]


def test_a_run_that_fails(stand: Stand, figure: Figure) -> None:
    fresh(stand)
    trouble = Trouble(stand, "A run fails", "the task's callback", stand.look)
    stand.sandbox("PATCH", "/dialect", {"granted_scopes": ["read:invoice_client"]})
    run = stand.airflow.trigger(DAG)
    assert stand.airflow.end_of(DAG, run) == "failed"
    trouble.began = time.time()
    text = trouble.rings("failed")
    assert "Task check_access failed after attempt 1: MissingScope." in text
    assert f"Run: {stand.stack.url}/dags/contact_sync/runs/{run.partition(':')[0]}" in text
    assert "/bms/runbook#missingscope" in text
    stand.sandbox("POST", "/reset", None)
    assert stand.sync() == "success"
    figure(trouble.is_over())


def test_a_retried_attempt_sends_no_alarm(stand: Stand) -> None:
    fresh(stand)
    before = len(stand.messages.taken)
    fault = {"kind": "503", "operation": "list_contacts", "retry_after": 0.0}
    stand.sandbox("POST", "/faults", fault)
    run = stand.airflow.trigger(DAG)
    task = f"/dags/{DAG}/dagRuns/{run}/taskInstances/sync"

    def state() -> object:
        return stand.airflow.call("GET", task)["state"]

    until(lambda: state() == "up_for_retry", state)
    stand.look()
    stand.sandbox("PUT", "/faults", [])
    assert stand.airflow.end_of(DAG, run) == "success"
    stand.look()
    assert "(failed)" not in "".join(stand.messages.titles[before:])


def test_an_empty_response(stand: Stand, figure: Figure) -> None:
    fresh(stand)
    trouble = Trouble(stand, "The service answers with nothing", "the task's callback", stand.look)
    stand.sandbox("POST", "/faults", {"kind": "empty_list", "operation": "list_contacts"})
    assert stand.sync() == "failed"
    trouble.began = time.time()
    trouble.rings("suspect")
    stand.sandbox("PUT", "/faults", [])
    assert stand.sync() == "success"
    figure(trouble.is_over())


def test_a_run_that_is_skipped(stand: Stand, figure: Figure) -> None:
    fresh(stand)
    trouble = Trouble(stand, "A run is skipped", "the watchdog", stand.look)
    stand.airflow.pause(DAG, paused=True)
    run = stand.airflow.trigger(DAG)
    task = f"/dags/{DAG}/dagRuns/{run}/taskInstances/sync"
    stand.airflow.call("PATCH", task, {"new_state": "skipped"})
    stand.airflow.pause(DAG, paused=False)
    assert stand.airflow.end_of(DAG, run) == "success"
    trouble.began = time.time() + stand.due_in()
    trouble.rings("late")
    assert stand.sync() == "success"
    figure(trouble.is_over())


def test_a_dag_that_is_paused(stand: Stand, figure: Figure) -> None:
    fresh(stand)
    trouble = Trouble(stand, "The DAG is paused", "the watchdog", stand.look)
    stand.airflow.pause(DAG, paused=True)
    run = stand.airflow.trigger(DAG)
    trouble.began = time.time() + stand.due_in()
    trouble.rings("late")
    stand.airflow.pause(DAG, paused=False)
    assert stand.airflow.end_of(DAG, run) == "success"
    figure(trouble.is_over())


def test_a_run_that_cannot_start(stand: Stand, figure: Figure) -> None:
    fresh(stand)
    trouble = Trouble(stand, "The tasks' pool is missing", "Airflow's deadline", stand.look)
    run = stand.airflow.trigger(STUCK)
    trouble.began = time.time() + 5
    text = trouble.rings("overdue", STUCK)
    assert "has not ended within" in text
    stand.airflow.call("PATCH", f"/dags/{STUCK}/dagRuns/{run}", {"state": "success"})
    stand.sql(
        "insert into bms.step_run (flow, dag_run_id, step, state, started_at, finished_at)"
        " values ('stuck_flow', 'later', 'wait', 'complete', now(), now())"
    )
    figure(trouble.is_over())


def test_a_scheduler_that_stopped(stand: Stand, figure: Figure, tmp_path: Path) -> None:
    """The health command checks instead of Airflow, as cron would run it."""
    codes: list[int] = []

    def health() -> None:
        done = subprocess.run(  # noqa: S603 - our own command
            [
                sys.executable,
                "-m",
                "bms_cli",
                "health",
                "--json",
                "--notify",
                "--memory",
                tmp_path / "memory",
            ],
            env={
                **stand.stack.environment,
                "BMS_WAREHOUSE_URL": stand.stack.warehouse,
                "BMS_NOTICE_WEBHOOK": stand.messages.url,
                "BMS_AIRFLOW_URL": stand.stack.url,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        codes.append(done.returncode)
        assert set(json.loads(done.stdout)) == {"state", "at", "flows", "alarms"}, done.stderr

    fresh(stand)
    trouble = Trouble(stand, "The scheduler is dead", "`bms health --notify`", health)
    kill_scheduler()
    run = stand.airflow.trigger(DAG)
    trouble.began = time.time() + stand.due_in()
    trouble.rings("late")
    assert codes[-1] == 1
    with scheduler_again(stand.stack):
        assert stand.airflow.end_of(DAG, run) == "success"
        figure(trouble.is_over())
        assert codes[-1] == 0
