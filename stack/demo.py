"""Playing the acts of `make demo` on the running stack."""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from stack import airflow
from stack.acts import Act
from stack.launcher import Running
from stack.processes import TAIL, StackError
from stack.progress import Progress

LIMIT = 180.0
PREFIX = "demo__"
LOOK_EVERY = 0.5
ASKED_FOR = 5.0
TROUBLED = {"failed", "up_for_retry"}

# Unpausing a DAG would else let its schedule run beside the run that the demo asks for.
ENVIRONMENT = {"AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False"}


@dataclass
class Performance:
    """One act on the stage: the run that was asked for, and what has been said of it."""

    act: Act
    running: Running
    progress: Progress
    run_id: str
    asked: dict[str, float] = field(default_factory=dict)

    def finished(self) -> bool:
        """Look once: answer what the run asks, tell how far it is; raise StackError if it failed."""
        self._answer()
        api, dag_id = self.running.api, self.act.dag_id
        state = str(api.run(dag_id, self.run_id)["state"])
        tasks = Counter(str(task["state"]) for task in api.tasks(dag_id, self.run_id))
        told = ", ".join(f"{count} {name}" for name, count in sorted(tasks.items()))
        self.progress.note(self.act.name, f"{state}; tasks: {told or 'none yet'}")
        if state == "failed":
            raise StackError(_failure(dag_id, self.run_id, self.running))
        return state == "success"

    def _answer(self) -> None:
        api, dag_id = self.running.api, self.act.dag_id
        for task_id, question in api.questions(dag_id, self.run_id).items():
            since = self.asked.setdefault(task_id, time.monotonic())
            # An answer that overtakes the task's own way into waiting costs Airflow a retry.
            if time.monotonic() - since > ASKED_FOR:
                self.progress.say(f"approved through Airflow's API: {question}")
                api.approve(dag_id, self.run_id, task_id)


def perform(
    act: Act,
    running: Running,
    progress: Progress,
    pause: Callable[[], None],
    check: Callable[[], None],
) -> float:
    """Run one act to its end and print its tables; return the seconds of the DAG run.

    Raises StackError with the end of the failed tasks' logs when the run fails or outlasts LIMIT.
    """
    began = time.monotonic()
    progress.announce([act.name])
    progress.begin(act.name)
    performance = Performance(act, running, progress, _start(act, running))
    looked = 0.0
    while True:
        pause()
        check()
        progress.tick()
        if time.monotonic() - looked > LOOK_EVERY:
            looked = time.monotonic()
            if performance.finished():
                break
            if looked - began > LIMIT:
                failure = _failure(act.dag_id, performance.run_id, running)
                raise StackError(f"after {LIMIT:.0f} s it still runs.\n{failure}")
    running.api.pause(act.dag_id, paused=True)
    took = time.monotonic() - began
    progress.done(act.name, took)
    progress.settle()
    for table in act.tables(running, performance.run_id):
        progress.say("")
        progress.say(table)
    return took


def _start(act: Act, running: Running) -> str:
    """Ask for the act's run and return its id."""
    for left in running.api.active_runs(act.dag_id):
        if left.startswith(PREFIX):  # of a demo that was interrupted; it would run beside this one
            running.api.fail(act.dag_id, left)
    name = f"{PREFIX}{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"
    run_id = running.api.trigger(act.dag_id, name, act.conf(running))
    running.api.pause(act.dag_id, paused=False)
    return run_id


def conclude(running: Running, progress: Progress) -> None:
    """Say where everything is and what to look at next."""
    progress.say(
        "\n"
        f"Files:   {running.data_root}\n"
        f"Tables:  schema bms in {running.warehouse} (while the stack runs)\n"
        f"Logs:    {running.place.logs}\n"
        "Next:    `make up` leaves the same stack running, with Airflow's page; "
        "README.md explains the rest.\n"
    )


def _failure(dag_id: str, run_id: str, running: Running) -> str:
    """Return which tasks of a run are in trouble, and the end of each one's log."""
    told = [f"{dag_id}: the run {run_id} did not succeed."]
    folder = airflow.task_logs(running.place) / f"dag_id={dag_id}" / f"run_id={run_id}"
    for task in running.api.tasks(dag_id, run_id):
        if task["state"] in TROUBLED:
            place = folder / f"task_id={task['task_id']}"
            if task["map_index"] >= 0:
                place /= f"map_index={task['map_index']}"
            logs = sorted(place.glob("attempt=*.log"), key=lambda log: log.stat().st_mtime)
            told.append(f"Task {task['task_id']} is {task['state']}.")
            told.extend(_readable(log) for log in logs[-1:])
    told.append("Mend it and run `make demo` again, or look at the run under `make up`.")
    return "\n".join(told)


def _readable(log: Path) -> str:
    """Return the last lines of a task's log, which Airflow writes as JSON, as text."""
    lines = [f"Last lines of {log}:"]
    for line in log.read_text(errors="replace").splitlines()[-TAIL:]:
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
