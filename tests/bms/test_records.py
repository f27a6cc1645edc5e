"""Tests of the record types against tables from the interface ("Resources and their fields")."""

import io
from typing import Any

import pytest
from rich.console import Console

from bms import records
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.records import Record, described

INTERFACE = {
    "ClientInvoice": """
        integer: id_invoice id_client id_account_manager created_by canceled_by id_credit sent_by
        string: reference_number invoice_date due_date invoice_type invoice_type_name client_name
            po_number vat_number invoice_subject currency payment_mode payment_mode_name status
            status_name created_on canceled_on sent_on
        number: total_excl_vat total_vat total_incl_vat total_due
        boolean: canceled sent""",
    "EmployeeItem": """
        string: guid_employee salutation_code first_name last_name payroll_number
            business_mobile_phone business_email job_title department_code department_service
            category_code start_date departure_date departure_estimated_date created_on modified_on
            validated_on
        integer: id_employee reference_number created_by modified_by validated_by
        boolean: is_standby is_salesperson is_consultant""",
    "Employee": """
        string: guid_employee salutation_code last_name preferred_last_name first_name
            preferred_first_name department_code department_service affiliated_company job_title
            payroll_number category_code contract_type_code status_code status_position
            status_factor birth_date birth_city birth_country nationality resident_permit_number
            resident_permit_expiration_date business_landline_phone personal_landline_phone
            business_mobile_phone personal_mobile_phone business_email personal_email address
            postal_code city country social_security_number emergency_contacts start_date
            end_date_trial_first_period end_date_trial_second_period departure_date
            departure_estimated_date mission1 mission2 mission3 mission4 mission5 mission6 skills
            vehicle_type_code vehicle_tax_horsepower_code vehicle_registration_number created_on
            modified_on validated_on
        integer: id_employee reference_number id_manager timesheets_frequency_code
            meal_vouchers_count activity_rate id_entity created_by modified_by validated_by
        number: vehicle_price_per_km
        boolean: is_salesperson is_consultant has_timesheets has_portal_access
            exclude_from_directory use_vehicle has_overtime is_standby""",
    "ContactItem": """
        integer: id id_client id_account_manager created_by modified_by deleted_by
        string: first_name last_name business_title email phone_mobile_number postal_code city
            country origin signal imported_company_name created_on modified_on deleted_on
        boolean: exclude_from_emailing send_greetings_card is_lead actif deleted""",
    "Contact": """
        integer: id id_client id_account_manager created_by modified_by deleted_by
        string: first_name last_name business_title email phone_mobile_number phone_number
            fax_number address postal_code city country greetings_card_details origin signal notes
            imported_company_name created_on modified_on deleted_on
        boolean: exclude_from_emailing send_greetings_card is_lead active deleted
        integers: domains""",
    "ConsultantItem": """
        integer: id affinity birth_year work_start_year id_client created_by modified_by
        string: first_name last_name type currency availability_date postal_code city country
            phone_number phone_mobile_number email created_on modified_on
        number: rate
        boolean: no_emails no_sms active
        objects: skills languages""",
    "Consultant": """
        integer: id affinity birth_year work_start_year id_client created_by modified_by
        string: first_name last_name type currency availability_date professional_profile address
            postal_code city country phone_number phone_mobile_number email notes custom1 custom2
            custom3 custom4 custom5 created_on modified_on
        number: rate
        boolean: no_emails no_sms active
        objects: skills languages""",
}
KINDS = {
    "int": "integer",
    "str": "string",
    "Decimal": "number",
    "bool": "boolean",
    "list[int]": "integers",
    "list[dict[str, typing.Any]]": "objects",
}


def transcribed(table: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    kind = ""
    for word in table.split():
        if word.endswith(":"):
            kind = word.removesuffix(":")
        else:
            fields[word] = kind
    return fields


def built(record_type: type[Record]) -> dict[str, str]:
    found: dict[str, str] = {}
    for field in described(record_type).values():
        text = str(field.type).removeprefix("typing.Annotated[").split(" | ")[0].split(",  ")[0]
        for name, kind in KINDS.items():
            if text in (name, f"<class '{name}'>", f"<class 'decimal.{name}'>", f"decimal.{name}"):
                found[field.name] = kind
        if "Annotated[str, " in str(field.type):
            found[field.name] = "string"
    return found


def resolved(document: Any, schema: Any) -> Any:
    if "$ref" not in schema:
        return schema
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]


def shape(document: Any, schema: Any) -> dict[str, Any]:
    """Return the members of an object, or of the objects in an array."""
    members = resolved(document, schema.get("items", schema))["properties"]
    return dict(members)


def kind_of(document: Any, schema: Any) -> str:
    kind = str(resolved(document, schema)["type"])
    return f"{resolved(document, schema['items'])['type']}s" if kind == "array" else kind


@pytest.mark.parametrize("name", INTERFACE)
def test_a_record_has_the_fields_and_types_of_the_interface(name: str) -> None:
    assert built(getattr(records, name)) == transcribed(INTERFACE[name])


@pytest.mark.parametrize("name", INTERFACE)
def test_only_keys_and_invoice_totals_are_required(name: str) -> None:
    record_type = getattr(records, name)
    required = {name for name, each in described(record_type).items() if each.required}
    totals = set(record_type.amounts()) if name == "ClientInvoice" else set()
    assert required == {record_type.KEY} | totals


@pytest.mark.parametrize("name", INTERFACE)
def test_amounts_are_the_numbers_of_the_interface(name: str) -> None:
    numbers = {f for f, kind in transcribed(INTERFACE[name]).items() if kind == "number"}
    assert set(getattr(records, name).amounts()) == numbers


@pytest.mark.parametrize("operation", BY_OPERATION)
def test_a_record_has_the_fields_and_types_that_the_sandbox_publishes(
    operation: str, published: dict[str, Any]
) -> None:
    endpoint = BY_NAME[operation]
    schema = published["paths"][endpoint.path]["get"]["responses"]["200"]
    members = shape(published, schema["content"]["application/json"]["schema"])
    if endpoint.paged:
        members = shape(published, members["data"])
    found = {name: kind_of(published, member) for name, member in members.items()}
    assert built(BY_OPERATION[operation]) == found, "the record and the sandbox's shape differ"


def test_the_repr_shows_only_type_and_key() -> None:
    contact = records.Contact(id=7, last_name="Canary", email="canary@example.com")
    console = Console(file=io.StringIO())
    console.print(contact)
    for shown in (repr(contact), str(contact), f"{[contact]}", console.file.getvalue()):  # type: ignore[attr-defined]  # the StringIO above
        assert "Contact" in shown
        assert "7" in shown
        assert "anary" not in shown


def test_records_compare_all_fields() -> None:
    make = records.ContactItem
    assert make(id=1, city="Lyon") == make(id=1, city="Lyon") != make(id=1, city="Nice")
