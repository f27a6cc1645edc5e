"""Permissions of every route of the board."""

import re

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from bms_flows.monitoring import alarms
from bms_provider.board.routes import app
from tests.bms_provider.board.conftest import ANONYMOUS, Visit

PATHS = {
    "/": ["/"],
    "/health": ["/health"],
    "/runbook": ["/runbook"],
    "/flows/{name}": ["/flows/invoice_extraction", "/flows/employee_onboarding"],
    "/flows/{name}/inbox": ["/flows/employee_onboarding/inbox"],
    "/flows/{name}/inbox/{token}": ["/flows/employee_onboarding/inbox/0a"],
    **{
        f"/flows/{{name}}/inbox/{{token}}/{action}": [
            f"/flows/employee_onboarding/inbox/0a/{action}"
        ]
        for action in ("cells", "submit", "discard")
    },
    "/flows/{name}/runs/{dag_run_id:path}": [
        "/flows/invoice_extraction/runs/manual__1",
        "/flows/employee_onboarding/runs/manual__1",
    ],
    "/steps/{number}": ["/steps/1", "/steps/2"],
    "/steps/{number}/files/{name}": ["/steps/1/files/totals.csv", "/steps/2/files/rejected.csv"],
    "/drops/{number}": ["/drops/1"],
    "/drops/{number}/undo": ["/drops/1/undo"],
    "/drops/{number}/plans/{plan}": ["/drops/1/plans/a1"],
    "/drops/{number}/files/{name}": ["/drops/1/files/rejected.csv"],
    "/static/{name}": ["/static/board.css", "/static/board.js"],
    "/{path:path}": ["/openapi.json", "/docs", "/nothing"],
}
"""Addresses of every route."""
ALL_PATHS = [path for paths in PATHS.values() for path in paths]
ONBOARDING = {
    "/flows/employee_onboarding",
    "/flows/employee_onboarding/inbox",
    "/flows/employee_onboarding/inbox/0a",
    "/flows/employee_onboarding/runs/manual__1",
    "/steps/2",
    "/steps/2/files/rejected.csv",
    "/drops/1",
    "/drops/1/plans/a1",
    "/drops/1/files/rejected.csv",
}
PERSONAL = {
    "/flows/employee_onboarding/inbox",
    "/flows/employee_onboarding/inbox/0a",
    "/steps/2/files/rejected.csv",
    "/drops/1/plans/a1",
    "/drops/1/files/rejected.csv",
}

pytestmark = pytest.mark.usefixtures("report")


def statuses(client: TestClient) -> dict[str, int]:
    return {path: client.get(f"/bms{path}").status_code for path in ALL_PATHS}


def expected(path: str) -> int:
    if path in PATHS["/{path:path}"] or path in PATHS["/drops/{number}/plans/{plan}"]:
        return 404  # the drop has no plan of this id
    if "/inbox/" in path or path.endswith("/undo"):
        return 404  # no such upload; the others are not read
    return 303 if path in PATHS["/steps/{number}"] else 200


def test_the_app_guards_every_route() -> None:
    """A mount or a plain route would bypass the app's dependency."""
    assert {type(route) for route in app.routes} == {APIRoute}
    assert {route.path for route in app.routes if isinstance(route, APIRoute)} == PATHS.keys()


def test_a_request_without_a_token_gets_no_page(visit: Visit) -> None:
    assert statuses(visit()) == dict.fromkeys(ALL_PATHS, 401)


def test_a_foreign_token_is_rejected(visit: Visit) -> None:
    client = visit()
    client.headers["Authorization"] = "Bearer made.up.token"
    assert set(statuses(client).values()) <= {401, 403}


def test_a_user_without_permissions_gets_no_page(visit: Visit) -> None:
    assert statuses(visit("nobody")) == dict.fromkeys(ALL_PATHS, 403)


@pytest.mark.parametrize("user", ["viewer", ANONYMOUS])
def test_a_viewer_of_every_dag_gets_everything_except_personal_files(
    visit: Visit, user: str
) -> None:
    """An anonymous user reads no personal data even as an administrator: the log could not name the reader."""
    assert statuses(visit(user)) == {
        path: 403 if path in PERSONAL else expected(path) for path in ALL_PATHS
    }


def test_an_editor_of_every_dag_gets_everything(visit: Visit) -> None:
    assert statuses(visit("user")) == {path: expected(path) for path in ALL_PATHS}


def test_a_viewer_of_one_dag_gets_nothing_of_other_dags(visit: Visit) -> None:
    clerk = visit("clerk")
    assert statuses(clerk) == {
        path: 403 if path in ONBOARDING else expected(path) for path in ALL_PATHS
    }
    page = clerk.get("/bms/").text
    assert "Client invoices" in page
    assert "New employees" not in page
    assert clerk.get("/bms/health").json()["flows"].keys() == {"invoice_extraction"}


def test_the_health_report_has_alarms_of_permitted_dags_only(
    visit: Visit, warehouse: Engine
) -> None:
    with warehouse.begin() as connection:
        for subject, flow in (
            ("employee_onboarding drop 12", "employee_onboarding"),
            ("invoice_extraction", "invoice_extraction"),
        ):
            alarms.raise_(connection, "failed", subject, detail="x", flow=flow)
    subjects = {
        name: [each["subject"] for each in visit(name).get("/bms/health").json()["alarms"]]
        for name in ("clerk", "recruiter")
    }
    assert subjects == {
        "clerk": ["invoice_extraction"],
        "recruiter": ["employee_onboarding drop 12", "invoice_extraction"],
    }


def test_the_overview_shows_alarms_of_permitted_dags_only(visit: Visit, warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        for flow in ("employee_onboarding", "invoice_extraction"):
            alarms.raise_(connection, "failed", flow, detail=f"seen in {flow}", flow=flow)
        alarms.raise_(connection, "no_slots", "pool", detail="seen in no flow")
    shown = {
        name: set(re.findall(r"seen in (\w+)", visit(name).get("/bms/").text))
        for name in ("clerk", "recruiter")
    }
    assert shown == {
        "clerk": {"invoice_extraction", "no"},
        "recruiter": {"invoice_extraction", "employee_onboarding", "no"},
    }


def test_an_editor_of_one_dag_gets_its_personal_files(visit: Visit) -> None:
    assert statuses(visit("recruiter")) == {path: expected(path) for path in ALL_PATHS}


def test_a_bearer_token_works_like_the_cookie(visit: Visit) -> None:
    token = visit("viewer").cookies["_token"]
    client = visit()
    client.headers["Authorization"] = f"Bearer {token}"
    assert client.get("/bms/").status_code == 200


def test_only_editors_see_the_name_of_a_dropped_file(visit: Visit) -> None:
    """A file name may be personal data."""
    assert "Canari.csv" not in visit("viewer").get("/bms/drops/1").text
    assert "Canari.csv" in visit("user").get("/bms/drops/1").text
