"""Requests that the service refuses, of every resource."""

from typing import Any

import pytest

from tests.bms_sandbox.caller import Caller
from tests.bms_sandbox.operations import (
    test_consultants,
    test_contacts,
    test_employees,
    test_invoices,
)

UNKNOWN = "00000000-0000-4000-8000-000000000000"
QUERIES: dict[Any, list[dict[str, Any]]] = {
    test_contacts: [
        {},
        {"filter": "FORMER"},
        {"filter": "all"},
        {"filter": "ALL", "page_number": 0},
        {"filter": "ALL", "page_size": 0},
        {"filter": "ALL", "page_size": 2**31},
        {"filter": "ALL", "is_lead": "perhaps"},
        {"filter": "ALL", "id_client": "x"},
    ],
    test_employees: [{}, {"id_entity": "x"}, {"id_entity": 1, "filter": "DELETED"}],
    test_invoices: [
        {"start_date": "2026-03-01", "end_date": "2026-03-02"},
        {"id_entity": 1, "end_date": "2026-03-02"},
        {"id_entity": 1, "start_date": "2026-03-01"},
        {"id_entity": "x", "start_date": "2026-03-01", "end_date": "2026-03-02"},
        {"id_entity": 2**63, "start_date": "2026-03-01", "end_date": "2026-03-02"},
        {"id_entity": 1, "start_date": "2026-02-30", "end_date": "2026-03-02"},
        {"id_entity": 1, "start_date": "2026-03-01", "end_date": "2026-03-02", "language": "DE"},
    ],
}
BODIES: dict[Any, list[dict[str, Any]]] = {
    test_contacts: [
        {"first_name": None},
        {"last_name": " "},
        {"is_lead": "true"},
        {"contact_domains": ["3"]},
        {"id_client": "104"},
        {"email": 3},
    ],
    test_employees: [
        {"id_entity": None},
        {"id_entity": 9},
        {"id_entity": "1"},
        {"start_date": "01/04/2026"},
        {"start_date": 20260401},
        {"salary_base": "3210.55"},
        {"missions": ["Étude"]},
        {"salary_variable": {"type": "PRIME"}},
        {"is_consultant": "yes"},
        {"last_name": ""},
    ],
    test_consultants: [
        {"rate": "512"},
        {"affinity": 1.5},
        {"skills": [3]},
        {"skills": [{"id": "3"}]},
        {"languages": "BR"},
        {"no_sms": 0},
        {"last_name": None},
    ],
}


@pytest.mark.parametrize(
    ("resource", "query"), [(each, query) for each in QUERIES for query in QUERIES[each]]
)
def test_wrong_query_is_422(caller: Caller, resource: Any, query: dict[str, Any]) -> None:
    assert caller.get(resource.PATH, **query).status == 422


@pytest.mark.parametrize(
    ("resource", "wrong"), [(each, wrong) for each in BODIES for wrong in BODIES[each]]
)
def test_wrong_body_is_422_and_creates_nothing(
    caller: Caller, resource: Any, wrong: dict[str, Any]
) -> None:
    assert caller.post(resource.PATH, resource.GIVEN | wrong).status == 422
    assert not any(caller.sandbox.truth()["created"].values())


@pytest.mark.parametrize(
    ("resource", "key", "status"),
    [
        *(
            (test_contacts, key, status)
            for key, status in ((999_999, 404), ("x", 422), (2**31, 422))
        ),
        *((test_consultants, key, status) for key, status in ((1, 404), ("one", 422))),
        *((test_employees, key, status) for key, status in ((UNKNOWN, 404), (100001, 422))),
    ],
    ids=str,
)
def test_unknown_and_impossible_ids(caller: Caller, resource: Any, key: Any, status: int) -> None:
    assert caller.get(f"{resource.PATH}/{key}").status == status
