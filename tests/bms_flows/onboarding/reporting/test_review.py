"""Decisions on rows in review: which lines are meant, and which records may be chosen for a row."""

from typing import Any

import pytest

from bms_flows.onboarding.reporting.review import InvalidDecision, LineSelection, mismatch
from bms_flows.onboarding.resources.contact import CONTACT as OWN
from bms_flows.onboarding.resources.contact import contact_identity
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.employee import EMPLOYEE, EMPLOYEE_IDENTITY
from bms_flows.onboarding.resources.match_rules import Identity

PERSON = {
    "id_entity": 1,
    "payroll_number": "0042",
    "last_name": "Lefèvre",
    "first_name": "Aurélie",
    "start_date": "2026-05-15",
    "job_title": "Analyste",
}
CONTACT = {
    "last_name": "Lefèvre",
    "first_name": "Aurélie",
    "email": "aurelie@x.example",
    "phone_mobile_number": "06 12 34 56 78",
}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("4", [4]),
        ("3-7, 9", [3, 4, 5, 6, 7, 9]),
        (" 9 ,3 - 4,4", [3, 4, 9]),
        ("2-999999999", [*range(2, 12)]),
        ("all", [*range(2, 12)]),
        ("ALL", [*range(2, 12)]),
    ],
)
def test_lines_are_named_one_by_one_as_ranges_or_all(text: str, lines: list[int]) -> None:
    meant = LineSelection.read(text)
    assert [line for line in range(2, 12) if line in meant] == lines


@pytest.mark.parametrize(
    "text", ["", "a", "7-3", "0", "-3", "3-", "3,,4", "3-all", "3;4", "1" * 40]
)
def test_lines_that_can_not_be_read_are_refused(text: str) -> None:
    with pytest.raises(InvalidDecision, match="3-7, 9"):
        LineSelection.read(text)


@pytest.mark.parametrize("changed", [{}, {"payroll_number": "9999"}, {"last_name": "Autre"}])
def test_a_reviewer_can_choose_a_record_with_the_same_key_or_name(changed: dict[str, str]) -> None:
    assert mismatch(EMPLOYEE, EMPLOYEE_IDENTITY, PERSON, PERSON | changed) == ()


OF_EMPLOYEES, OF_CONTACTS = (EMPLOYEE, EMPLOYEE_IDENTITY), (OWN, contact_identity(OWN))
OTHER = {**PERSON, "payroll_number": "0043", "first_name": "Paul", "job_title": "Chef"}
PAUL = {"last_name": "Martin", "email": "paul@x.example", "phone_mobile_number": "0699999999"}
LUC, LEA = {"last_name": "Lefèvre"}, {"last_name": "Martin"}


@pytest.mark.parametrize(
    ("kind", "row", "record", "fields"),
    [
        (OF_EMPLOYEES, PERSON, OTHER, {"payroll_number", "first_name"}),
        (OF_EMPLOYEES, PERSON, dict.fromkeys(PERSON), PERSON.keys() - {"job_title"}),
        (OF_CONTACTS, CONTACT, PAUL, CONTACT.keys()),
        (OF_CONTACTS, LUC, LEA, {"last_name"}),
    ],
    ids=["employee", "empty employee", "contact", "contact with a name alone"],
)
def test_differing_fields_of_another_record_are_listed(
    kind: tuple[Resource, Identity], row: dict[str, Any], record: dict[str, Any], fields: set[str]
) -> None:
    assert set(mismatch(*kind, row, record)) == fields


def test_a_contact_with_the_same_address_may_be_chosen_whatever_the_name() -> None:
    record = {"last_name": "Martin", "first_name": "Paul", "email": "aurelie@X.example"}
    assert mismatch(OWN, contact_identity(OWN), CONTACT, record) == ()
