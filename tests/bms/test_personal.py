"""Tests of the fields without personal data."""

import msgspec
import pytest

from bms.endpoints import ENDPOINTS
from bms.personal import NON_PERSONAL
from bms.records import BY_OPERATION

PERSONAL_WORDS = {
    *("name", "email", "phone", "fax", "address", "postal", "city", "country", "birth", "notes"),
    *("salary", "rate", "skills", "languages", "nationality", "social", "permit", "mission"),
    *("title", "custom", "company_name", "subject", "vat_number", "greetings_card_details"),
    *("emergency", "registration", "payroll", "salutation", "affinity", "profile"),
}
LABELS = {"status_name", "invoice_type_name", "payment_mode_name"}
FLAGS = {"exclude_from_emailing", "no_emails"}


def fields(operation: str) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(BY_OPERATION[operation])}


def test_every_reading_operation_is_covered() -> None:
    reading = {each.name for each in ENDPOINTS if each.method == "GET"}
    assert reading == {*BY_OPERATION}, "add the record of each reading operation to BY_OPERATION"
    assert {*NON_PERSONAL} <= reading


@pytest.mark.parametrize("operation", NON_PERSONAL)
def test_fields_exist_in_the_record(operation: str) -> None:
    assert NON_PERSONAL[operation] <= fields(operation)


@pytest.mark.parametrize("operation", NON_PERSONAL)
def test_identifiers_are_allowed(operation: str) -> None:
    identifiers = {
        name
        for name in fields(operation)
        if name == "id" or name.startswith(("id_", "guid_")) or name.endswith("_by")
    }
    assert identifiers <= NON_PERSONAL[operation]


@pytest.mark.parametrize("operation", NON_PERSONAL)
def test_no_field_with_a_personal_meaning_is_allowed(operation: str) -> None:
    allowed = NON_PERSONAL[operation] - LABELS - FLAGS
    assert {name for name in allowed if any(word in name for word in PERSONAL_WORDS)} == set()
