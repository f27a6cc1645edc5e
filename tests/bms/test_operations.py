"""Methods of the clients: signatures for callers and editors, and the requests that follow."""

import ast
import inspect
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from bms import endpoints
from bms.arguments import BadArgument
from bms.client import Client
from bms.endpoints import BY_NAME, ENDPOINTS
from bms.operations import list_query
from bms.sync_client import SyncClient
from bms_flows.onboarding.resources.consultant import CONSULTANT
from bms_flows.onboarding.resources.contact import CONTACT
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.employee import EMPLOYEE

STUB = Path(endpoints.__file__).with_name("signatures.pyi")
CLASSES: dict[str, type] = {"Operations": Client, "SyncOperations": SyncClient}
DAY = date(2026, 3, 2)
RANGE = {"id_entity": 1, "start_date": DAY, "end_date": DAY, "language": None}


@pytest.mark.parametrize("name", CLASSES)
def test_editors_see_the_methods_with_their_parameters(name: str) -> None:
    module = ast.parse(STUB.read_text())
    [shown] = (each for each in module.body if isinstance(each, ast.ClassDef) and each.name == name)
    methods = [e for e in shown.body if isinstance(e, ast.FunctionDef | ast.AsyncFunctionDef)]
    for each in methods:
        signature = inspect.signature(getattr(CLASSES[name], each.name))
        arguments = [*each.args.args, *each.args.kwonlyargs]
        assert [argument.arg for argument in arguments] == [*signature.parameters]
        assert ast.get_docstring(each)
    called = {each.name for each in ENDPOINTS} - {"request_token"}
    pages = {"contact_pages", "consultant_pages"} if name == "SyncOperations" else set()
    assert {each.name for each in methods} == called | pages


@pytest.mark.parametrize(
    ("name", "given", "fault"),
    [
        ("list_contacts", {}, "missing a required argument: 'filter'"),
        ("list_contacts", {"filter": "ALL", "id_clint": 1}, "unexpected keyword argument"),
        ("read_contact", {}, "missing a required argument: 'id_contact'"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_request(
    name: str, given: dict[str, Any], fault: str
) -> None:
    with pytest.raises(TypeError, match=fault):
        getattr(Client, name)(None, **given)


@pytest.mark.parametrize(
    ("operation", "body", "text"),
    [
        (
            "create_contact",
            {"last_name": "Noël", "domains": [3]},
            "domains (perhaps contact_domains)",
        ),
        ("create_contact", {"id_entity": 1, "zzz": 1}, "id_entity, zzz (perhaps id_client)"),
        ("create_consultant", {"Noël Petit": 1}, "…"),
        ("create_employee", {"firstname": "Zoé", 3: 4}, "firstname, 3 (perhaps first_name)"),
    ],
)
def test_a_body_with_an_unknown_field_is_not_sent(
    operation: str, body: dict[Any, Any], text: str
) -> None:
    """Nobody could add the value to the record later: the service has no update."""
    with pytest.raises(BadArgument) as refused:
        getattr(Client, operation)(None, body)
    assert str(refused.value) == f"{operation} has no field {text}; nothing was sent"


@pytest.mark.parametrize("resource", [EMPLOYEE, CONTACT, CONSULTANT], ids=lambda each: each.name)
def test_columns_of_dropped_files_are_fields_of_the_body(resource: Resource) -> None:
    sent = {each.path[0] for each in resource.fields if each.path}
    assert sent == {*BY_NAME[f"create_{resource.name}"].fields}


def test_a_service_that_excludes_the_last_day_is_asked_for_the_next() -> None:
    ends = [
        list_query(BY_NAME["list_client_invoices"], RANGE, end_inclusive=inclusive)["end_date"]
        for inclusive in (True, False)
    ]
    assert ends == ["2026-03-02", "2026-03-03"]


@pytest.mark.parametrize(
    ("name", "given", "accepted"),
    [
        (
            "list_contacts",
            {"filter": "active"},
            "filter takes ALL or ACTIVE or ASSIGNED or DELETED",
        ),
        ("list_contacts", {"filter": None}, "filter takes ALL or ACTIVE"),
        (
            "list_contacts",
            {"filter": "ALL", "page_size": 0},
            "page_size takes a whole number from 1",
        ),
        ("list_contacts", {"filter": "ALL", "is_lead": "no"}, "is_lead takes true or false"),
        ("list_client_invoices", RANGE | {"language": "DE"}, "language takes EN or FR"),
        ("list_client_invoices", RANGE | {"id_entity": None}, "id_entity takes a whole number"),
        ("list_client_invoices", RANGE | {"id_entity": [1, 2]}, "id_entity takes a whole number"),
        ("list_client_invoices", RANGE | {"end_date": datetime(2026, 3, 2)}, "without a time"),  # noqa: DTZ001 - refused in any zone
        ("read_contact", {"id_contact": 1.7}, "id_contact takes a whole number"),
        ("read_contact", {"id_contact": True}, "id_contact takes a whole number"),
        ("create_contact", {"body": {}}, "body takes a dictionary with at least one field"),
        ("create_contact", {"body": "{}"}, "body takes a dictionary"),
    ],
)
def test_an_argument_that_the_service_could_misread_is_refused(
    name: str, given: dict[str, Any], accepted: str
) -> None:
    with pytest.raises(BadArgument, match=accepted):
        getattr(Client, name)(None, **given)
