"""Airflow's REST API, as far as the stack speaks it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any

import httpx

from stack.processes import StackError

# A busy machine keeps an answer waiting; reads are asked again, so that a signal is noticed between.
READ_PATIENCE, READS = 5.0, 12
WRITE_PATIENCE = 30.0
PAGE = 100


class Api:
    """A client of one api-server; it signs in at its first call."""

    def __init__(
        self, url: str, user: str, password: str, pause: Callable[[], None] = lambda: None
    ) -> None:
        self._user, self._password = user, password
        self._pause = pause
        # trust_env: a company's proxy knows nothing of this machine's loopback.
        self._client = httpx.Client(base_url=url, timeout=WRITE_PATIENCE, trust_env=False)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def health(self) -> dict[str, Any]:
        """Return the state of each component, {} while the api-server does not answer."""
        try:
            answer = self._client.get("/api/v2/monitor/health", timeout=2)
        except httpx.TransportError:
            return {}
        return dict(answer.json()) if answer.status_code == HTTPStatus.OK else {}

    def dags(self) -> list[dict[str, Any]]:
        """Return all DAGs that Airflow knows."""
        return self._all("/api/v2/dags", "dags")

    def import_errors(self) -> list[dict[str, Any]]:
        """Return all errors of the last reading of DAG files."""
        return self._all("/api/v2/importErrors", "import_errors")

    def store_connection(self, connection: Mapping[str, Any]) -> None:
        """Make a connection, or make the existing one equal to this."""
        known = self._send("GET", f"/api/v2/connections/{connection['connection_id']}", absent=True)
        if known is None:
            self._send("POST", "/api/v2/connections", connection)
        else:
            self._send("PATCH", f"/api/v2/connections/{connection['connection_id']}", connection)

    def provide_pool(self, name: str, slots: int, description: str) -> None:
        """Make a pool; one that is there stays as it is."""
        if self._send("GET", f"/api/v2/pools/{name}", absent=True) is None:
            pool = {"name": name, "slots": slots, "description": description}
            self._send("POST", "/api/v2/pools", pool)

    def pause(self, dag_id: str, paused: bool) -> None:
        """Pause a DAG or let it run."""
        self._send("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": paused})

    def trigger(self, dag_id: str, run_id: str, conf: Mapping[str, Any]) -> str:
        """Ask for a run of a DAG and return its id."""
        body = {"dag_run_id": run_id, "logical_date": None, "conf": dict(conf)}
        return str(self._send("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)["dag_run_id"])

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """Return one run of a DAG."""
        return dict(self._send("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}"))

    def active_runs(self, dag_id: str) -> list[str]:
        """Return the ids of a DAG's runs that are queued or running."""
        query = "state=queued&state=running"
        runs = self._all(f"/api/v2/dags/{dag_id}/dagRuns?{query}", "dag_runs")
        return [str(run["dag_run_id"]) for run in runs]

    def fail(self, dag_id: str, run_id: str) -> None:
        """End a run as failed, and its tasks with it."""
        self._send("PATCH", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}", {"state": "failed"})

    def tasks(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Return the task instances of one run."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        return self._all(path, "task_instances")

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """Return what a task of a run returned."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries"
        return self._send("GET", f"{path}/return_value?deserialize=false")["value"]

    def questions(self, dag_id: str, run_id: str) -> dict[str, str]:
        """Return what a person is asked by a run's tasks that wait for an answer."""
        found = self._all(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/hitlDetails", "hitl_details")
        return {
            str(each["task_instance"]["task_id"]): str(each["body"])
            for each in found
            if each["task_instance"]["state"] == "awaiting_input"
        }

    def approve(self, dag_id: str, run_id: str, task_id: str) -> None:
        """Answer a question with yes."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/-1/hitlDetails"
        self._send("PATCH", path, {"chosen_options": ["Approve"], "params_input": {}})

    def _all(self, path: str, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        joint = "&" if "?" in path else "?"
        while True:
            page = self._send("GET", f"{path}{joint}limit={PAGE}&offset={len(found)}")
            found.extend(page[key])
            if not page[key] or len(found) >= page["total_entries"]:
                return found

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, absent: bool = False
    ) -> Any:
        """Return the decoded answer; None for a thing that is not there, when `absent` may be."""
        tries = READS if method == "GET" else 1
        answer = None
        while answer is None:
            self._pause()
            tries -= 1
            try:
                if "Authorization" not in self._client.headers:
                    self._sign_in()
                patience = READ_PATIENCE if method == "GET" else WRITE_PATIENCE
                answer = self._client.request(method, path, json=body, timeout=patience)
            except httpx.TransportError as error:
                if not (tries and isinstance(error, httpx.TimeoutException)):
                    told = f"Airflow's API does not answer: {method} {path}: {error}"
                    raise StackError(told) from error
        if absent and answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        if answer.is_error:
            raise StackError(
                f"Airflow's API refused {method} {path}: {answer.status_code} {_detail(answer)}"
            )
        return answer.json()

    def _sign_in(self) -> None:
        answer = self._client.post(
            "/auth/token",
            json={"username": self._user, "password": self._password},
            timeout=READ_PATIENCE,
        )
        if answer.status_code != HTTPStatus.CREATED:
            raise StackError(f"Airflow's API refused the stack's own user: {answer.status_code}")
        self._client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"


def instant(text: str | None) -> datetime | None:
    """Return the moment that a field of an answer names."""
    return datetime.fromisoformat(text) if text else None


def _detail(answer: httpx.Response) -> str:
    """Return why a request was refused; never the request, which may carry a password."""
    try:
        detail = answer.json().get("detail")
    except (ValueError, AttributeError):
        return answer.reason_phrase
    return detail if isinstance(detail, str) else answer.reason_phrase
