"""Tokens over HTTP: issue, scopes, expiry and revocation."""

import base64
import json
import time
from typing import Any

import pytest

from bms_sandbox.dialect import SCOPES
from bms_sandbox.serve import Sandbox
from tests.bms_sandbox.caller import Caller

NEEDS = {
    "write:employee": ("POST", "/v1/HR/employees"),
    "read:employee": ("GET", "/v1/HR/employees?id_entity=1"),
    "read:invoice_client": (
        "GET",
        "/v1/ERP/invoices/clients?id_entity=1&start_date=2026-03-30&end_date=2026-03-30",
    ),
    "read:contact": ("GET", "/v1/CRM/contacts?filter=ALL"),
    "write:contact": ("POST", "/v1/CRM/contacts"),
    "read:consultant": ("GET", "/v1/CRM/Consultants"),
    "write:consultant": ("POST", "/v1/CRM/Consultants"),
}
BODY = {"id_entity": 1, "first_name": "Zoé", "last_name": "Noël"}


def claims(token: str) -> Any:
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def ask(caller: Caller, scope: str) -> int:
    method, path = NEEDS[scope]
    return caller.call(method, path, BODY if method == "POST" else None).status


def test_a_response_has_four_fields(caller: Caller) -> None:
    answer = caller.login().json()
    assert set(answer) == {"access_token", "token_type", "expires_in", "scope"}
    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 3600)
    assert sorted(answer["scope"]) == sorted(NEEDS), "add the new scope to NEEDS, too"
    assert abs(claims(answer["access_token"])["exp"] - time.time() - 3600) < 60


@pytest.mark.parametrize("field", ["client_id", "application_id", "secret"])
def test_wrong_credential_is_401_and_missing_one_422(caller: Caller, field: str) -> None:
    assert caller.login(**{field: "é"}).status == 401
    assert caller.post("/v1/token", {field: "x"}).status == 422


@pytest.mark.parametrize("scope", SCOPES)
def test_each_operation_requires_exactly_its_scope(caller: Caller, scope: str) -> None:
    caller.sandbox.set_dialect(granted_scopes=[scope])
    caller.login()
    statuses = {other: ask(caller, other) for other in NEEDS}
    assert statuses.pop(scope) < 300
    assert set(statuses.values()) == {403}


@pytest.mark.parametrize(
    "header", [{}, {"authorization": "Basic eDp5"}, {"authorization": "Bearer"}]
)
def test_no_bearer_is_401_with_a_challenge(sandbox: Sandbox, header: dict[str, str]) -> None:
    answer = Caller(sandbox).call("GET", "/v1/CRM/contacts/1001", headers=header)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_a_token_expires_after_its_lifetime(caller: Caller) -> None:
    caller.sandbox.set_dialect(token_lifetime=0)
    caller.login()
    assert ask(caller, "read:contact") == 401
    caller.sandbox.set_dialect(token_lifetime=60)
    caller.login()
    assert ask(caller, "read:contact") == 200
    assert caller.sandbox.revoke_tokens() == 3
    assert ask(caller, "read:contact") == 401


@pytest.mark.parametrize(
    ("unit", "expected"), [("seconds", 3600), ("milliseconds", 3_600_000), ("minutes", 60)]
)
def test_unit_of_expires_in(caller: Caller, unit: str, expected: int) -> None:
    caller.sandbox.set_dialect(expires_in_unit=unit)
    assert caller.login().json()["expires_in"] == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [("array", list(SCOPES)), ("space", " ".join(SCOPES)), ("missing", None), ("empty", [])],
)
def test_shape_of_scope(caller: Caller, shape: str, expected: Any) -> None:
    caller.sandbox.set_dialect(scope_shape=shape)
    answer = caller.login().json()
    assert answer.get("scope") == expected
    assert ("scope" in answer) is (shape != "missing")
    assert ask(caller, "read:contact") == 200


@pytest.mark.parametrize(
    ("wanted", "bearer", "status"),
    [
        ("none", "", 200),
        ("any", "", 401),
        ("any", "x", 200),
        ("secret", "x", 401),
        ("secret", "demo-secret", 200),
    ],
)
def test_the_token_operation_returns_a_bearer_token(
    sandbox: Sandbox, wanted: str, bearer: str, status: int
) -> None:
    sandbox.set_dialect(token_bearer=wanted)
    assert Caller(sandbox, token=bearer).login().status == status


def test_a_new_token_revokes_the_previous_one(caller: Caller) -> None:
    caller.sandbox.set_dialect(one_live_token=True)
    caller.login()
    before = Caller(caller.sandbox, token=caller.token)
    caller.login()
    assert [ask(before, "read:contact"), ask(caller, "read:contact")] == [401, 200]


def test_other_dialect_values(caller: Caller) -> None:
    caller.sandbox.set_dialect(exp_claim=False, token_type="JWT", token_status=201)
    answer = caller.login()
    assert answer.status == 201
    assert answer.json()["token_type"] == "JWT"
    assert "exp" not in claims(answer.json()["access_token"])


def test_no_repr_contains_the_secret(sandbox: Sandbox) -> None:
    assert "demo-secret" not in repr(sandbox.credentials)
    assert "demo-secret" not in repr(sandbox)
