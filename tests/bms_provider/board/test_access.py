"""Every route asks who is there, and each flow's for the right to its DAG."""

from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from bms_provider.board.app import app
from tests.bms_provider.board.conftest import Visit

PLACES = ["/", "/static/board.css", "/openapi.json", "/docs", "/nothing", "/static/../app.py"]


def test_every_route_is_one_that_the_app_s_own_dependency_guards() -> None:
    """A mount or a plain route would answer without asking."""
    assert app.routes
    assert {type(route) for route in app.routes} == {APIRoute}


def answers(client: TestClient) -> dict[str, int]:
    return {path: client.get(f"/bms{path}").status_code for path in PLACES}


def test_without_a_token_nothing_is_answered(visit: Visit) -> None:
    assert answers(visit()) == dict.fromkeys(PLACES, 401)


def test_without_a_right_nothing_is_answered(visit: Visit) -> None:
    assert answers(visit("NOBODY")) == dict.fromkeys(PLACES, 403)


def test_a_viewer_sees_the_board(visit: Visit) -> None:
    answer = visit("VIEWER").get("/bms/")
    assert answer.status_code == 200
    assert "Client invoices" in answer.text
