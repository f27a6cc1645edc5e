"""Client of Airflow's API for the end-to-end tests."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

from stack import airflow as components
from stack.launcher import Running
from tests.support.patience import LONG_S

DONE = {"success", "failed"}
LOG_LINES = 40


class Airflow:
    """A signed-in client of the running stack's API."""

    def __init__(self, stack: Running) -> None:
        self._client = httpx.Client(base_url=stack.url, timeout=LONG_S, trust_env=False)
        login = {"username": stack.user, "password": stack.password}
        token = self._client.post("/auth/token", json=login).json()["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self._client.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._client.request(method, f"/api/v2{path}", json=body)
        while answer.status_code == HTTPStatus.CONFLICT:  # the scheduler writes to the same rows
            time.sleep(1)
            answer = self._client.request(method, f"/api/v2{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def pause(self, dag: str, *, paused: bool) -> None:
        self.call("PATCH", f"/dags/{dag}", {"is_paused": paused})

    def unpause(self, dag: str) -> None:
        """Unpause a DAG and wait for its last scheduled run, if Airflow then creates one."""
        self.pause(dag, paused=False)
        time.sleep(10)
        until(lambda: {*self.runs(dag).values()} <= DONE, lambda: self.runs(dag))

    def trigger(self, dag: str, logical_date: str | None = None, **conf: Any) -> str:
        body = {"logical_date": logical_date, "conf": conf}
        return str(self.call("POST", f"/dags/{dag}/dagRuns", body)["dag_run_id"])

    def runs(self, dag: str) -> dict[str, str]:
        found = self.call("GET", f"/dags/{dag}/dagRuns?limit=100")["dag_runs"]
        return {run["dag_run_id"]: run["state"] for run in found}

    def end_of(self, dag: str, run: str) -> str:
        """Wait until a run has ended; return its state."""
        until(lambda: self.runs(dag).get(run) in DONE, lambda: self.why(dag, run))
        return self.runs(dag)[run]

    def succeed(self, *runs: tuple[str, str]) -> None:
        """Wait until runs, each a DAG and an id, have ended; assert that all succeeded."""
        for dag, run in runs:
            assert self.end_of(dag, run) == "success", self.why(dag, run)

    def result(self, dag: str, run: str, task: str) -> dict[str, Any]:
        path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/return_value"
        found = self.call("GET", path)["value"]
        return dict(json.loads(found) if isinstance(found, str) else found)

    def why(self, dag: str, run: str) -> str:
        """Return the state of a run and the end of the last log of each failed task."""
        tasks = self.call("GET", f"/dags/{dag}/dagRuns/{run}/taskInstances?limit=1000")
        told = [f"{dag} {run}: {self.runs(dag).get(run)}"]
        for task in tasks["task_instances"]:
            told.append(f"{task['task_id']}[{task['map_index']}]: {task['state']}")
            if task["state"] in ("failed", "up_for_retry"):
                told.append(self._log(dag, run, task))
        return "\n".join(told)

    def _log(self, dag: str, run: str, task: Any) -> str:
        path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task['task_id']}/logs"
        query = f"map_index={task['map_index']}&full_content=true"
        content = self.call("GET", f"{path}/{task['try_number']}?{query}")["content"]
        return "\n".join(json.dumps(line) for line in content[-LOG_LINES:])


def until(condition: Callable[[], bool], told: Callable[[], object], limit: float = LONG_S) -> None:
    """Wait for a condition; fail with the text of `told` at the timeout."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, told()
        time.sleep(0.5)


def query(stack: Running, statement: str, *given: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query of the stack's warehouse."""
    with psycopg.connect(stack.warehouse) as connection:
        return connection.execute(statement.encode(), given or None).fetchall()


def kill_scheduler() -> None:
    """Kill the scheduler of the stack that this process runs."""
    scheduler = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it may end meanwhile
            command = process.cmdline()
            if "scheduler" in command and "--skip-serve-logs" in command:
                scheduler.append(process)
    assert scheduler
    for process in scheduler:
        process.kill()
    psutil.wait_procs(scheduler)


def inbox_of(stack: Running, name: str = "employees") -> Path:
    """Return an inbox of the stack, which exists then."""
    folder = Path(stack.data_root.removeprefix("file://")) / "inbox" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def scheduler_again(stack: Running) -> Iterator[None]:
    """Run a scheduler for the block, as the stack starts it."""
    command = components.components(int(stack.url.rpartition(":")[2]))["scheduler"]
    again = subprocess.Popen(  # noqa: S603 - as the stack starts it
        command,
        env=dict(stack.environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    try:
        yield
    finally:
        again.terminate()
        again.wait()


@contextmanager
def unpaused(stack: Running, *dags: str) -> Iterator[Airflow]:
    """Yield a client of the API while DAGs are unpaused."""
    api = Airflow(stack)
    for dag in dags:
        api.pause(dag, paused=False)
    if "inbox_dispatch" in dags:
        stack.api.parse("inbox_dispatch")  # or its watcher would start with the next regular parse
    yield api
    for dag in dags:
        api.pause(dag, paused=True)
    api.close()
