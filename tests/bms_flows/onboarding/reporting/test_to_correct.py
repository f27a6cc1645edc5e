"""rejected.xlsx opens ready to work: reason and cell first, faulty cells coloured and commented."""

import io
from itertools import chain
from typing import Any

import openpyxl
import pytest

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.awkward_workbooks import converted
from tests.support.workbooks import of_rows, saved

DROP = (
    "Nom;Prénom;Entité;Matricule;Date d'entrée\r\n"
    "D'Angelo;Noémie;1;000801;08/03/2027\r\n"
    "Lemaître;Benoît;un;000802;31/02/2027\r\n"
    "Pérès;;1;000803;15/03/27\r\n"
)


def workbook_of(drop: bytes) -> bytes:
    """The same rows as a workbook of the user, with a date and a number."""
    made = of_rows(line.split(";") for line in drop.decode().splitlines())
    made.active["C4"].value = 1
    made.active.column_dimensions["A"].width = 33
    return saved(made)


def rejected(name: str, language: Any = "FR") -> bytes:
    content = DROP.encode() if name.endswith("csv") else workbook_of(DROP.encode())
    sheet = read(content, name, EMPLOYEE)
    faults = {row.line: list(found) for row in sheet.rows if (found := sheet.faults_of(row))}
    faults[4].append(Fault("missing_value", 4, field="first_name"))
    return reject_files(content, sheet.form, faults, language)[".xlsx"]


NAMES = ["a.csv", "a.xlsx"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("language", "reason"),
    [("FR", "Entité\xa0: Ce n'est pas un nombre entier."), ("EN", "Entité: Not a whole number.")],
)
def test_reason_and_cell_come_first(name: str, language: str, reason: str) -> None:
    sheet: Any = openpyxl.load_workbook(io.BytesIO(rejected(name, language))).active
    head = [cell.value for cell in sheet[1]]
    assert head[:2] == [f"_reason_{language.lower()}", "_cell"]
    assert head[-5:] == ["Nom", "Prénom", "Entité", "Matricule", "Date d'entrée"]
    first = {str(key): cell for key, cell in zip(head, sheet[2], strict=True)}
    entity, start = first["Entité"].coordinate, first["Date d'entrée"].coordinate
    assert first["_cell"].value == f"{entity} | {start}"
    assert str(first[f"_reason_{language.lower()}"].value).startswith(reason)


@pytest.mark.parametrize("name", NAMES)
def test_faulty_cells_are_coloured_and_commented(name: str) -> None:
    sheet: Any = openpyxl.load_workbook(io.BytesIO(rejected(name))).active
    cells = [cell for row in sheet.iter_rows(min_row=2) for cell in row]
    marked = {cell.coordinate: cell.comment.text for cell in cells if cell.comment}
    assert {cell.coordinate for cell in cells if cell.fill.fill_type == "solid"} == marked.keys()
    named = [str(row[1].value).split(" | ") for row in sheet.iter_rows(min_row=2)]
    assert marked.keys() == {*chain(*named)}, "an empty cell that must be filled is marked too"
    assert marked[named[0][1]] == "Ce n'est pas une date.\nÉcrire 2026-12-31 ou 31/12/2026."


@pytest.mark.parametrize("name", NAMES)
def test_the_header_and_the_reasons_stay_in_view_and_columns_have_their_width(name: str) -> None:
    sheet: Any = openpyxl.load_workbook(io.BytesIO(rejected(name))).active
    assert sheet.freeze_panes == "C2"
    columns = {
        str(sheet.cell(1, each.min).value): each for each in sheet.column_dimensions.values()
    }
    widths = {name: column.width for name, column in columns.items()}
    assert widths["_reason_fr"] >= 40
    assert 8 <= widths["_cell"] <= 20
    assert widths["Nom"] == (33 if name == "a.xlsx" else pytest.approx(12, abs=4))
    assert widths["Date d'entrée"] >= len("Date d'entrée")
    assert sheet["A2"].alignment.wrap_text
    hidden = {name for name, column in columns.items() if column.hidden}
    assert hidden == {"_field", "_reason_en"}


@pytest.mark.parametrize("name", NAMES)
def test_a_corrected_file_is_accepted_when_it_is_dropped_again(name: str) -> None:
    book: Any = openpyxl.load_workbook(io.BytesIO(rejected(name)))
    sheet = book.active
    head = {str(cell.value): cell.column for cell in sheet[1]}
    for line, corrections in {
        2: {"Entité": "1", "Date d'entrée": "28/02/2027"},
        3: {"Date d'entrée": "15/03/2027", "Prénom": "Anaïs"},
    }.items():
        for header, value in corrections.items():
            sheet.cell(line, head[header]).value = value
    again = read(saved(book), "corrected.xlsx", EMPLOYEE)
    assert again.faults == ()
    assert [row.values["first_name"] for row in again.rows] == ["Benoît", "Anaïs"]


def test_libreoffice_opens_the_files_with_their_comments() -> None:
    shown = converted({name: rejected(name) for name in NAMES}, "fods")
    assert shown.keys() == {*NAMES}
    for each in shown.values():
        assert each.count(b"<office:annotation ") == 4
        assert b"28/02" not in each
