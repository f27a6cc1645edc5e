"""Ordinary HR workbooks are read in one round: what is no row is left out with a note, and all faults come at once."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from bms_flows.onboarding.reading import header as headers
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.consultant import CONSULTANT
from bms_flows.onboarding.resources.contact import CONTACT
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.settings import DeclaredFormat
from tests.support.awkward_workbooks import PEOPLE, WORKBOOKS, calculated
from tests.support.workbooks import of_rows, saved

HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée"


def sheet(*lines: str, **given: Any) -> Sheet:
    return read("\n".join([*lines, ""]).encode(), "drop.csv", EMPLOYEE, **given)


def book(rows: Sequence[Sequence[Any]], *merged: str) -> Sheet:
    made = of_rows(rows)
    for cells in merged:
        made.active.merge_cells(cells)
    return read(saved(made), "a.xlsx", EMPLOYEE)


def notes(found: Sheet) -> list[tuple[str, int | None]]:
    return [(each.code, each.line) for each in found.notes]


def faults(found: Sheet) -> list[tuple[str, int | None]]:
    return [(each.code, each.line) for each in found.faults]


@pytest.mark.parametrize("by", ["openpyxl", "LibreOffice"])
@pytest.mark.parametrize("name", WORKBOOKS)
def test_an_awkward_workbook_is_read_in_one_round(name: str, by: str) -> None:
    if by == "openpyxl" and name == "unlabelled_total":
        pytest.skip("openpyxl stores no value of a formula, so no sum is proven")
    content = calculated()[name] if by == "LibreOffice" else WORKBOOKS[name]()
    found = read(content, f"{name}.xlsx", EMPLOYEE)
    assert faults(found) == []
    assert [
        {
            "number": row.values["payroll_number"],
            "last": row.values["last_name"],
            "first": row.values["first_name"],
            "start": str(row.values["start_date"]),
            "pay": f"{Decimal(str(row.values['salary_base'])).normalize():f}",
        }
        for row in found.rows
    ] == [*PEOPLE]
    assert [row.values["id_entity"] for row in found.rows] == [1, 1, 1]


NOTED = {
    "title": [("title_row", 1), ("title_row", 2), ("blank_rows", 6)],
    "merged_title": [("title_row", 1), ("title_row", 3)],
    "totals": [("total_row", 3), ("total_row", 6), ("total_row", 7), ("total_row", 8)],
    "euros": [],
    "two_languages": [("repeated_header", 2)],
    "extra_columns": [("column_left_out", 1)] * 3,
}


@pytest.mark.parametrize("name", NOTED)
def test_what_is_left_out_of_a_workbook_is_noted(name: str) -> None:
    found = read(WORKBOOKS[name](), f"{name}.xlsx", EMPLOYEE)
    assert notes(found) == NOTED[name]
    for note in found.notes:
        for language in ("FR", "EN"):
            assert "{" not in note.reason(language) + note.hint(language)


def test_a_title_above_the_header_of_a_csv_is_skipped() -> None:
    for title in ("Nouveaux salariés;;;;", "Nouveaux salariés, mars 2027", '"Salariés; mars"'):
        found = sheet(title, "", HEADER, "0042;Durand;Zoé;1;31/12/2026", "0043;Petit;Luc;1;")
        assert faults(found) == []
        assert notes(found) == [("title_row", 1)]
        assert (found.form.header_line, found.form.delimiter) == (3, ";")
        assert found.rows[0].values["start_date"] == date(2026, 12, 31)


def test_a_filled_row_above_the_header_is_no_title() -> None:
    """A header in the middle of sorted rows: the rows above it are people."""
    found = sheet("0042;Durand;Zoé;1;31/12/2026", HEADER, "0043;Petit;Luc;1;31/12/2026")
    assert faults(found) == [("no_header", 1)]


def test_a_sparse_row_above_the_header_is_no_title() -> None:
    header = f"{HEADER};Service;Ville;Poste;Salaire;Statut;Position"
    for row in ("0042;Durand;Zoé;;;;;;;;", "Durand;Zoé;z@x.example;;;;;;;;"):
        assert faults(sheet(row, header, "0043;Petit;Luc;1;31/12/2026;;;;;;"))[0] == (
            "no_header",
            1,
        )
    groups = sheet("Identité;;;;Contrat;;;;;;Autres", header, "0043;Petit;Luc;1;31/12/2026;;;;;;")
    assert (faults(groups), notes(groups)) == ([], [("title_row", 1)])


def test_a_title_that_is_a_header_by_chance_is_a_title() -> None:
    found = sheet("Consultant;;;;", HEADER, "0042;Durand;Zoé;1;31/12/2026")
    assert (faults(found), notes(found)) == ([], [("title_row", 1)])


def test_a_header_repeated_between_the_rows_is_left_out() -> None:
    found = sheet(HEADER, "1;A;B;1;31/12/2026", HEADER, "2;C;D;1;31/12/2026")
    assert [row.line for row in found.rows] == [2, 4]
    assert notes(found) == [("repeated_header", 3)]


@pytest.mark.parametrize(
    "label", ["Total", "TOTAUX", "Sous-total :", "Total général", "Grand total"]
)
def test_a_total_of_a_csv_is_left_out(label: str) -> None:
    lines = ("Matricule;Nom;Prénom;Salaire", "1;A;B;100", "2;C;D;200,50", f"{label};;;300,50 €")
    found = sheet(*lines)
    assert (faults(found), notes(found)) == ([], [("total_row", 4)])


def test_rows_that_only_have_a_number_of_the_users_own_are_blank() -> None:
    """Users number the lines of a list in advance, or drag formulas further than its rows."""
    rows = ("1;0042;Durand;Zoé;1;31/12/2026", "2;;;;;", "3;0043;Petit;Luc;1;31/12/2026", "4;;;;;")
    found = sheet(f"N°;{HEADER}", *rows)
    assert (faults(found), [row.line for row in found.rows]) == ([], [2, 4])
    assert notes(found) == [("blank_rows", 3), ("column_left_out", 1)]
    assert [row.line for row in sheet(f"N°;{HEADER}", *rows, "5, Roy;;;;;").rows] == [2, 4, 6]


def test_a_sentence_below_the_rows_is_left_out_and_a_short_row_is_not() -> None:
    rows = ("0042;Durand;Zoé;1;31/12/2026", "0043;Petit;Luc;1;31/12/2026", "")
    for note in ("* matricules provisoires, à confirmer", "Liste arrêtée au 12/03/2026"):
        found = sheet(HEADER, *rows, note, "(1) selon la paie")
        assert (faults(found), len(found.rows)) == ([], 2)
        assert notes(found) == [("footnote", 6), ("footnote", 5), ("blank_rows", 4)]
        beside = sheet(*(f";{row}" for row in (HEADER, *rows[:2], f"{note};;;;")))
        assert (faults(beside), notes(beside)) == ([], [("footnote", 4)])
    for row in (
        "0044;;;;",
        "de La Tour d'Auvergne;;;;",
        ";12 rue de la Paix;;;",
        ";;z@x.example;;",
    ):
        assert [each.line for each in sheet(HEADER, *rows, row).rows] == [2, 3, 5]
    middle = sheet(HEADER, rows[0], "* matricules provisoires;;;;", rows[1])
    assert [each.line for each in middle.rows] == [2, 3, 4]


@pytest.mark.parametrize(
    "row", ["0042;Total;Jean;1;31/12/2026", ";Total;Jean;;", "0042;Somme;;1;", "9;Totaline;;;"]
)
def test_a_person_called_total_is_a_row(row: str) -> None:
    found = sheet(HEADER, row)
    assert [each.line for each in found.rows] == [2]
    assert not found.notes


def test_a_contact_of_a_company_called_total_is_a_row() -> None:
    content = b"Nom;E-mail;Soci\xc3\xa9t\xc3\xa9\nDurand;a@total.example;Total\n"
    found = read(content, "a.csv", CONTACT)
    assert ([row.line for row in found.rows], [*found.notes]) == ([2], [])


def test_a_sum_without_a_label_is_left_out_and_any_other_number_is_not() -> None:
    rows = ("Nom;Salaire;Tickets restaurant", "A;100;2", "B;200;3")
    assert notes(sheet(*rows, ";300;")) == [("total_row", 4)]
    assert notes(sheet(*rows, ";300;5")) == [("total_row", 4)]
    for last in (";301;", ";300;6", "C;300;"):
        assert [row.line for row in sheet(*rows, last).rows] == [2, 3, 4]


def test_merged_cells_are_a_fault_where_a_row_or_the_header_is() -> None:
    header, row = ["Matricule", "Nom"], ["1", "A"]
    assert faults(book([["Titre"], header, row], "A1:B1")) == []
    assert faults(book([["Titre"], header, row, ["Total"]], "A1:B1", "A4:B4")) == []
    assert faults(book([["Titre"], header, row], "A2:A3")) == [("merged_cells", None)]
    assert faults(book([["Titre"], header, row, ["2", "B"]], "A1:B1", "B3:B4")) == [
        ("merged_cells", None)
    ]


@pytest.mark.parametrize(
    "cell", ["2 450,00 €", "2450€", "€ 2 450,00", "2 450,00 EUR", "EUR 2450", "2\u202f450,00\xa0€"]
)
def test_an_amount_with_the_sign_of_the_euro_is_an_amount(cell: str) -> None:
    for declared in (DeclaredFormat(), DeclaredFormat(decimal_mark=",")):
        [row] = sheet("Nom;Salaire", f"A;{cell}", declared=declared).rows
        assert row.values["salary_base"] == Decimal(2450)


@pytest.mark.parametrize("cell", ["2 450 k€", "2450 $", "€", "2450 € brut", "€ 12 €", "2450 EURO"])
def test_an_amount_with_another_word_is_refused(cell: str) -> None:
    assert faults(sheet("Nom;Salaire", f"A;{cell}")) == [("bad_decimal", 2)]


def test_a_column_of_euros_shows_its_decimal_mark() -> None:
    found = sheet("Nom;Salaire", "A;1,234 €", "B;12,50 €")
    assert [row.values["salary_base"] for row in found.rows] == [Decimal("1.234"), Decimal("12.50")]


@pytest.mark.parametrize(
    ("header", "nearest"),
    [
        ("Prénon", "Prénom"),
        ("E-mail pro", "E-mail professionnel"),
        ("Mail pro", "E-mail professionnel"),
        ("Adresse mail", "E-mail personnel, E-mail professionnel"),
        ("Adresse e-mail perso", "E-mail personnel"),
        ("Date d'entrée dans l'entreprise", "Date d'entrée"),
        ("Matricul", "Matricule"),
        ("Salaire brut annuel", "Salaire de base"),
        ("Téléphone perso", "Téléphone fixe personnel"),
        ("Téléphone pro", ": Téléphone fixe professionnel"),
        ("Nom du responsable", "Matricule du responsable, E-mail du responsable"),
        ("N+1", "Matricule du responsable, E-mail du responsable"),
        ("Mail du manager", ": E-mail du responsable"),
        ("Prénom / Vorname", "Prénom"),
    ],
)
def test_an_unknown_header_proposes_the_nearest(header: str, nearest: str) -> None:
    found = sheet(f"Entité;{header}", "1;x")
    [fault] = found.file_faults
    assert (fault.code, fault.column) == ("unknown_column", header)
    assert nearest in fault.reason("FR")
    assert nearest in fault.reason("EN")


@pytest.mark.parametrize(
    "header", ["Identité", "IDENTITE", "Nom et prénom", "Nom Prénom", "Nom complet", "Identity"]
)
def test_a_column_of_whole_names_is_to_be_divided(header: str) -> None:
    found = sheet(f"Entité;{header}", "1;Durand Zoé")
    assert [(each.code, each.column, each.field) for each in found.faults] == [
        ("full_name_column", header, None)
    ]
    beside = sheet(f"Entité;Nom;Prénom;{header}", "1;Durand;Zoé;Durand Zoé")
    assert (faults(beside), notes(beside)) == ([], [("column_left_out", 1)])


def test_the_number_of_the_entity_is_no_name_and_a_manager_has_an_own_address() -> None:
    found = sheet("Id entité;Nom;Email N+1", "1;A;chef@x.example")
    assert found.faults == ()
    assert found.rows[0].values == {
        "id_entity": 1,
        "last_name": "A",
        "manager_email": "chef@x.example",
    }


@pytest.mark.parametrize("resource", [CONTACT, CONSULTANT], ids=lambda each: each.name)
def test_a_column_of_addresses_is_no_setting_for_mailings(resource: Resource) -> None:
    assert [each.name for each in headers.nearest("Adresse mail", resource)] == ["email"]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("Mailing", []),
        ("Abonné mailing", []),
        ("Sans mailing", ["exclude_from_emailing"]),
        ("Pas de carte de vœux", []),
        ("Carte voeux", ["send_greetings_card"]),
        ("Non prospect", []),
    ],
)
def test_a_yes_or_no_proposes_no_field_of_the_opposite(header: str, names: list[str]) -> None:
    assert [each.name for each in headers.nearest(header, CONTACT)] == names


def test_words_that_are_not_alike_make_no_mistyped_header() -> None:
    assert headers.nearest("Business City", CONTACT) == []
    assert headers.nearest("Business tilte", CONTACT)[0].name == "business_title"


def test_the_name_of_a_manager_beside_the_number_is_left_out() -> None:
    found = sheet("Nom;Matricule du responsable;Nom du responsable", "A;7;Zoé Durand")
    assert (faults(found), notes(found)) == ([], [("column_left_out", 1)])


def test_a_header_between_several_names_each() -> None:
    [fault] = sheet("Nom;Date", "A;31/12/2026").file_faults
    assert {"Date d'entrée", "Date de naissance"} <= {*str(fault.details["nearest"]).split(", ")}
    assert fault.field is None


@pytest.mark.parametrize(
    "header", ["N°", "Observations", "Âge", "Badge remis le", "_note", "Photo"]
)
def test_a_column_without_a_near_field_is_left_out(header: str) -> None:
    found = sheet(f"Nom;{header}", "A;x", "B;")
    assert (faults(found), notes(found)) == ([], [("column_left_out", 1)])
    assert [row.values for row in found.rows] == [{"last_name": "A"}, {"last_name": "B"}]


def test_an_empty_column_is_left_out_without_a_note() -> None:
    found = sheet("Nom;Observations", "A;", "B;")
    assert (faults(found), notes(found)) == ([], [])


def test_the_faults_of_every_row_are_found_beside_merged_and_hidden_cells() -> None:
    found = book([["Nom", "Entité"], ["A", "un"], ["B", None]], "A2:A3")
    assert faults(found) == [("merged_cells", None), ("bad_integer", 2)]
