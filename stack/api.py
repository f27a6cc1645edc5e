"""Client of the Airflow REST API calls that the stack makes."""

from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any

import httpx

from stack.processes import StackError

# Reads time out early and are repeated, so that a signal is noticed in between.
READ_TIMEOUT, READ_ATTEMPTS = 5.0, 12
WRITE_TIMEOUT = 30.0
PAGE_SIZE = 100
WAITING_STATES = {"awaiting_input", "deferred"}
"""States of a task that awaits an approval: in Airflow 3.3, and in 3.2."""


class AirflowApi:
    """A client of one api-server; it signs in at its first call."""

    def __init__(
        self, url: str, user: str, password: str, pause: Callable[[], None] = lambda: None
    ) -> None:
        self._user, self._password = user, password
        self._pause = pause
        # trust_env=False: a proxy of the company cannot reach this machine's loopback.
        self._client = httpx.Client(base_url=url, timeout=WRITE_TIMEOUT, trust_env=False)

    def close(self) -> None:
        """Close the HTTP connections."""
        self._client.close()

    def health(self) -> dict[str, Any]:
        """Return the state of each component, {} while the api-server does not respond."""
        try:
            response = self._client.get("/api/v2/monitor/health", timeout=2)
        except httpx.TransportError:
            return {}
        return dict(response.json()) if response.status_code == HTTPStatus.OK else {}

    def dags(self) -> list[dict[str, Any]]:
        """Return all DAGs that Airflow lists."""
        return self._list("/api/v2/dags", "dags")

    def import_errors(self) -> list[dict[str, Any]]:
        """Return the import errors of DAG files."""
        return self._list("/api/v2/importErrors", "import_errors")

    def upsert_connection(self, connection: Mapping[str, Any]) -> None:
        """Create a connection, or replace the fields of the existing one."""
        path = f"/api/v2/connections/{connection['connection_id']}"
        if self._send("GET", path, allow_missing=True) is None:
            self._send("POST", "/api/v2/connections", connection)
        else:
            self._send("PATCH", path, connection)

    def ensure_pool(self, name: str, slots: int, description: str) -> None:
        """Create a pool unless it exists; its size may have been changed on purpose."""
        if self._send("GET", f"/api/v2/pools/{name}", allow_missing=True) is None:
            pool = {"name": name, "slots": slots, "description": description}
            self._send("POST", "/api/v2/pools", pool)

    def set_paused(self, dag_id: str, paused: bool) -> None:
        """Pause or unpause a DAG."""
        self._send("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": paused})

    def parse(self, dag_id: str) -> None:
        """Have a DAG's file parsed now: Airflow starts the watchers of an unpaused DAG only then."""
        token = self._send("GET", f"/api/v2/dags/{dag_id}/details")["file_token"]
        self._send("PUT", f"/api/v2/parseDagFile/{token}")

    def trigger(self, dag_id: str, run_id: str, conf: Mapping[str, Any]) -> str:
        """Trigger a DAG run and return its id."""
        body = {"dag_run_id": run_id, "logical_date": None, "conf": dict(conf)}
        return str(self._send("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)["dag_run_id"])

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """Return a DAG run."""
        return dict(self._send("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}"))

    def active_runs(self, dag_id: str) -> list[str]:
        """Return the ids of a DAG's queued and running runs."""
        query = "state=queued&state=running"
        runs = self._list(f"/api/v2/dags/{dag_id}/dagRuns?{query}", "dag_runs")
        return [str(run["dag_run_id"]) for run in runs]

    def fail_run(self, dag_id: str, run_id: str) -> None:
        """Mark a DAG run as failed, which also ends its tasks."""
        self._send("PATCH", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}", {"state": "failed"})

    def tasks(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Return the task instances of a DAG run."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        return self._list(path, "task_instances")

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """Return the return value of a task."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries"
        return self._send("GET", f"{path}/return_value?deserialize=false")["value"]

    def pending_approvals(self, dag_id: str, run_id: str) -> dict[str, str]:
        """Return the text for the approver by the id of each task that awaits an approval."""
        found = self._list(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/hitlDetails", "hitl_details")
        return {
            str(each["task_instance"]["task_id"]): str(each["body"])
            for each in found
            if each["task_instance"]["state"] in WAITING_STATES and not each["response_received"]
        }

    def approve(self, dag_id: str, run_id: str, task_id: str) -> None:
        """Approve what a task asks for."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/-1/hitlDetails"
        approve = self._send("GET", path)["options"][0]
        self._send("PATCH", path, {"chosen_options": [approve], "params_input": {}})

    def _list(self, path: str, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        separator = "&" if "?" in path else "?"
        while True:
            page = self._send("GET", f"{path}{separator}limit={PAGE_SIZE}&offset={len(found)}")
            found.extend(page[key])
            if not page[key] or len(found) >= page["total_entries"]:
                return found

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        allow_missing: bool = False,
    ) -> Any:
        """Return the decoded response, None for a 404 with `allow_missing`."""
        attempts = READ_ATTEMPTS if method == "GET" else 1
        response = None
        while response is None:
            self._pause()
            attempts -= 1
            try:
                if "Authorization" not in self._client.headers:
                    self._sign_in()
                timeout = READ_TIMEOUT if method == "GET" else WRITE_TIMEOUT
                response = self._client.request(method, path, json=body, timeout=timeout)
            except httpx.TransportError as error:
                if not (attempts and isinstance(error, httpx.TimeoutException)):
                    raise StackError(
                        f"Airflow's API does not respond to {method} {path}: {error}"
                    ) from error
        if allow_missing and response.status_code == HTTPStatus.NOT_FOUND:
            return None
        if response.is_error:
            raise StackError(
                f"Airflow's API rejected {method} {path}: {response.status_code} {_detail(response)}"
            )
        return response.json()

    def _sign_in(self) -> None:
        response = self._client.post(
            "/auth/token",
            json={"username": self._user, "password": self._password},
            timeout=READ_TIMEOUT,
        )
        if response.status_code != HTTPStatus.CREATED:
            raise StackError(
                f"Airflow's API rejected the sign-in of user {self._user}: {response.status_code}"
            )
        self._client.headers["Authorization"] = f"Bearer {response.json()['access_token']}"


def parse_time(text: str | None) -> datetime | None:
    """Return a timestamp field of a response as a datetime."""
    return datetime.fromisoformat(text) if text else None


def _detail(response: httpx.Response) -> str:
    """Return the reason for an error response; the request itself may contain a password."""
    try:
        detail = response.json().get("detail")
    except (ValueError, AttributeError):
        return response.reason_phrase
    return detail if isinstance(detail, str) else response.reason_phrase
