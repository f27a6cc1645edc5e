"""Execution of the scenarios of `make demo` on a running stack."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from stack import airflow
from stack.launcher import Running
from stack.processes import LOG_TAIL, StackError
from stack.progress import Progress
from stack.scenarios import Scenario

LIMIT = 180.0
RUN_ID_PREFIX = "demo__"
POLL_INTERVAL = 0.5
APPROVAL_DELAY = 5.0
FAILED_STATES = {"failed", "up_for_retry"}
FINISHED_STATES = {"success", "skipped", "failed", "upstream_failed"}

# Otherwise the schedule of an unpaused DAG would start runs in parallel to the demo's.
ENVIRONMENT = {"AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False"}


@dataclass
class ScenarioRun:
    """The DAG run of a scenario."""

    scenario: Scenario
    running: Running
    progress: Progress
    run_id: str
    approvals: dict[str, float] = field(default_factory=dict)
    """When each task that awaits an approval was first seen."""

    def poll(self) -> bool:
        """Approve what awaits approval and show the state; return whether the run succeeded.

        Raises StackError if it failed.
        """
        self._approve()
        api, dag_id = self.running.api, self.scenario.dag_id
        state = str(api.run(dag_id, self.run_id)["state"])
        tasks = api.tasks(dag_id, self.run_id)
        finished = sum(task["state"] in FINISHED_STATES for task in tasks)
        self.progress.note(
            self.scenario.name, f"{state}, {finished} of {len(tasks)} tasks finished"
        )
        if state == "failed":
            raise StackError(_failure(dag_id, self.run_id, self.running))
        return state == "success"

    def _approve(self) -> None:
        api, dag_id = self.running.api, self.scenario.dag_id
        for task_id, text in api.pending_approvals(dag_id, self.run_id).items():
            since = self.approvals.setdefault(task_id, time.monotonic())
            # Airflow retries a task whose approval arrives before the task has deferred itself.
            if time.monotonic() - since > APPROVAL_DELAY:
                self.progress.print(
                    f"{self.scenario.name}: waits for an approval; the demo approves it through "
                    f"Airflow's API, as an approver would on Airflow's page.\n  Request: {text}"
                )
                api.approve(dag_id, self.run_id, task_id)


def run_scenario(
    scenario: Scenario,
    running: Running,
    progress: Progress,
    pause: Callable[[], None],
    check: Callable[[], None],
) -> float:
    """Run a scenario, print its tables and return the seconds of its DAG run.

    Raises StackError with the last log lines of failed tasks if the run fails or exceeds LIMIT.
    """
    began = time.monotonic()
    progress.show([scenario.name])
    progress.start(scenario.name)
    run = ScenarioRun(scenario, running, progress, _trigger(scenario, running))
    polled = 0.0
    while True:
        pause()
        check()
        progress.refresh()
        if time.monotonic() - polled > POLL_INTERVAL:
            polled = time.monotonic()
            if run.poll():
                break
            if polled - began > LIMIT:
                failure = _failure(scenario.dag_id, run.run_id, running)
                raise StackError(f"Still running after {LIMIT:.0f} s.\n{failure}")
    running.api.set_paused(scenario.dag_id, paused=True)
    took = time.monotonic() - began
    progress.finish(scenario.name, took)
    progress.close()
    for table in scenario.tables(running, run.run_id):
        progress.print("")
        progress.print(table)
    return took


def _trigger(scenario: Scenario, running: Running) -> str:
    """Trigger the DAG run and return its id; fail the runs that an interrupted demo left."""
    for active in running.api.active_runs(scenario.dag_id):
        if active.startswith(RUN_ID_PREFIX):
            running.api.fail_run(scenario.dag_id, active)
    name = f"{RUN_ID_PREFIX}{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"
    run_id = running.api.trigger(scenario.dag_id, name, scenario.prepare(running))
    running.api.set_paused(scenario.dag_id, paused=False)
    return run_id


def _failure(dag_id: str, run_id: str, running: Running) -> str:
    """Return the failed tasks of a run, the end of their logs and the remedy."""
    lines = [f"The run {run_id} of {dag_id} did not succeed."]
    run_logs = airflow.task_logs(running.paths) / f"dag_id={dag_id}" / f"run_id={run_id}"
    for task in running.api.tasks(dag_id, run_id):
        if task["state"] in FAILED_STATES:
            folder = run_logs / f"task_id={task['task_id']}"
            if task["map_index"] >= 0:
                folder /= f"map_index={task['map_index']}"
            logs = sorted(folder.glob("attempt=*.log"), key=lambda log: log.stat().st_mtime)
            lines.append(f"State of task {task['task_id']}: {task['state']}")
            lines.extend(_readable(log) for log in logs[-1:])
    lines.append(
        "Fix the cause and run `make demo` again; `make up` shows the run on Airflow's page."
    )
    return "\n".join(lines)


def _readable(log: Path) -> str:
    """Return the last lines of a task's JSON log as text."""
    lines = [f"Last lines of {log}:"]
    for line in log.read_text(errors="replace").splitlines()[-LOG_TAIL:]:
        try:
            entry = json.loads(line)
        except ValueError:
            lines.append(f"  {line}")
            continue
        lines.append(f"  {entry.get('level', '')}: {entry.get('event', '')}")
        lines.extend(
            f"    {error.get('exc_type')}: {error.get('exc_value')}"
            for error in entry.get("error_detail", [])
        )
    return "\n".join(lines)
