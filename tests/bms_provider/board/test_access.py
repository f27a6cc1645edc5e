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


@pytest.mark.parametrize(
    ("user", "forbidden"),
    [
        ("viewer", PERSONAL),
        (ANONYMOUS, PERSONAL),
        ("user", set()),
        ("clerk", ONBOARDING),
        ("recruiter", set()),
    ],
)
def test_personal_files_need_an_editor_and_pages_of_a_dag_its_viewer(
    visit: Visit, user: str, forbidden: set[str]
) -> None:
    """An anonymous user reads no personal data even as an administrator: the log could not name the reader."""
    assert statuses(visit(user)) == {
        path: 403 if path in forbidden else expected(path) for path in ALL_PATHS
    }


def test_a_viewer_of_one_dag_gets_nothing_of_other_dags(visit: Visit) -> None:
    clerk = visit("clerk")
    page = clerk.get("/bms/").text
    assert "Client invoices" in page
    assert "New employees" not in page
    assert clerk.get("/bms/health").json()["flows"].keys() == {"invoice_extraction"}


@pytest.mark.parametrize(
    ("user", "flows"),
    [
        ("clerk", {"invoice_extraction"}),
        ("recruiter", {"invoice_extraction", "employee_onboarding"}),
    ],
)
def test_alarms_of_permitted_dags_only_are_shown(
    visit: Visit, warehouse: Engine, user: str, flows: set[str]
) -> None:
    with warehouse.begin() as connection:
        for flow in ("employee_onboarding", "invoice_extraction"):
            alarms.raise_(connection, "failed", f"{flow} 12", detail=f"seen in {flow}", flow=flow)
        alarms.raise_(connection, "no_slots", "pool", detail="seen in no flow")
    client = visit(user)
    assert {*re.findall(r"seen in (\w+)", client.get("/bms/").text)} == flows | {"no"}
    reported = {alarm["subject"] for alarm in client.get("/bms/health").json()["alarms"]}
    assert reported - {"pool"} == {f"{flow} 12" for flow in flows}


def test_a_bearer_token_works_like_the_cookie(visit: Visit) -> None:
    token = visit("viewer").cookies["_token"]
    client = visit()
    client.headers["Authorization"] = f"Bearer {token}"
    assert client.get("/bms/").status_code == 200


def test_only_editors_see_the_name_of_a_dropped_file(visit: Visit) -> None:
    """A file name may be personal data."""
    for page in ("/bms/drops/1", "/bms/flows/employee_onboarding"):
        assert "Canari.csv" not in visit("viewer").get(page).text
        assert "Canari.csv" in visit("recruiter").get(page).text
