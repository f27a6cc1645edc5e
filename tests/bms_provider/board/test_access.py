"""Every route asks who is there, and each flow's for the right to its DAG."""

import re

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from bms_flows.monitoring import alarms
from bms_provider.board.routes import app
from tests.bms_provider.board.conftest import Visit

PLACES = {
    "/": ["/"],
    "/health": ["/health"],
    "/flows/{name}": ["/flows/invoice_extraction", "/flows/employee_onboarding"],
    "/flows/{name}/runs/{dag_run_id:path}": [
        "/flows/invoice_extraction/runs/manual__1",
        "/flows/employee_onboarding/runs/manual__1",
    ],
    "/steps/{number}": ["/steps/1", "/steps/2"],
    "/steps/{number}/files/{name}": ["/steps/1/files/totals.csv", "/steps/2/files/rejected.csv"],
    "/drops/{number}": ["/drops/1"],
    "/drops/{number}/files/{name}": ["/drops/1/files/rejected.csv"],
    "/static/{name}": ["/static/board.css", "/static/board.js"],
    "/{path:path}": ["/openapi.json", "/docs", "/nothing"],
}
"""Addresses of every route."""
EVERY = [place for places in PLACES.values() for place in places]
ONBOARDING = {
    "/flows/employee_onboarding",
    "/flows/employee_onboarding/runs/manual__1",
    "/steps/2",
    "/steps/2/files/rejected.csv",
    "/drops/1",
    "/drops/1/files/rejected.csv",
}
PERSONAL = {"/steps/2/files/rejected.csv", "/drops/1/files/rejected.csv"}

pytestmark = pytest.mark.usefixtures("report")


def answers(client: TestClient) -> dict[str, int]:
    return {place: client.get(f"/bms{place}").status_code for place in EVERY}


def found(place: str) -> int:
    if place in PLACES["/{path:path}"]:
        return 404
    return 303 if place in PLACES["/steps/{number}"] else 200


def test_every_route_is_guarded_by_the_app_and_asked_here() -> None:
    """A mount or a plain route would answer without asking."""
    assert {type(route) for route in app.routes} == {APIRoute}
    assert {route.path for route in app.routes if isinstance(route, APIRoute)} == PLACES.keys()


def test_without_a_token_nothing_is_answered(visit: Visit) -> None:
    assert answers(visit()) == dict.fromkeys(EVERY, 401)


def test_a_token_that_isnt_airflow_s_opens_nothing(visit: Visit) -> None:
    client = visit()
    client.headers["Authorization"] = "Bearer made.up.token"
    assert set(answers(client).values()) <= {401, 403}


def test_without_a_right_nothing_is_answered(visit: Visit) -> None:
    assert answers(visit("nobody")) == dict.fromkeys(EVERY, 403)


def test_who_may_view_every_dag_sees_all_but_personal_files(visit: Visit) -> None:
    assert answers(visit("viewer")) == {
        place: 403 if place in PERSONAL else found(place) for place in EVERY
    }


def test_who_may_edit_every_dag_sees_all(visit: Visit) -> None:
    assert answers(visit("user")) == {place: found(place) for place in EVERY}


def test_who_may_view_one_dag_sees_nothing_of_another(visit: Visit) -> None:
    clerk = visit("clerk")
    assert answers(clerk) == {
        place: 403 if place in ONBOARDING else found(place) for place in EVERY
    }
    page = clerk.get("/bms/").text
    assert "Client invoices" in page
    assert "New employees" not in page
    assert clerk.get("/bms/health").json()["flows"].keys() == {"invoice_extraction"}


def test_an_alarm_is_for_those_who_may_view_its_dag(visit: Visit, warehouse: Engine) -> None:
    """Whatever it is about: a drop, a day, a setting."""
    with warehouse.begin() as connection:
        for subject, flow in (
            ("employee_onboarding drop 12", "employee_onboarding"),
            ("invoice_extraction", "invoice_extraction"),
        ):
            alarms.raise_(connection, "failed", subject, detail="x", flow=flow)
    told = {
        name: [each["subject"] for each in visit(name).get("/bms/health").json()["alarms"]]
        for name in ("clerk", "recruiter")
    }
    assert told == {
        "clerk": ["invoice_extraction"],
        "recruiter": ["employee_onboarding drop 12", "invoice_extraction"],
    }


def test_the_overview_shows_an_alarm_to_those_who_may_view_its_dag(
    visit: Visit, warehouse: Engine
) -> None:
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


def test_the_right_to_edit_one_dag_opens_its_personal_files(visit: Visit) -> None:
    assert answers(visit("recruiter")) == {place: found(place) for place in EVERY}


def test_a_bearer_token_does_as_well_as_the_cookie(visit: Visit) -> None:
    token = visit("viewer").cookies["_token"]
    client = visit()
    client.headers["Authorization"] = f"Bearer {token}"
    assert client.get("/bms/").status_code == 200


def test_the_name_of_a_dropped_file_is_for_those_who_may_edit(visit: Visit) -> None:
    """It may be a person's."""
    assert "Canari.csv" not in visit("viewer").get("/bms/drops/1").text
    assert "Canari.csv" in visit("user").get("/bms/drops/1").text
