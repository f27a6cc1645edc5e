"""Alarm and recovery of a failed task; test_alarms_proof covers the other alarms."""

from collections.abc import Iterator

import pytest

from bms_sandbox.dialect import Dialect
from bms_sandbox.serve import Sandbox
from stack.launcher import Running
from tests.e2e.airflow_api import Airflow, until
from tests.e2e.canaries import sandbox_of
from tests.listeners import Webhook, webhook

DAG, WATCHDOG = "contact_sync", "freshness_watchdog"
UNPAUSED = (DAG,)


@pytest.fixture
def messages(stack: Running, airflow: Airflow) -> Iterator[Webhook]:
    """A webhook, with its connection created in Airflow's UI."""
    with webhook() as found:
        stack.api.upsert_connection(
            {"connection_id": "bms_webhook", "conn_type": "http", "host": found.url}
        )
        yield found
        airflow.call("DELETE", "/connections/bms_webhook")


@pytest.fixture
def sandbox(stack: Running) -> Iterator[Sandbox]:
    """The stack's sandbox, which grants all scopes again afterwards."""
    found = sandbox_of(stack)
    yield found
    found.set_dialect(granted_scopes=Dialect().granted_scopes)


def run(airflow: Airflow, dag: str, name: str = "") -> str:
    """Trigger a run, or clear the failed tasks of the run `name`; return the state in which it ends."""
    if name:
        cleared = {"dag_run_id": name, "dry_run": False, "only_failed": True}
        airflow.call("POST", f"/dags/{dag}/clearTaskInstances", cleared | {"reset_dag_runs": True})
    return airflow.end_of(dag, name or airflow.trigger(dag))


def test_a_failed_task_sends_one_alarm_and_one_recovery(
    stack: Running, airflow: Airflow, messages: Webhook, sandbox: Sandbox
) -> None:
    def told() -> list[str]:
        return [text for text in messages.texts if text.split()[1] == DAG]

    sandbox.set_dialect(granted_scopes=["read:employee"])
    before = airflow.runs(DAG)
    assert run(airflow, DAG) == "failed"
    [failed] = {name for name in airflow.runs(DAG).keys() - before if name.startswith("manual")}
    until(lambda: bool(told()), lambda: messages.texts)
    lines = told()[0].splitlines()
    assert lines[:2] == [
        f"Alarm: {DAG} (failed)",
        "Task check_access failed after attempt 1: MissingScope.",
    ]
    starts = (
        "Since:",
        "What it means:",
        "Can it wait until morning: Yes",
        "What to do: Ask the service's administrator to grant",
        f"Run: {stack.url}/dags/{DAG}/runs/",
        "Runb",
    )
    assert all(line.startswith(start) for line, start in zip(lines[2:], starts, strict=True))
    sandbox.set_dialect(granted_scopes=Dialect().granted_scopes)
    assert run(airflow, DAG, failed) == "success"  # cleared, as the remedy says
    assert run(airflow, WATCHDOG) == "success"
    until(lambda: len(told()) > 1, lambda: messages.texts)
    assert [text.splitlines()[0] for text in told()[1:]] == [f"Recovered: {DAG} (failed)"]
