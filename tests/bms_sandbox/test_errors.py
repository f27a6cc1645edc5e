"""Error dialects for each status of the service."""

from typing import Any

import pytest

from tests.bms_sandbox.caller import Caller

CASES: dict[int, tuple[str, str, Any]] = {
    401: ("GET", "/v1/CRM/contacts/1001", None),
    403: ("POST", "/v1/CRM/contacts", {"first_name": "Zoé", "last_name": "Noël"}),
    404: ("GET", "/v1/CRM/contacts/1", None),
    422: ("GET", "/v1/CRM/contacts", None),
}


@pytest.mark.parametrize("form", ["json", "problem", "text", "empty"])
@pytest.mark.parametrize("status", CASES)
def test_every_error_follows_the_dialect(caller: Caller, status: int, form: str) -> None:
    caller.sandbox.set_dialect(error_body=form, granted_scopes=["read:contact"])
    caller.login()
    if status == 401:
        caller.token = "not a token"
    method, path, body = CASES[status]
    answer = caller.call(method, path, body)
    assert answer.status == status
    kind = answer.headers.get("content-type", "")
    if form == "json":
        assert kind == "application/json"
        assert set(answer.json()) == {"code", "message", "errors"}
    elif form == "problem":
        assert kind == "application/problem+json"
        assert answer.json()["status"] == status
    elif form == "text":
        assert kind.startswith("text/plain")
        assert len(answer.body) > 5
    else:
        assert (kind, answer.body) == ("", b"")


def test_validation_names_the_fields_at_fault(caller: Caller) -> None:
    answer = caller.get("/v1/CRM/contacts", page_number="x")
    assert {error["field"] for error in answer.json()["errors"]} == {"filter", "page_number"}


def test_no_error_contains_the_request(caller: Caller) -> None:
    body = {"first_name": ["Zoé-Anaïs"], "last_name": 12, "email": {"x": "zoe@noel.example"}}
    answer = caller.post("/v1/CRM/contacts", body)
    assert answer.status == 422
    assert b"Ana" not in answer.body
    assert b"noel.example" not in answer.body


def test_broken_json_is_422(caller: Caller) -> None:
    assert caller.post("/v1/CRM/contacts", b'{"first_name": ').status == 422
