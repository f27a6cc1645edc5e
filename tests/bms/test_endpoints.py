"""Tests of the table of operations against the interface ("Endpoints")."""

import pytest

from bms.endpoints import BY_NAME, ENDPOINTS

INTERFACE = """
POST /v1/token -
POST /v1/HR/employees write:employee
GET /v1/HR/employees read:employee
GET /v1/HR/employees/{guid_employee} read:employee
GET /v1/ERP/invoices/clients read:invoice_client
GET /v1/CRM/contacts read:contact
GET /v1/CRM/contacts/{id_contact} read:contact
POST /v1/CRM/contacts write:contact
GET /v1/CRM/Consultants read:consultant
GET /v1/CRM/Consultants/{id_consultant} read:consultant
POST /v1/CRM/Consultants write:consultant
"""


def test_the_table_matches_the_interface() -> None:
    written = [f"{e.method} {e.path} {e.scope or '-'}" for e in ENDPOINTS]
    assert written == INTERFACE.strip().splitlines()


def test_only_the_lists_of_contacts_and_consultants_are_paged() -> None:
    assert {e.name for e in ENDPOINTS if e.paged} == {"list_contacts", "list_consultants"}


def test_only_creations_are_not_idempotent() -> None:
    unsafe = {e.name for e in ENDPOINTS if not e.idempotent}
    assert unsafe == {"create_employee", "create_contact", "create_consultant"}


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(ENDPOINTS) == 11


@pytest.mark.parametrize(("value", "written"), [(12, "12"), ("a/b ?é", "a%2Fb%20%3F%C3%A9")])
def test_path_values_are_quoted(value: int | str, written: str) -> None:
    path = BY_NAME["read_contact"].fill({"id_contact": value})
    assert path == f"/v1/CRM/contacts/{written}"
