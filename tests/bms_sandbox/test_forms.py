from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from bms_sandbox.dialect import Dialect, InvalidDialectError
from bms_sandbox.forms import FORMS, Forms, InvalidFormError, describe
from tests.bms_sandbox.caller import Caller

MORNING = datetime(2026, 3, 31, 7, 15, 30, tzinfo=UTC)
EMPLOYEE = {
    "id_entity": 1,
    "first_name": "Zoé",
    "last_name": "Noël",
    "payroll_number": "004217",
    "business_email": "Zoe@Noel.example",
    "start_date": "2026-04-01",
}


@pytest.mark.parametrize(
    ("form", "value", "changed"),
    [
        ("trimmed", " a b ", "a b"),
        ("padded", "4217", "4217 "),
        ("lower", "Zoé@X", "zoé@x"),
        ("upper", "Zoé@X", "ZOÉ@X"),
        ("unhyphenated", "a-b-c", "abc"),
        ("ascii", "Zoë Lebœuf", "Zoe Leboeuf"),
        ("without_zeros", "004217", "4217"),
        ("without_zeros", "000", "0"),
        ("zeros:8", "4217", "00004217"),
        ("days:-1", date(2026, 3, 1), date(2026, 2, 28)),
        ("days:1", "2026-03-31T00:00:00+02:00", "2026-04-01T00:00:00+02:00"),
        ("hours:-2", "2026-03-31T09:15:30+02:00", "2026-03-31T07:15:30+02:00"),
        ("naive:Europe/Paris", MORNING, datetime(2026, 3, 31, 9, 15, 30)),  # noqa: DTZ001 -- naive on purpose
        ("naive:UTC", "2026-03-31T09:15:30+02:00", "2026-03-31T07:15:30"),
        ("bit", True, 1),
        ("bit", 7, 7),
        ("text", 12, "12"),
        ("text", Decimal("12.50"), "12.50"),
        ("text", False, "false"),
        ("number", "0012", 12),
        ("number", True, 1),
        ("number", "A12", "A12"),
        ("null", "x", None),
        ("trimmed+lower+zeros:4", " A1 ", "00a1"),
        ("cut:10", "De La Tour-Maubourg", "De La Tour"),
        ("times:-1", Decimal("12.50"), Decimal("-12.50")),
        ("lower", None, None),
        ("lower", 12, 12),
    ],
)
def test_each_form_changes_its_kind_of_value(form: str, value: Any, changed: Any) -> None:
    result = Forms([f"field={form}"]).changed("list_contacts", {"field": value, "other": value})
    assert result == {"field": changed, "other": value}
    assert type(result["field"]) is type(changed)


def test_a_field_can_be_absent_or_renamed() -> None:
    forms = Forms(["a=absent", "b=renamed:c"])
    assert forms.changed("list_contacts", {"a": 1, "b": 2, "d": 3}) == {"c": 2, "d": 3}


def test_a_rule_accepts_patterns_of_operations_and_fields() -> None:
    forms = Forms(["list_*.*_on=null"])
    row = {"created_on": "x", "city": "y"}
    assert forms.changed("list_contacts", row) == {"created_on": None, "city": "y"}
    assert forms.changed("read_contact", row) == row
    assert (forms.touches("list_employees"), forms.touches("read_contact")) == (True, False)


@pytest.mark.parametrize(
    "rule",
    ["email", "=lower", "email=", "email=tiny", "email=zeros:x", "email=lower:3", "x=naive:Mars"],
)
def test_wrong_rules_are_refused(rule: str) -> None:
    with pytest.raises(InvalidFormError):
        Forms([rule])


@pytest.mark.parametrize("form", ["absent", "renamed:x"])
def test_a_row_can_not_be_stored_without_a_field(form: str) -> None:
    with pytest.raises(InvalidDialectError, match="stored_forms"):
        Dialect().changed({"stored_forms": f"email={form}"})


def test_every_form_is_described() -> None:
    assert all(form in describe() for form in FORMS)


def test_a_rule_without_an_operation_applies_to_every_response(caller: Caller) -> None:
    caller.sandbox.set_dialect(shown_forms=["id_employee=text", "total_pages=text"])
    made = caller.post("/v1/HR/employees", EMPLOYEE).json()
    detail = caller.get(f"/v1/HR/employees/{made['guid_employee']}").json()
    assert isinstance(made["id_employee"], str)
    assert detail["id_employee"] == made["id_employee"]
    assert caller.get("/v1/CRM/contacts", filter="ALL").json()["total_pages"] == "3"
