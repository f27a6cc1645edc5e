"""The three mirrors on a real Airflow: params, loads, asset events and logs."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from stack.launcher import Running
from tests.e2e.airflow_api import Airflow, query, until
from tests.e2e.canaries import in_logs, stored_in_airflow
from tests.support.patience import LONG_S

CONTACTS, CONSULTANTS, EMPLOYEES = "contact_sync", "consultant_sync", "employee_directory"
SECRET = "Canari-rue-privée"
COUNTS = {"rows_read", "inserted", "changed", "unchanged", "quarantined", "missing"}

pytestmark = pytest.mark.prove


class Mirrors:
    """Runs of the three DAGs and their results."""

    def __init__(self, stack: Running, airflow: Airflow) -> None:
        self.stack, self.airflow = stack, airflow

    def run(self, *asked: tuple[str, dict[str, Any]]) -> list[str]:
        """Trigger runs concurrently; return their ids after all have succeeded."""
        begun = [(dag, self.airflow.trigger(dag, None, **conf)) for dag, conf in asked]
        self.airflow.succeed(*begun)
        return [run for _, run in begun]

    def manifest(self, dag: str, run: str) -> dict[str, Any]:
        return self.airflow.result(dag, run, "sync")

    def query(self, statement: str, *given: Any) -> list[tuple[Any, ...]]:
        return query(self.stack, statement, *given)

    def service(self, method: str, path: str, body: Any = None) -> Any:
        """Read or change the service directly."""
        address = f"{self.stack.sandbox}/_sandbox/{path}"
        answer = httpx.request(method, address, json=body, timeout=LONG_S, trust_env=False)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


Restricted = dict[str, tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def mirrors(stack: Running) -> Iterator[Mirrors]:
    api = Airflow(stack)
    for dag in (CONTACTS, CONSULTANTS, EMPLOYEES):
        api.unpause(dag)
    yield Mirrors(stack, api)
    for dag in (CONTACTS, CONSULTANTS, EMPLOYEES):
        api.pause(dag, paused=True)
    api.close()


@pytest.fixture(scope="module")
def restricted(mirrors: Mirrors) -> Restricted:
    """A run of each DAG, restricted by its params, after its scheduled run: its id and its params."""
    truth = mirrors.service("GET", "rows/consultants")
    asked: dict[str, dict[str, Any]] = {
        CONTACTS: {"filter": "ACTIVE", "id_client": 101, "is_lead": False, "details": False},
        CONSULTANTS: {"type": "FREELANCE", "id_client": next(filter(None, client_of(truth)))},
        EMPLOYEES: {"entities": [1], "employee_details": "off"},
    }
    runs = mirrors.run(*asked.items())
    return {dag: (run, asked[dag]) for dag, run in zip(asked, runs, strict=True)}


def client_of(consultants: list[dict[str, Any]]) -> list[int | None]:
    return [each["id_client"] for each in consultants if each["type"] == "FREELANCE"]


@pytest.fixture(scope="module")
def whole(mirrors: Mirrors, restricted: Restricted) -> dict[str, str]:
    """One run of each DAG with its defaults after changes to each list, with full details of employees."""
    assert restricted
    employees = mirrors.service("GET", "rows/employees")
    keys = {each["id_entity"]: each["guid_employee"] for each in employees}
    mirrors.service("PATCH", f"rows/employees/{keys[1]}", {"address": SECRET})
    mirrors.service("PATCH", f"rows/employees/{keys[2]}", {"last_name": "Renommée"})
    for resource in ("contacts", "consultants"):
        key = mirrors.service("GET", f"rows/{resource}")[0]["id"]
        mirrors.service("PATCH", f"rows/{resource}/{key}", {"last_name": "Renommée"})
    asked = {CONTACTS: {}, CONSULTANTS: {}, EMPLOYEES: {"employee_details": "full"}}
    return dict(zip(asked, mirrors.run(*asked.items()), strict=True))


def test_contacts_are_restricted_by_filter_client_and_leads_and_left_without_details(
    mirrors: Mirrors, restricted: Restricted
) -> None:
    found = mirrors.manifest(CONTACTS, restricted[CONTACTS][0])
    asked = [
        each["id"]
        for each in mirrors.service("GET", "rows/contacts")
        if each["active"] and not each["deleted"] and not each["is_lead"]
        if each["id_client"] == 101
    ]
    assert (found["rows_read"], found["details_read"]) == (len(asked), 0)


def test_consultants_are_restricted_by_type_and_client(
    mirrors: Mirrors, restricted: Restricted
) -> None:
    run, params = restricted[CONSULTANTS]
    consultants = mirrors.service("GET", "rows/consultants")
    asked = client_of(consultants).count(params["id_client"])
    assert mirrors.manifest(CONSULTANTS, run)["rows_read"] == asked


def test_employees_of_one_entity_without_details(mirrors: Mirrors, restricted: Restricted) -> None:
    runs = mirrors.query(
        "select id_entity, rows_read, details from bms.step_run"
        " where dag_run_id = %s and step = 'sync'",
        restricted[EMPLOYEES][0],
    )
    listed = [each for each in mirrors.service("GET", "rows/employees") if each["id_entity"] == 1]
    assert len(listed) >= 40
    assert [(entity, read, told["details_read"]) for entity, read, told in runs] == [
        (1, len(listed), 0)
    ]


def test_a_complete_run_has_every_row_of_the_service(
    mirrors: Mirrors, whole: dict[str, str]
) -> None:
    assert whole
    for table, resource, key in (
        ("contact", "contacts", "id"),
        ("consultant", "consultants", "id"),
        ("employee", "employees", "guid_employee"),
    ):
        truth = {each[key] for each in mirrors.service("GET", f"rows/{resource}")}
        rows = mirrors.query(f'select "{key}", _detailed from bms.{table}')
        assert {row[0] for row in rows} >= truth
        assert all(detailed for _, detailed in rows)


def test_private_fields_are_only_in_their_schema(mirrors: Mirrors, whole: dict[str, str]) -> None:
    """They are absent from other tables and files, and from Airflow's database and logs."""
    assert whole
    apart = "select count(*) from bms_private.employee_private where address = %s"
    assert mirrors.query(apart, SECRET) == [(1,)]
    others = mirrors.query(
        "select oid::regclass::text from pg_class where relkind = 'r'"
        " and relnamespace = 'bms'::regnamespace"
    )
    for (table,) in others:
        hits = mirrors.query(f"select count(*) from {table} t where t::text like %s", f"%{SECRET}%")
        assert hits == [(0,)], table
    assert stored_in_airflow(mirrors.stack, SECRET) == set()
    assert in_logs(mirrors.stack, SECRET) == []


def events(mirrors: Mirrors, dag: str, run: str) -> list[dict[str, Any]]:
    """Return the events of a run."""
    query = f"/assets/events?source_dag_id={dag}&source_run_id={quote(run)}"
    found: list[dict[str, Any]] = mirrors.airflow.call("GET", query)["asset_events"]
    return found


def test_each_whole_load_is_an_event_of_its_asset_with_counts(
    mirrors: Mirrors, whole: dict[str, str]
) -> None:
    for dag, name, entities in (
        (CONTACTS, "bms_contact", {None}),
        (CONSULTANTS, "bms_consultant", {None}),
        (EMPLOYEES, "bms_employee", {1, 2}),
    ):
        found = events(mirrors, dag, whole[dag])
        assert {event["name"] for event in found} == {name}
        assert len(found) == len(entities)
        assert {event["extra"]["id_entity"] for event in found} == entities
        for event in found:
            assert event["extra"]["counts"].keys() == COUNTS
            assert event["extra"]["changed"]
            assert len(json.dumps(event["extra"])) < 2_000
            reports_its_changes(mirrors, event["extra"]["changed_by"])


def reports_its_changes(mirrors: Mirrors, steps: list[int]) -> None:
    """Assert that the warehouse records the changes as reported, soon after the task's success."""
    assert steps
    query = "select count(*) from bms.step_run where id = any(%s) and reported_at is not null"

    def recorded() -> list[tuple[Any, ...]]:
        return mirrors.query(query, steps)

    until(lambda: recorded() == [(len(steps),)], recorded)


def test_a_full_run_reads_every_detail_again(mirrors: Mirrors, whole: dict[str, str]) -> None:
    assert whole
    [run] = mirrors.run((CONSULTANTS, {"full": True}))
    manifest = mirrors.manifest(CONSULTANTS, run)
    assert manifest["details_read"] == manifest["rows_read"] == manifest["unchanged"]


def test_the_log_reports_each_pass_and_the_details(mirrors: Mirrors, whole: dict[str, str]) -> None:
    run = whole[CONTACTS]
    path = f"/dags/{CONTACTS}/dagRuns/{run}/taskInstances/sync/logs/1"
    told = json.dumps(mirrors.airflow.call("GET", path), ensure_ascii=False)
    for line in (
        "contact, list, pass 1: ",
        "contact, list, pass 2: ",
        "complete; ",
    ):
        assert line in told
