"""Tests of the table of operations against the interface ("Endpoints")."""

import pytest

from bms.endpoints import BY_NAME, ENDPOINTS

INTERFACE = """
POST /v1/token - repeatable
POST /v1/HR/employees write:employee once
GET /v1/HR/employees read:employee repeatable
GET /v1/HR/employees/{guid_employee} read:employee repeatable
GET /v1/ERP/invoices/clients read:invoice_client repeatable
GET /v1/CRM/contacts read:contact repeatable paged
GET /v1/CRM/contacts/{id_contact} read:contact repeatable
POST /v1/CRM/contacts write:contact once
GET /v1/CRM/Consultants read:consultant repeatable paged
GET /v1/CRM/Consultants/{id_consultant} read:consultant repeatable
POST /v1/CRM/Consultants write:consultant once
"""
"""The operations as the interface describes them, written a second time."""


def test_the_table_matches_the_interface() -> None:
    written = {
        f"{e.method} {e.path} {e.scope or '-'} {'repeatable' if e.idempotent else 'once'}"
        + " paged" * e.paged
        for e in ENDPOINTS
    }
    assert written == {*INTERFACE.strip().splitlines()}, "add the new operation to INTERFACE, too"
    assert len(written) == len(ENDPOINTS)


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(ENDPOINTS)


@pytest.mark.parametrize(("value", "written"), [(12, "12"), ("a/b ?é", "a%2Fb%20%3F%C3%A9")])
def test_path_values_are_quoted(value: int | str, written: str) -> None:
    path = BY_NAME["read_contact"].fill({"id_contact": value})
    assert path == f"/v1/CRM/contacts/{written}"
