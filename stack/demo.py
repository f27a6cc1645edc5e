"""Execution of the scenarios of `make demo` on a running stack."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from stack.launcher import Running
from stack.processes import LOG_TAIL, StackError
from stack.progress import Progress
from stack.scenarios import Report, Scenario

LIMIT = 600.0
RUN_ID_PREFIX = "demo__"
POLL_INTERVAL = 0.7
APPROVAL_DELAY = 3.0
FAILED_STATES = {"failed", "up_for_retry"}

ENVIRONMENT = {
    # Otherwise the schedule of an unpaused DAG would start runs in parallel to the demo's.
    "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "300",  # no DAG file changes during the demo
    "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.3",  # default 1 s between two tasks
}
UNUSED = ("triggerer",)
"""Airflow's components that no run of the demo needs; the triggerer reports overdue runs."""
SETTLE = {"BMS_CREATE_TIMEOUT_S": "5", "BMS_SETTLE_S": "1"}
"""Settings with which a lost response is settled after 6 s; the defaults, for a real service, need 90 s."""


@dataclass
class ScenarioRun:
    """The DAG run of a scenario."""

    scenario: Scenario
    running: Running
    run_id: str
    began: float
    approvals: dict[str, float] = field(default_factory=dict)
    """When each task that awaits an approval was first seen."""

    def poll(self) -> bool:
        """Approve what awaits approval; return whether the run succeeded.

        Raises StackError if it failed or exceeds LIMIT.
        """
        self._approve()
        dag_id = self.scenario.dag_id
        state = str(self.running.api.run(dag_id, self.run_id)["state"])
        if state == "failed":
            raise StackError(_failure(dag_id, self.run_id, self.running))
        if state != "success" and time.monotonic() - self.began > LIMIT:
            failure = _failure(dag_id, self.run_id, self.running)
            raise StackError(f"Still running after {LIMIT:.0f} s.\n{failure}")
        return state == "success"

    def _approve(self) -> None:
        api, dag_id = self.running.api, self.scenario.dag_id
        for task_id in api.pending_approvals(dag_id, self.run_id):
            since = self.approvals.setdefault(task_id, time.monotonic())
            # Airflow retries a task whose approval arrives before the task has deferred itself.
            if time.monotonic() - since > APPROVAL_DELAY:
                api.approve(dag_id, self.run_id, task_id)


def run_scenarios(
    scenarios: Sequence[Scenario],
    running: Running,
    progress: Progress,
    pause: Callable[[], None],
    check: Callable[[], None],
) -> list[Report]:
    """Run scenarios, independent ones at the same time; print and return their reports in order.

    Raises StackError with the last log lines of failed tasks if a run fails or exceeds LIMIT.
    """
    waiting, active = list(scenarios), list[ScenarioRun]()
    reports: dict[str, Report] = {}
    printed = 0
    while waiting or active:
        for scenario in [s for s in waiting if not s.after or s.after in reports]:
            waiting.remove(scenario)
            run_id = _trigger(scenario, running)
            active.append(ScenarioRun(scenario, running, run_id, time.monotonic()))
        polled = time.monotonic()
        while time.monotonic() - polled < POLL_INTERVAL:
            pause()
            check()
            progress.update(", ".join(run.scenario.title.lower() for run in active))
        for run in [run for run in active if run.poll()]:
            active.remove(run)
            running.api.set_paused(run.scenario.dag_id, paused=True)
            reports[run.scenario.title] = run.scenario.report(running, run.run_id)
        while printed < len(scenarios) and scenarios[printed].title in reports:
            report = reports[scenarios[printed].title]
            progress.row(scenarios[printed].title, report.outcome, *report.meaning, done=True)
            printed += 1
    return [reports[scenario.title] for scenario in scenarios]


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
    lines = [f"The run {run_id} of {dag_id} did not succeed; its scenario proves nothing."]
    run_logs = running.paths.task_logs / f"dag_id={dag_id}" / f"run_id={run_id}"
    for task in running.api.tasks(dag_id, run_id):
        if task["state"] in FAILED_STATES:
            folder = run_logs / f"task_id={task['task_id']}"
            if task["map_index"] >= 0:
                folder /= f"map_index={task['map_index']}"
            logs = sorted(folder.glob("attempt=*.log"), key=lambda log: log.stat().st_mtime)
            lines.append(f"State of task {task['task_id']}: {task['state']}")
            lines.extend(_readable(log) for log in logs[-1:])
    lines.append(
        "To do: fix the cause and run `make demo` again; `make up` shows the run on Airflow's page."
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
