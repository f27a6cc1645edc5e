"""Tests of the table of operations against the sandbox, a second reading of the interface."""

from typing import Any

import pytest

from bms.endpoints import BY_NAME, ENDPOINTS, Endpoint

PAGE = {("page_number", False), ("page_size", False)}


def test_the_table_has_the_operations_that_the_sandbox_publishes(published: Any) -> None:
    operations = {
        (method.upper(), path, *each["security"][0]["bearer"])
        for path, methods in published["paths"].items()
        for method, each in methods.items()
    }
    written = [(e.method, e.path, *([e.scope] if e.scope else [])) for e in ENDPOINTS]
    assert {*written} == operations
    assert len(written) == len(operations)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=str)
def test_an_operation_has_the_parameters_that_the_sandbox_publishes(
    endpoint: Endpoint, published: Any
) -> None:
    described = published["paths"][endpoint.path][endpoint.method.lower()]
    found = {(each["name"], each["required"]) for each in described.get("parameters", [])}
    own = {(each.name, each.required) for each in endpoint.params}
    assert found == own | (PAGE if endpoint.paged else set())
    assert ("requestBody" in described) == (endpoint.method == "POST")


def test_only_creations_change_the_service() -> None:
    """A repeated token request only issues another token."""
    assert {e.name for e in ENDPOINTS if not e.idempotent} == {
        e.name for e in ENDPOINTS if e.method == "POST" and e.name != "request_token"
    }


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(ENDPOINTS)


@pytest.mark.parametrize(("value", "written"), [(12, "12"), ("a/b ?é", "a%2Fb%20%3F%C3%A9")])
def test_path_values_are_quoted(value: int | str, written: str) -> None:
    path = BY_NAME["read_contact"].fill({"id_contact": value})
    assert path == f"/v1/CRM/contacts/{written}"
