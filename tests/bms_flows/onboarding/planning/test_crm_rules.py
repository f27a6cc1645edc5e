"""Cells of contacts and consultants that are not what their columns hold."""

# ruff: noqa: RUF001 - letters that look like others are the subject

import pytest

from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.sheet import Row
from bms_flows.onboarding.resources.consultant import CONSULTANT
from bms_flows.onboarding.resources.contact import CONTACT
from bms_flows.onboarding.resources.normal_forms import loose_name


def codes(field: str, value: object, **others: object) -> list[str]:
    resource = CONSULTANT if field in CONSULTANT.by_name else CONTACT
    row = Row(2, {field: value, **others}, ())  # type: ignore[dict-item]  # values of cells
    found = rules.validate(row, rules.read(resource))
    return [fault.code for fault in found if fault.field == field]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Dr. Durand", "not_a_name"),
        ("De heer Peeters", "not_a_name"),
        ("Mevr. Peeters", "not_a_name"),
        ("Luc et Anne", "not_a_name"),
        ("Durand, PhD", "not_letters"),
        ("Luc / Anne", "not_letters"),
        ("Anne-Marie 💼", "not_letters"),
        ("Durand & Martin", "not_letters"),
        ("Durand*", "not_letters"),
        ("-", "not_letters"),
        ("0470 12 34 56", "not_letters"),
        ("Dur\u0430nd", "mixed_alphabets"),
        ("Du\u3164rand", "mixed_alphabets"),
        ("Du\u2800rand", "not_letters"),
        ("Иванов", None),
        ("Νικολάου", None),
        ("D'Hondt", None),
        ("d’Ormesson", None),
        ("Mestre i Gasset", None),
        ("Etienne", None),
        ("Drouet", None),
        ("Durand Jr.", None),
        ("Gal·la", None),
        ("Le Goff-Van der Meer", None),
    ],
)
def test_a_name_is_the_name_of_one_person(name: str, code: str | None) -> None:
    assert codes("last_name", name) == ([code] if code else [])


@pytest.mark.parametrize(("ours", "theirs"), [("YILMAZ", "Yılmaz"), ("D'ARC", "D\u02bcArc")])
def test_a_name_typed_with_other_letters_is_alike(ours: str, theirs: str) -> None:
    alike = {loose_name({"last_name": each, "first_name": "Zoé"}) for each in (ours, theirs)}
    assert len(alike) == 1


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("luc@acme.example.", "bad_email"),
        ("luc\uff20acme.example", "bad_email"),
        ("o’brien@acme.example", "bad_email"),
        ("l\u0443c@acme.example", "mixed_alphabets"),
        ("luc@\u0430cme.example", "mixed_alphabets"),
        ("hélène@société.example", None),
        ("o'brien+x@acme.example", None),
    ],
)
def test_an_address_with_signs_that_look_like_others_is_refused(
    address: str, code: str | None
) -> None:
    assert codes("email", address) == ([code] if code else [])


def test_a_company_in_two_alphabets_is_refused() -> None:
    assert codes("imported_company_name", "\u0410cme") == ["mixed_alphabets"]


@pytest.mark.parametrize(
    ("field", "value", "refused"),
    [
        ("id_client", -12, True),
        ("id_client", 0, True),
        ("id_client", 12, False),
        ("rate", -650, True),
        ("birth_year", 2085, True),
        ("birth_year", 1985, False),
    ],
)
def test_a_number_that_cannot_be_meant_is_refused(field: str, value: int, refused: bool) -> None:
    assert codes(field, value) == ["out_of_range"] * refused


def test_a_career_that_starts_before_birth_is_refused() -> None:
    assert codes("birth_year", 2008, work_start_year=1985) == ["dates_reversed"]
    assert codes("birth_year", 1985, work_start_year=2008) == []
