"""Tests of the error types."""

import inspect
import re

import pytest

from bms import errors
from bms.endpoints import BY_NAME
from bms.errors import BmsError, InvalidRecords, error_for, named_fields

EMPLOYEES = BY_NAME["list_employees"]


def test_the_documented_tree_matches_the_classes() -> None:
    documented: dict[str, str] = {}
    parents = {0: "BmsError"}
    for bars, name in re.findall(
        r"^((?:│   |├── |└── )+)(\w+)", errors.__doc__ or "", re.MULTILINE
    ):
        depth = len(bars) // 4
        documented[name] = parents[depth - 1]
        parents[depth] = name
    built = {
        name: kind.__bases__[0].__name__
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, BmsError) and kind is not BmsError
    }
    assert documented == built


@pytest.mark.parametrize(
    ("endpoint", "status", "kind"),
    [
        ("list_employees", 200, None),
        ("list_employees", 204, None),
        ("list_employees", 202, "MalformedResponse"),
        ("list_employees", 206, "MalformedResponse"),
        ("list_contacts", 202, "MalformedResponse"),
        ("list_contacts", 206, None),
        ("list_client_invoices", 206, "RangeRefused"),
        ("create_employee", 202, None),
        ("list_employees", 304, "Redirected"),
        ("list_employees", 400, "Refused"),
        ("list_employees", 401, "Unauthorized"),
        ("list_employees", 403, "Forbidden"),
        ("list_employees", 404, "NotFound"),
        ("list_employees", 408, "ServiceUnavailable"),
        ("list_employees", 421, "ServiceUnavailable"),
        ("create_employee", 423, "ServiceUnavailable"),
        ("create_employee", 425, "ServiceUnavailable"),
        ("list_employees", 422, "Refused"),
        ("list_employees", 429, "Throttled"),
        ("list_employees", 500, "ServiceUnavailable"),
        ("list_employees", 599, "ServiceUnavailable"),
        ("list_client_invoices", 422, "RangeRefused"),
        ("list_client_invoices", 404, "NotFound"),
        ("request_token", 401, "TokenRefused"),
        ("request_token", 403, "TokenRefused"),
        ("request_token", 404, "TokenRefused"),
        ("request_token", 429, "Throttled"),
        ("request_token", 503, "ServiceUnavailable"),
    ],
)
def test_each_status_has_its_error(endpoint: str, status: int, kind: str | None) -> None:
    error = error_for(BY_NAME[endpoint], status, retry_after=3.0)
    assert kind == (error and type(error).__name__)
    if error is not None:
        assert error.status == status
        assert error.endpoint == endpoint
        assert str(status) in str(error)


@pytest.mark.parametrize(
    "body",
    [
        b'{"errors": [{"field": "body.last_name", "message": "is required"}], "value": "first"}',
        b'{"last_name": ["canary@x.example"]}',
        b'[{"loc": ["body", "last_name"]}]',
    ],
)
def test_a_refusal_names_known_fields_of_its_body_and_no_value(body: bytes) -> None:
    fields = named_fields(body, ["first_name", "last_name", "email"])
    text = str(error_for(BY_NAME["create_contact"], 422, None, fields))
    assert text.endswith("refused (422); the response names the fields last_name")
    assert named_fields(b"last_name is missing", ["last_name"]) == []


def test_the_text_includes_known_tries_and_seconds() -> None:
    error = BmsError(EMPLOYEES, "failed")
    assert str(error) == "GET /v1/HR/employees: failed"
    error.tries, error.elapsed = 6, 42.06
    assert str(error) == "GET /v1/HR/employees: failed (tries: 6, seconds: 42.1)"


def test_the_text_names_up_to_ten_invalid_records() -> None:
    error = InvalidRecords(EMPLOYEES, [(i, "total_vat", "bad_type") for i in range(12)])
    assert "12 invalid rows: row 0: total_vat bad_type; row 1:" in str(error)
    assert str(error).endswith("row 9: total_vat bad_type; and 2 more")
