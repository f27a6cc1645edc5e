"""Checks of Airflow over its REST API: components, import errors, DAGs, pool, version, connection test."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request

from bms_flows.catalog import FLOWS
from bms_flows.doctor.finding import Finding, NotChecked
from bms_flows.runtime.opener import OPENER
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import own_version

USER, PASSWORD = "BMS_AIRFLOW_USER", "BMS_AIRFLOW_PASSWORD"
POOL: Final = "bms_service"
TASK_SLOTS: Final = 8
COMPONENTS: Final = ("metadatabase", "scheduler", "dag_processor", "triggerer")
TIMEOUT_S: Final = 10


class Api:
    """A signed-in client of Airflow's REST API."""

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        login = {"username": environment.get(USER), "password": environment.get(PASSWORD)}
        if not all(login.values()):
            raise NotChecked(f"set {USER} and {PASSWORD} to a user who may read DAGs and pools")
        token = self.call("/auth/token", login)["access_token"]
        self._headers["Authorization"] = f"Bearer {token}"

    def call(self, path: str, body: object = None) -> Any:
        """Return the response, None for 404; raise `NotChecked` for any other failure."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._url + path, data, self._headers)  # noqa: S310 - http or https
        try:
            with OPENER.open(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except HTTPError as error:
            error.close()
            if error.code == 404:  # noqa: PLR2004 - not found
                return None
            text = f"{path.partition('?')[0]} answered {error.code}"
            if 300 <= error.code < 400:  # noqa: PLR2004 - a redirect, which would take the token along
                text += ", a redirect: set BMS_AIRFLOW_URL to the address that it names"
            raise NotChecked(text) from None
        except (OSError, ValueError) as error:
            raise NotChecked(
                f"Airflow does not answer at {self._url} ({type(error).__name__})"
            ) from None


def components(api: Api) -> Iterator[Finding]:
    """Yield components without a heartbeat; an absent triggerer is one. Their heartbeats are in the database."""
    health = api.call("/api/v2/monitor/health")
    for name in COMPONENTS:
        status = (health.get(name) or {}).get("status")
        if status != "healthy":
            yield Finding("component_down", f"{name}: {status or 'never seen'}.")
            if name == "metadatabase":
                return


def import_errors(api: Api) -> Iterator[Finding]:
    """Yield DAG files that Airflow can't import."""
    for each in api.call("/api/v2/importErrors?limit=100")["import_errors"]:
        yield Finding("import_error", f"{each['filename']}.")


def dags(api: Api, settings: FlowSettings) -> Iterator[Finding]:
    """Yield DAGs that Airflow does not know, and paused ones whose target is not switched off."""
    for name, flow in FLOWS.items():
        found = api.call(f"/api/v2/dags/{name}")
        if found is None:
            yield Finding("dag_missing", f"{name}.")
        elif found["is_paused"] and settings.fresh_hours.get(name) != "off":
            yield Finding("dag_paused", f"{name}: {flow.title}.")


def pool(api: Api, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a pool that is missing or smaller than a task."""
    found, given = api.call(f"/api/v2/pools/{POOL}"), environment.get("BMS_TASK_SLOTS") or ""
    slots = int(given) if given.isdecimal() else TASK_SLOTS  # import errors name another value
    if found is None:
        yield Finding("no_slots", f"The pool {POOL} does not exist.")
    elif 0 <= found["slots"] < slots:
        yield Finding(
            "no_slots", f"The pool {POOL} has {found['slots']} slots; a task takes {slots}."
        )


def version(api: Api) -> Iterator[Finding]:
    """Yield another version of the project in the API server."""
    own = own_version()
    for each in api.call("/api/v2/providers?limit=500")["providers"]:
        if each["package_name"] == "bms-airflow" and each["version"] != own:
            yield Finding(
                "versions_differ",
                f"The API server has version {each['version']}, this command {own}.",
            )


def connection_test(api: Api) -> Iterator[Finding]:
    """Yield the failure of Airflow's own test of the connection, where Airflow allows the test."""
    found = api.call("/api/v2/connections/bms_default")
    if found is None:
        raise NotChecked("the API does not show the connection bms_default")
    result = api.call("/api/v2/connections/test", found)
    if result is None:
        raise NotChecked("this Airflow has no test of connections")
    if not result["status"]:
        yield Finding("connection_invalid", str(result["message"]))
    elif "Missing: " in result["message"] and "Missing: none" not in result["message"]:
        yield Finding("MissingScope", str(result["message"]))
