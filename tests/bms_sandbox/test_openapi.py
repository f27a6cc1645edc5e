"""The published document, operation by operation and field by field, against the interface.

The tables below are transcribed from the interface's text, not from the program.
"""

import json
import re
import urllib.request
from typing import Any

import pytest

from bms_sandbox.serve import Sandbox

TEXT, FLAG, DATE, UUID = "string", "boolean", "string:date", "string:uuid"
LONG, INT = "integer:int64", "integer:int32"


def table(text: str) -> dict[str, str]:
    """Read `a, b: type; c: type` with the dots of mission1 .. mission6."""
    fields = dict[str, str]()
    for part in filter(None, (p.strip() for p in text.split(";"))):
        names, _, kind = part.partition(": ")
        for name in names.split(","):
            first, dots, last = name.strip().partition(" .. ")
            if dots:
                stem = re.sub(r"\d+$", "", first)
                numbers = range(int(first[len(stem) :]), int(last[len(stem) :]) + 1)
                fields |= {f"{stem}{n}": kind.strip() for n in numbers}
            else:
                fields[first] = kind.strip()
    return fields


TOKEN_REQUEST = table("client_id: string; application_id: string; secret: string")
TOKEN_RESPONSE = table(
    "access_token: string; token_type: string; expires_in: integer; scope: [string]"
)
SALARY_VARIABLE = table("type: string; value: number; criteria: string; payment_date_code: integer")
MISSIONS = table("mission1 .. mission6: string")
EMPLOYEE_CREATION = table("""
    id_entity: integer; salutation_code: string; first_name, last_name: string;
    preferred_first_name, preferred_last_name: string; payroll_number: string;
    start_date: string:date;
    end_date_trial_first_period, end_date_trial_second_period: string:date;
    department_code, department_service, job_title: string;
    category_code, contract_type_code: string; activity_rate: integer;
    status_code, status_position, status_factor: string; salary_base: number;
    salary_variable: [salary_variable]; salary_other: string; skills: string; missions: {missions};
    address, postal_code, city, country: string;
    personal_email, personal_mobile_phone, personal_landline_phone: string;
    business_email, business_mobile_phone, business_landline_phone: string;
    birth_date, birth_city, birth_country, nationality: string; social_security_number: string;
    resident_permit_number: string; resident_permit_expiration_date: string:date;
    id_manager: integer; affiliated_company: string;
    is_salesperson, is_consultant, has_timesheets: boolean; timesheets_frequency_code: integer;
    emergency_contacts: string; meal_vouchers_count: integer;
    has_portal_access, exclude_from_directory, has_overtime, use_vehicle: boolean;
    vehicle_type_code, vehicle_tax_horsepower_code, vehicle_registration_number: string;
    vehicle_price_per_km: number
""")
EMPLOYEE_CREATED = table("guid_employee: string:uuid; id_employee: integer; is_standby: boolean")
EMPLOYEE_DETAIL = table("""
    guid_employee: string:uuid; id_employee, reference_number: integer;
    salutation_code, last_name, preferred_last_name, first_name, preferred_first_name: string;
    department_code, department_service, affiliated_company: string; id_manager: integer;
    job_title, payroll_number, category_code, contract_type_code, status_code, status_position,
    status_factor: string;
    birth_date, birth_city, birth_country, nationality: string;
    resident_permit_number, resident_permit_expiration_date: string;
    business_landline_phone, personal_landline_phone, business_mobile_phone,
    personal_mobile_phone, business_email, personal_email: string;
    address, postal_code, city, country: string;
    social_security_number, emergency_contacts: string;
    start_date, end_date_trial_first_period, end_date_trial_second_period, departure_date,
    departure_estimated_date: string;
    mission1 .. mission6, skills: string; is_salesperson, is_consultant, has_timesheets: boolean;
    timesheets_frequency_code: integer; has_portal_access, exclude_from_directory: boolean;
    meal_vouchers_count: integer; use_vehicle: boolean;
    vehicle_type_code, vehicle_tax_horsepower_code, vehicle_registration_number: string;
    vehicle_price_per_km: number; has_overtime: boolean; activity_rate, id_entity: integer;
    is_standby: boolean; created_on, modified_on, validated_on: string:date-time;
    created_by, modified_by, validated_by: integer
""")
EMPLOYEE_ITEM = table("""
    guid_employee: string; id_employee: integer; reference_number: integer; is_standby: boolean;
    salutation_code, first_name, last_name, payroll_number, business_mobile_phone, business_email,
    job_title, department_code, department_service, category_code: string;
    is_salesperson, is_consultant: boolean;
    start_date, departure_date, departure_estimated_date: string;
    created_on, modified_on, validated_on: string; created_by, modified_by, validated_by: integer
""")
CONTACT_CREATION = table("""
    first_name, last_name, business_title, email: string;
    phone_mobile_number, phone_number, phone_other_number, fax_number: string;
    address, postal_code, city, country: string;
    exclude_from_emailing, send_greetings_card: boolean; greetings_card_details: string;
    is_lead: boolean; origin, signal: string; contact_domains: [integer];
    notes, imported_company_name: string; id_client: integer
""")
CONTACT_DETAIL = table("""
    id: integer; first_name, last_name, business_title, email, phone_mobile_number, phone_number,
    fax_number, address, postal_code, city, country: string;
    exclude_from_emailing, send_greetings_card: boolean; greetings_card_details: string;
    is_lead: boolean; origin, signal: string; domains: [integer];
    notes, imported_company_name: string; id_client, id_account_manager: integer;
    active, deleted: boolean; created_on, modified_on, deleted_on: string;
    created_by, modified_by, deleted_by: integer
""")
CONTACT_ITEM = table("""
    id: integer; first_name, last_name, business_title, email, phone_mobile_number, postal_code,
    city, country: string; exclude_from_emailing, send_greetings_card, is_lead: boolean;
    origin, signal, imported_company_name: string; id_client, id_account_manager: integer;
    actif, deleted: boolean; created_on: string; created_by: integer; modified_on: string;
    modified_by: integer; deleted_on: string; deleted_by: integer
""")
CONSULTANT_SKILL = table("id: integer; level: integer; favorite: boolean")
CONSULTANT_LANGUAGE = table("code: string; level: integer")
CONSULTANT_CREATION = table("""
    first_name, last_name, type: string; affinity: integer; rate: number;
    availability_date: string; birth_year, work_start_year: integer; professional_profile: string;
    skills: [skill]; languages: [language];
    address, postal_code, city, country, phone_number, phone_mobile_number, email: string;
    no_emails, no_sms: boolean; id_client: integer; notes, custom1 .. custom5: string
""")
CONSULTANT_DETAIL = table("""
    id: integer; first_name, last_name, type: string; affinity: integer; rate: number;
    currency: string; availability_date: string; birth_year, work_start_year: integer;
    professional_profile: string; skills: [skill]; languages: [language];
    address, postal_code, city, country, phone_number, phone_mobile_number, email: string;
    no_emails, no_sms: boolean; id_client: integer; notes, custom1 .. custom5: string;
    active: boolean; created_on, modified_on: string; created_by, modified_by: integer
""")
NOT_LISTED = {"professional_profile", "address", "notes", *(f"custom{n}" for n in range(1, 6))}
CONSULTANT_ITEM = {n: k for n, k in CONSULTANT_DETAIL.items() if n not in NOT_LISTED}
INVOICE_ITEM = table("""
    id_invoice: integer; reference_number: string; invoice_date, due_date: string;
    invoice_type, invoice_type_name: string; id_client: integer;
    client_name, po_number, vat_number, invoice_subject: string;
    total_excl_vat, total_vat, total_incl_vat, total_due: number; currency: string;
    payment_mode, payment_mode_name: string; status, status_name: string;
    id_account_manager: integer; created_on: string; created_by: integer; canceled: boolean;
    canceled_on: string; canceled_by: integer; id_credit: integer; sent: boolean; sent_on: string;
    sent_by: integer
""")
NESTED = {
    "salary_variable": SALARY_VARIABLE,
    "missions": MISSIONS,
    "skill": CONSULTANT_SKILL,
    "language": CONSULTANT_LANGUAGE,
    "contact_item": CONTACT_ITEM,
    "consultant_item": CONSULTANT_ITEM,
}
CONTACT_PAGE = {"total_pages": "integer", "data": "[contact_item]"}
CONSULTANT_PAGE = {"total_pages": "integer", "data": "[consultant_item]"}

# name -> (type, required, default, values)
EMPLOYEE_QUERY = {
    "id_entity": (LONG, True, None, None),
    "filter": (TEXT, False, None, ["ACTIVE", "STANDBY", "FORMER", "ALL"]),
}
INVOICE_QUERY = {
    "id_entity": (LONG, True, None, None),
    "start_date": (DATE, True, None, None),
    "end_date": (DATE, True, None, None),
    "language": (TEXT, False, None, ["EN", "FR"]),
}
CONTACT_QUERY = {
    "page_number": (INT, False, 1, None),
    "page_size": (INT, False, 100, None),
    "id_client": (INT, False, None, None),
    "filter": (TEXT, True, None, ["ALL", "ACTIVE", "ASSIGNED", "DELETED"]),
    "is_lead": (FLAG, False, None, None),
}
CONSULTANT_QUERY = {
    "page_number": (INT, False, 1, None),
    "page_size": (INT, False, 100, None),
    "id_client": (INT, False, None, None),
    "type": (TEXT, False, None, None),
}
# method, path, scope, parameters, body, answer (a list: a bare array of it; None: not shown)
OPERATIONS: list[tuple[str, str, str | None, dict[str, Any], Any, Any]] = [
    ("post", "/v1/token", None, {}, TOKEN_REQUEST, TOKEN_RESPONSE),
    ("post", "/v1/HR/employees", "write:employee", {}, EMPLOYEE_CREATION, EMPLOYEE_CREATED),
    ("get", "/v1/HR/employees", "read:employee", EMPLOYEE_QUERY, None, [EMPLOYEE_ITEM]),
    (
        "get",
        "/v1/HR/employees/{guid_employee}",
        "read:employee",
        {"guid_employee": (UUID, True, None, None)},
        None,
        EMPLOYEE_DETAIL,
    ),
    (
        "get",
        "/v1/ERP/invoices/clients",
        "read:invoice_client",
        INVOICE_QUERY,
        None,
        [INVOICE_ITEM],
    ),
    ("get", "/v1/CRM/contacts", "read:contact", CONTACT_QUERY, None, CONTACT_PAGE),
    (
        "get",
        "/v1/CRM/contacts/{id_contact}",
        "read:contact",
        {"id_contact": (INT, True, None, None)},
        None,
        CONTACT_DETAIL,
    ),
    ("post", "/v1/CRM/contacts", "write:contact", {}, CONTACT_CREATION, None),
    ("get", "/v1/CRM/Consultants", "read:consultant", CONSULTANT_QUERY, None, CONSULTANT_PAGE),
    (
        "get",
        "/v1/CRM/Consultants/{id_consultant}",
        "read:consultant",
        {"id_consultant": (INT, True, None, None)},
        None,
        CONSULTANT_DETAIL,
    ),
    ("post", "/v1/CRM/Consultants", "write:consultant", {}, CONSULTANT_CREATION, None),
]
IDS = [f"{method} {path}" for method, path, *_ in OPERATIONS]


@pytest.fixture(scope="module")
def document(service: Sandbox) -> dict[str, Any]:
    with urllib.request.urlopen(f"{service.url}/openapi.json") as answer:  # noqa: S310 -> our own address
        published: dict[str, Any] = json.load(answer)
    return published


class Reader:
    """Read schemas of a document in the notation of the tables."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            node: Any = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                node = node[part]
            schema = node
        kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
        return self.resolved(kinds[0]) if kinds else schema

    def check(self, schema: dict[str, Any], expected: Any) -> None:
        schema = self.resolved(schema)
        if isinstance(expected, list):
            assert schema["type"] == "array"
            self.check(schema["items"], expected[0])
        elif isinstance(expected, dict):
            assert schema["type"] == "object"
            assert sorted(schema["properties"]) == sorted(expected)
            for name, kind in expected.items():
                self.check(schema["properties"][name], kind)
        elif expected.startswith("["):
            inner = expected[1:-1]
            self.check(schema, [NESTED.get(inner, inner)])
        elif expected.startswith("{"):
            self.check(schema, NESTED[expected[1:-1]])
        else:
            kind, _, form = expected.partition(":")
            assert (schema["type"], schema.get("format", "")) == (kind, form)


@pytest.fixture(scope="module")
def reader(document: dict[str, Any]) -> Reader:
    return Reader(document)


def test_document_has_the_described_operations_and_no_other(document: dict[str, Any]) -> None:
    published = {(m, path) for path, methods in document["paths"].items() for m in methods}
    described = {(method, path) for method, path, *_ in OPERATIONS}
    assert published == described, "describe the new operation in OPERATIONS, too"


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_operation_is_published_as_described(reader: Reader, operation: Any) -> None:
    method, path, scope, parameters, body, answer = operation
    published = reader.document["paths"][path][method]
    assert published["security"] == [{"bearer": [scope] if scope else []}]
    found = {p["name"]: p for p in published.get("parameters", [])}
    assert set(found) == set(parameters)
    for name, (kind, required, default, values) in parameters.items():
        parameter = found[name]
        schema = reader.resolved(parameter["schema"])
        assert parameter["in"] == ("path" if f"{{{name}}}" in path else "query")
        assert parameter["required"] is required
        assert parameter["schema"].get("default") == default
        assert schema.get("enum") == values
        reader.check(parameter["schema"], kind)
    if body is None:
        assert "requestBody" not in published
    else:
        assert list(published["requestBody"]["content"]) == ["application/json"]
        reader.check(published["requestBody"]["content"]["application/json"]["schema"], body)
    content = published["responses"]["200"]["content"]
    assert list(content) == ["application/json"]
    if answer is None:
        assert content["application/json"]["schema"] == {}
    else:
        reader.check(content["application/json"]["schema"], answer)


def test_bearer_is_a_jwt_in_the_authorization_header(document: dict[str, Any]) -> None:
    scheme = document["components"]["securitySchemes"]["bearer"]
    assert (scheme["type"], scheme["scheme"], scheme["bearerFormat"]) == ("http", "bearer", "JWT")
