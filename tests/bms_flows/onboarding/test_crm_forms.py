"""Persons of the CRM whose name, company or phone a file writes in another form."""

import pytest

from bms_sandbox.serve import Sandbox
from tests.bms_flows.onboarding.conftest import Drop
from tests.bms_flows.onboarding.onboarding import codes, ended, onboard_patiently
from tests.bms_flows.onboarding.test_crm import made

HEAD = "last_name;first_name;email;phone_mobile_number;phone_number;country;imported_company_name"
KNOWN = {
    "last_name": "Vandermeer",
    "first_name": "Jürgen",
    "email": None,
    "phone_mobile_number": "+32470123456",
    "country": "BE",
    "imported_company_name": "Société Acme SA",
    "active": True,
    "deleted": False,
}


def contact(row: str) -> bytes:
    return f"{HEAD}\n{row}\n".encode()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Van der Meer;Jürgen;v@acme.example;;;;Societe ACME", "same_name_and_company"),
        ("VANDERMEER;Juergen;;;;;Société Acme S.A.", "same_name_and_company"),
        ("Vandermeer;Jurgen;;;;;Société-Acme s.r.l.", "same_name_and_company"),
        ("Vandermeer;Jürgen;v@x.example;0470 12 34 56 / 02 511 11 11;;BE;X", "same_name_and_phone"),
        ("Vandermeer;Jürgen;v@x.example;;0470/12.34.56;Belgique;X", "same_name_and_phone"),
        (
            "van der Meer;Jürgen;v@x.example;;0470 12 34 56 ou 02 511 11 11;België;X",
            "same_name_and_phone",
        ),
        # Others.
        ("Vandermeer;Paul;;;;;Société Acme SA", None),
        ("Vandermeer;Jürgen;v@x.example;0470 12 34 57;;BE;Acme Conseil", None),
    ],
)
def test_a_person_in_another_form_goes_to_review_and_another_person_is_created(
    row: str, reason: str | None, sandbox: Sandbox, drop: Drop
) -> None:
    sandbox.insert("contacts", **KNOWN)
    outcomes = onboard_patiently(drop(contact(row), "contact"))
    assert ended(outcomes) == {"needs_review" if reason else "created": 1}
    assert codes(outcomes) == [reason] * bool(reason)
    assert made(sandbox) == (reason is None)


@pytest.mark.parametrize(
    ("known", "row"),
    [
        ({"phone_mobile_number": None}, "VANDERMEER;Jurgen;;0470 12 34 57;;BE;"),
        ({"phone_mobile_number": None}, "Vandermeer;Jürgen;v@acme.example;;;;"),
        (
            {"phone_mobile_number": None, "imported_company_name": None, "id_client": 42},
            "Vandermeer;Jürgen;v@acme.example;;;;Société Acme SA",
        ),
        ({"imported_company_name": None}, "Vandermeer;Jürgen;v@acme.example;;;;Acme"),
    ],
)
def test_a_namesake_goes_to_review_if_no_value_tells_the_two_apart(
    known: dict[str, object], row: str, sandbox: Sandbox, drop: Drop
) -> None:
    """The service knows the person by company or client only, the file by address or phone."""
    found = sandbox.insert("contacts", **KNOWN | known)
    sandbox.insert("contacts", **KNOWN | known | {"deleted": True})
    [outcome] = onboard_patiently(drop(contact(row), "contact"))
    assert codes([outcome]) == ["same_name_only"]
    assert [each.guid for each in outcome.candidates] == [str(found["id"])]


@pytest.mark.parametrize(
    ("second", "reasons"),
    [
        ("VANDERMEER;Jurgen;;0470 12 34 57;;BE;", ["like_another_row"]),
        ("Vandermeer;Jürgen;;;;;Acme Conseil", ["like_another_row"]),
        ("Vandermeer;Jürgen;j@y.example;0470 12 34 57;;BE;", []),
        ("Vandermeer;Paul;;0470 12 34 57;;BE;", []),
    ],
)
def test_rows_of_one_name_are_two_persons_if_they_differ_in_a_key(
    second: str, reasons: list[str], drop: Drop
) -> None:
    """With the address in one row and the phone in the other one, a person would be created twice."""
    outcomes = onboard_patiently(
        drop(contact(f"Vandermeer;Jürgen;v@x.example;;;;\n{second}"), "contact")
    )
    assert codes(outcomes) == reasons
    assert outcomes[0].state == "created"
    again = onboard_patiently(
        drop(contact(f"\n\nVandermeer;Jürgen;v@x.example;;;;\n{second}"), "contact")
    )
    texts = [fault.reason("FR") for outcome in again for fault in outcome.faults]
    assert texts == [
        "Ressemble à une autre ligne du fichier (l. 4) par le nom, l'e-mail ou un numéro."
        for _ in reasons
    ]


def test_a_consultant_in_another_form_goes_to_review(sandbox: Sandbox, drop: Drop) -> None:
    row = {"last_name": "D'Hondt", "first_name": "An", "birth_year": 1985, "active": True}
    sandbox.insert("consultants", **row)
    head = "last_name;first_name;birth_year"
    outcomes = onboard_patiently(drop(f"{head}\nDhondt;An;1985\n".encode(), "consultant"))
    assert codes(outcomes) == ["same_name_and_birth_year"]


@pytest.mark.parametrize("resource", ["contact", "consultant"])
def test_a_text_that_the_service_cuts_or_strips_is_no_change_of_a_user(
    resource: str, sandbox: Sandbox, drop: Drop
) -> None:
    forms = ("notes=cut:6", "*_name=ascii+upper", "country=upper+cut:2")
    sandbox.set_dialect(stored_forms=[f"create_{resource}.{form}" for form in forms])
    head, row = "last_name;first_name;email;country;notes", "Lebœuf;Zoë;z@x.example;France;"
    rows = [f"{head}\n{row}{text}\n".encode() for text in ("Appeler lundi", "Appeler mardi")]
    [first] = onboard_patiently(drop(rows[0], resource))
    assert first.state == "created"
    [again] = onboard_patiently(drop(rows[0] + b"\n", resource))
    assert (again.state, again.evidence) == ("already_there", "by_us")
    sandbox.edit(f"{resource}s", int(first.guid or 0), city="Lyon", email="other@x.example")
    [edited] = onboard_patiently(drop(rows[0] + b"\n\n", resource))
    assert "email" in {each.name for each in edited.differences}
    [changed] = onboard_patiently(drop(rows[1], resource))
    assert {"notes", "email"} <= {each.name for each in changed.differences}
    assert made(sandbox, f"{resource}s") == 1
