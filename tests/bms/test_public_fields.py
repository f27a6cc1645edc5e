"""Tests of the fields without personal data."""

import pytest

from bms.endpoints import BY_OPERATION, ENDPOINTS
from bms.records.declaration import described, public_fields

PERSONAL_WORDS = {
    *("name", "email", "phone", "fax", "address", "postal", "city", "country", "birth", "notes"),
    *("salary", "rate", "skills", "languages", "nationality", "social", "permit", "mission"),
    *("title", "custom", "company_name", "subject", "vat_number", "greetings_card_details"),
    *("emergency", "registration", "payroll", "salutation", "affinity", "profile"),
}
LABELS = {"status_name", "invoice_type_name", "payment_mode_name"}
FLAGS = {"exclude_from_emailing", "no_emails"}


def fields(operation: str) -> set[str]:
    return {*described(BY_OPERATION[operation])}


def allowed(operation: str) -> frozenset[str]:
    return public_fields(BY_OPERATION[operation])


def test_every_reading_operation_has_a_record() -> None:
    assert {each.name for each in ENDPOINTS if each.method == "GET"} == {*BY_OPERATION}


@pytest.mark.parametrize("operation", BY_OPERATION)
def test_identifiers_are_allowed(operation: str) -> None:
    identifiers = {
        name
        for name in fields(operation)
        if name == "id" or name.startswith(("id_", "guid_")) or name.endswith("_by")
    }
    assert identifiers <= allowed(operation)


@pytest.mark.parametrize("operation", BY_OPERATION)
def test_no_field_with_a_personal_meaning_is_allowed(operation: str) -> None:
    names = allowed(operation) - LABELS - FLAGS
    assert {name for name in names if any(word in name for word in PERSONAL_WORDS)} == set()
