"""Files of each resource: headers, arrays, and the resulting body."""

from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import pytest

from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Row
from bms_flows.onboarding.resources.body import build, compare
from bms_flows.onboarding.resources.consultant import CONSULTANT
from bms_flows.onboarding.resources.contact import CONTACT
from bms_flows.onboarding.resources.description import normalize_header
from bms_flows.onboarding.resources.remotes import REMOTES

# The interface's tables, written out once more: "Contact creation body", "Consultant creation body".
BODIES = {
    "contact": "first_name last_name business_title email phone_mobile_number phone_number "
    "phone_other_number fax_number address postal_code city country exclude_from_emailing "
    "send_greetings_card greetings_card_details is_lead origin signal contact_domains notes "
    "imported_company_name id_client",
    "consultant": "first_name last_name type affinity rate availability_date birth_year "
    "work_start_year professional_profile skills languages address postal_code city country "
    "phone_number phone_mobile_number email no_emails no_sms id_client notes "
    "custom1 custom2 custom3 custom4 custom5",
}


@pytest.mark.parametrize("name", BODIES)
def test_every_field_of_the_body_can_be_given(name: str) -> None:
    resource = REMOTES[name].resource
    assert {str(field.path[0]) for field in resource.fields} == set(BODIES[name].split())


@pytest.mark.parametrize("name", REMOTES)
def test_every_column_has_a_french_header_and_the_interface_s(name: str) -> None:
    resource = REMOTES[name].resource
    for field in resource.fields:
        assert field.aliases, field.name
        for header in (field.name, field.name.replace("_", " ").title(), *field.aliases):
            assert resource.by_header[normalize_header(header)] is field, header


SHORT = {
    "employee": "Matricule;Entité;Nom;Prénom;Date d'entrée;Mobile;Téléphone",
    "contact": "Nom;Prénom;E-mail;Mobile;Société;Fonction",
    "consultant": "Nom;Prénom;Email;Mobile;TJM;Disponible le",
}
"""Headers as users choose them: few, and most of them those of several inboxes."""
OWN = {
    "contact": "Civilité;Nom;Prénom;Fonction;Service;E-mail;Mobile;Société",
    "consultant": "Nom;Prénom;Société;TJM;Disponible le",
    "employee": "Nom;Prénom;Mobile;Entité",
}
"""Files with columns of the user's own, whose headers other inboxes happen to have."""


@pytest.mark.parametrize("title", ["", "Liste du 3 mars;;;;;;\n"])
@pytest.mark.parametrize("inbox", REMOTES)
@pytest.mark.parametrize("name", REMOTES)
def test_a_file_in_another_inbox_is_recognized_by_its_headers(
    name: str, inbox: str, title: str
) -> None:
    meant, resource = REMOTES[name].resource, REMOTES[inbox].resource
    templates = ";".join(field.label for field in meant.fields)
    for header in (SHORT[name], templates, templates.upper()):
        row = ";".join("x" for _ in header.split(";"))
        found = read(f"{title}{header}\n{row}\n".encode(), "a.csv", resource)
        faults = [fault for fault in found.faults if fault.code == "other_inbox"]
        assert [fault.details["resource"] for fault in faults] == [name] * (name != inbox), header
        for fault in faults:
            assert found.faults == (fault,)  # no list of unknown columns
            assert f"boîte {meant.inbox}." in fault.hint("FR")
    for header in OWN[name], "Nom;Prénom;E-mail":
        found = read(f"{header}\nx;x;x;x;x\n".encode(), "a.csv", meant)
        assert "other_inbox" not in {fault.code for fault in found.faults}, header


def test_a_french_file_of_consultants_is_read_with_its_arrays() -> None:
    content = (
        "Nom;Prénom;TJM;Disponible le;Compétence 1;Compétence 1 niveau;Compétence 1 favorite;"
        "Compétence 2;Langue 1;Langue 1 niveau;Pas de SMS\n"
        "Girard;Élodie;550,50;31/08/2026;4;3;oui;9;EN;4;non\n"
    ).encode("cp1252")
    [row] = read(content, "consultants.csv", CONSULTANT).rows
    assert build(CONSULTANT, row.values) == {
        "last_name": "Girard",
        "first_name": "Élodie",
        "rate": Decimal("550.50"),
        "availability_date": date(2026, 8, 31),
        "skills": [{"id": 4, "level": 3, "favorite": True}, {"id": 9}],
        "languages": [{"code": "EN", "level": 4}],
        "no_sms": False,
    }


def test_an_english_file_of_contacts_is_read_with_its_domains() -> None:
    content = b"Last name,First name,Company,Domains,Is lead\nGirard,Alice,Client SA,3|7,no\n"
    [row] = read(content, "contacts.csv", CONTACT).rows
    assert build(CONTACT, row.values)["contact_domains"] == (3, 7)
    assert row.values["is_lead"] is False


def test_the_header_of_addresses_in_outlook_is_no_postal_address() -> None:
    content = b"Nom;Pr\xc3\xa9nom;Adresse de messagerie\nMartin;Paul;paul@x.example\n"
    sheet = read(content, "contacts.csv", CONTACT)
    assert (sheet.faults, sheet.rows[0].values["email"]) == ((), "paul@x.example")


def test_an_array_object_without_its_id_is_refused() -> None:
    row = Row(2, {"last_name": "A", "first_name": "B", "skill2_level": 3}, ())
    faults = rules.validate(row, rules.read(CONSULTANT))
    assert [(fault.code, fault.field) for fault in faults] == [("missing_value", "skill2_id")]


def test_objects_of_an_array_are_compared_by_what_names_them() -> None:
    body = {"skills": [{"id": 4, "level": 3}, {"id": 9}], "languages": [{"code": "EN"}]}
    record = SimpleNamespace(
        skills=[{"id": 9, "level": 1}, {"id": 4, "level": 2}], languages=[{"code": "en"}]
    )
    found = compare(CONSULTANT, body, record)
    assert [(d.name, d.ours, d.theirs) for d in found.different] == [("skill1_level", 3, 2)]
    assert set(found.equal) == {"skill1_id", "skill2_id", "language1_code"}


def test_spellings_of_an_address_or_number_are_equal() -> None:
    body = {"email": "a@MÜNCHEN.example", "phone_number": "01 42 68 53 00", "city": "L\u2019Isle"}
    record = SimpleNamespace(
        email="a@xn--mnchen-3ya.example", phone_number="+33142685300", city="L'ISLE", country=None
    )
    assert compare(CONTACT, body, record).different == ()


def test_fields_missing_from_the_detail_are_listed() -> None:
    found = compare(CONTACT, {"phone_other_number": "06 00 00 00 09"}, SimpleNamespace())
    assert found.unreadable == ("phone_other_number",)
