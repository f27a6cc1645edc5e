"""Reject files: the rejected rows in the format of the drop, with their cells and faults."""

# ruff: noqa: DTZ001, RUF001 - a workbook's dates have no zone; typographic signs are part of the corpus

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import REPORT_COLUMNS, Sheet
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.excel import formulas
from tests.support.workbooks import of_rows, saved

ADDED = ";".join(REPORT_COLUMNS["FR"])


def all_faults(sheet: Sheet) -> Mapping[int, Sequence[Fault]]:
    return {row.line: sheet.faults_of(row) for row in sheet.rows if sheet.faults_of(row)}


def rejected(content: bytes, name: str = "a.csv", ending: str = "") -> bytes:
    sheet = read(content, name, EMPLOYEE)
    answers = reject_files(content, sheet.form, all_faults(sheet))
    assert (".csv" in answers) is (name[1:] == ".csv")
    return answers[ending or name[1:]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_a_reject_file_has_the_encoding_line_ends_and_quoting_of_the_drop(
    encoding: str, end: str
) -> None:
    text = f'Prénom;"Nom";Entité{end}Zoé;"Noël";1{end}"Léa;""b""";Côté;"un"{end}'
    found = rejected(text.encode(encoding))
    assert found.startswith(ADDED.encode(encoding))  # with the encoding's mark
    lines = found.decode(encoding).split(end)
    assert lines[0].endswith(f'{ADDED};Prénom;"Nom";Entité')
    assert lines[1].endswith(';"Léa;""b""";Côté;"un"')
    assert ";Entité;3;" in lines[1]
    assert lines[2:] == [""]


def test_byte_for_byte() -> None:
    content = "Nom,Entité\r\nDupré,un\r\n".encode("cp1252")
    assert rejected(content) == (
        "_reason_fr,_cell,_hint,_field,_line,_reason_en,_original,Nom,Entité\r\n"
        "Entité\xa0: Ce n'est pas un nombre entier.,I2,"
        '"Écrire un nombre seul, sans virgule ni lettre, par exemple 1 ou 80. [encoding: Windows-1252]",'
        "Entité,2,Entité: Not a whole number.,,Dupré,un\r\n"
    ).encode("cp1252")


TWICE = (
    "Nom;Entité;Consultant\r\nA;un;x\r\nB;1;oui\r\nC;2\r\nD;3;oui;E\r\n=1;deux;+\r\n"
    '"F;1;oui\r\nG;2;oui\r\nH";1;non\r\nAur‚lie;1;oui\r\n\x07;1;oui\r\n_x0041_;un;a\r\n'
    f"{'I' * 40_000};1;oui\r\n"
).encode("cp1252")


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_an_unchanged_reject_file_is_rejected_for_the_same_cells(ending: str) -> None:
    first = read(TWICE, "a.csv", EMPLOYEE)
    again = rejected(TWICE, "a.csv", ending)
    cells = [row.cells for row in first.rows if first.faults_of(row)]
    codes = [fault.code for fault in first.faults]
    if ending == ".xlsx":  # Excel can't hold so much in a cell
        cells[-1][0], codes[-1] = "#MANQUE", "missing_cell"  # type: ignore[index]
        codes[2] = "unnamed_column"  # of the surplus cell of the fourth row
    for _ in range(3):
        second = read(again, f"b{ending}", EMPLOYEE)
        assert [row.cells for row in second.rows] == cells
        assert [fault.code for fault in second.faults] == codes
        again = rejected(again, f"b{ending}")
    assert second.form.headers.count("_line") == 1


def test_a_formula_without_a_value_is_not_an_empty_cell_when_it_is_dropped_again() -> None:
    content = saved(of_rows([["Nom", "Salaire"], ["Dupré", "=2000+500"]]))
    again = rejected(content, "a.xlsx")
    shown: Any = openpyxl.load_workbook(io.BytesIO(again)).active
    assert [cell.value for cell in shown[2]][-2:] == ["Dupré", "#N/A"]
    assert [fault.code for fault in read(again, "b.xlsx", EMPLOYEE).faults] == ["excel_error"]


def test_a_row_whose_cells_are_shifted_stays_rejected_in_the_workbook() -> None:
    """A delimiter inside of the address moves the town to the phone number, and an empty cell out."""
    content = b"Adresse;Ville;Mobile personnel\r\n12; rue du Port;Paris;\r\n"
    again = rejected(content, "a.csv", ".xlsx")
    [fault] = read(again, "b.xlsx", EMPLOYEE).faults
    assert (fault.code, fault.details["place"]) == ("unnamed_column", "K")
    shown: Any = openpyxl.load_workbook(io.BytesIO(again)).active
    assert shown["K2"].value == "#EN TROP"


def test_a_column_that_the_file_lacks_is_named_as_in_the_template() -> None:
    content = b"Nom;N\xc2\xb0 matricule\nA;1\n"
    form = read(content, "a.csv", EMPLOYEE).form
    faults = [Fault("missing_value", 2, field=name) for name in ("payroll_number", "first_name")]
    refused = reject_files(content, form, {2: faults})[".csv"].decode("utf-8")
    assert ";N° matricule | Prénom [first_name];" in refused
    assert "Prénom [first_name]\xa0: Valeur obligatoire absente." in refused


def test_a_file_without_rows_is_rejected_with_reasons() -> None:
    for name, content in (
        ("a.csv", "Nom;Prénon\r\n".encode()),
        ("a.xlsx", book([["Nom", "Prénon"], []])),
    ):
        sheet = read(content, name, EMPLOYEE)
        for ending, each in reject_files(content, sheet.form, {0: sheet.file_faults}).items():
            again = read(each, f"b{ending}", EMPLOYEE)
            assert [fault.code for fault in again.faults] == ["unknown_column"]
            assert again.rows == []


def test_a_missing_cell_is_refused_until_it_is_filled_or_cleared() -> None:
    again = rejected(b"Nom;Ville;Service\r\nA;B\r\nC;D;E\r\n").decode()
    assert ";A;B;#MANQUE\r\n" in again
    filled = read(again.replace("#MANQUE", "RH").encode(), "a.csv", EMPLOYEE)
    cleared = read(again.replace("#MANQUE", "").encode(), "a.csv", EMPLOYEE)
    assert filled.faults == cleared.faults == ()
    assert filled.rows[0].values["department_service"] == "RH"
    assert "department_service" not in cleared.rows[0].values


def test_the_format_proven_by_the_column_applies_to_the_reject_file() -> None:
    text = "Entité;Date d'entrée;Salaire\r\n1;31/08/2026;12,5\r\nun;03/04/2026;1,234\r\n"
    again = rejected(text.encode()).decode()
    assert "[salary_base: 0,0]" in again
    mended = read(again.replace(";un;", ";1;").encode(), "a.csv", EMPLOYEE)
    assert mended.faults == ()
    assert str(mended.rows[0].values["start_date"]) == "2026-04-03"
    assert str(mended.rows[0].values["salary_base"]) == "1.234"


def test_a_refused_header_refuses_every_row() -> None:
    again = rejected(b"Nom;Entit\xe9;Pr\xe9non\r\nA;1;bleu\r\n").decode("cp1252")
    assert again.startswith(f"{ADDED};Nom;Entité;Prénon\r\nPrénon\xa0: En-tête inconnu")
    assert again.endswith(";A;1;bleu\r\n")


def test_an_unreadable_file_gets_a_report_with_its_faults() -> None:
    content = b"Nom\n\x81\x8d\n"
    sheet = read(content, "a.csv", EMPLOYEE)
    answers = reject_files(content, sheet.form, {0: sheet.file_faults})
    assert list(answers) == [".csv"]
    assert answers[".csv"].decode("utf-8-sig").startswith(f"{ADDED}\r\nLes caractères")


@pytest.mark.parametrize(
    "text",
    [
        'Nom;"=H()";Ville\r\n=1+1;"+""x""";@y\r\n',
        "Nom;Ville;Entité\r\nx,=cmd|'/C calc'!A0;y,+1;un\r\n",
        'Nom,Ville,Entité\r\nA,"x;=1+1",un\r\n',
        'Nom;Ville;Entité\r\n"x\n=1+1";"a\tb\t@y";"un"\r\n',
    ],
)
def test_excel_runs_no_formula_with_any_list_separator(text: str) -> None:
    assert formulas(text)
    assert formulas(rejected(text.encode()).decode()) == []


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
@pytest.mark.parametrize("cell", ["a,=1", "a,'=1", "- a\n- b", "'=1", "''=1", "\t@x", 'a;"+1'])
def test_unescaping_removes_only_the_escape(name: str, cell: str) -> None:
    rows = [["Nom", "Entité"], [cell, "un"]]
    content = book(rows) if name == "a.xlsx" else csv_bytes(rows)
    first = read(content, name, EMPLOYEE).rows[0].cells
    assert first[0] == cell.removeprefix("'")
    again = content
    for _ in range(3):
        again = rejected(again, name)
        assert read(again, name, EMPLOYEE).rows[0].cells == first


def csv_bytes(rows: Sequence[Sequence[str]]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=";").writerows(rows)
    return stream.getvalue().encode()


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=12)
NAMES = ("Nom", "Prénom", "Ville", "Entité")


@settings(max_examples=settings().max_examples // 2)
@given(
    rows=st.lists(st.tuples(TEXT, TEXT, TEXT, st.just("un")), min_size=1, max_size=5),
    delimiter=st.sampled_from(";,\t"),
    quoting=st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
    end=st.sampled_from(("\r\n", "\n")),
    encoding=st.sampled_from(("utf-8", "utf-8-sig", "utf-16")),
)
def test_a_reject_file_is_read_back_unchanged(
    rows: list[tuple[str, ...]], delimiter: str, quoting: Any, end: str, encoding: str
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerows([NAMES, *rows])
    content = stream.getvalue().encode(encoding)
    first = read(content, "a.csv", EMPLOYEE)
    answers = reject_files(content, first.form, all_faults(first))
    for ending, answer in answers.items():
        again = read(answer, f"b{ending}", EMPLOYEE)
        assert [row.cells for row in again.rows] == [row.cells for row in first.rows]
        assert [(f.code, f.field) for f in again.faults] == [
            (f.code, f.field) for f in first.faults
        ]
    second = read(answers[".csv"], "a.csv", EMPLOYEE)
    assert second.form.delimiter == first.form.delimiter
    assert second.form.encoding == first.form.encoding


def book(rows: Sequence[Sequence[Any]]) -> bytes:
    made = of_rows(rows)
    made.active.title = "Salariés"
    made.active["A2"].number_format = "000000"
    made.active.column_dimensions["A"].width = 33
    return saved(made)


def test_a_rejected_workbook_is_returned_as_a_workbook() -> None:
    content = book(
        [
            ["Matricule", "Entité", "Date d'entrée", "Compétences"],
            [4217, "un", datetime(2026, 4, 3), "a"],
            [4218, 1, datetime(2026, 4, 3), "b"],
        ]
    )
    again = rejected(content, "a.xlsx")
    made = openpyxl.load_workbook(io.BytesIO(again))
    assert made.sheetnames == ["Salariés"]
    assert made["Salariés"]["H2"].value == 4217
    assert made["Salariés"]["H2"].number_format == "000000"
    assert made["Salariés"].column_dimensions["H"].width == 33
    second = read(again, "b.xlsx", EMPLOYEE)
    assert [row.cells for row in second.rows] == [["004217", "un", "2026-04-03", "a"]]
    assert [(f.code, f.line, f.field) for f in second.faults] == [("bad_integer", 2, "id_entity")]


def test_a_workbooks_texts_stay_texts() -> None:
    content = book([["Matricule", "Nom", "Entité"], [1, "'=HYPERLINK(1)", "un"]])
    again = rejected(content, "a.xlsx")
    cells = [cell for row in openpyxl.load_workbook(io.BytesIO(again)).active for cell in row]  # type: ignore[union-attr]
    assert not [cell for cell in cells if cell.data_type == "f"]
    assert "=HYPERLINK(1)" in [cell.value for cell in cells]
    faults = read(again, "b.xlsx", EMPLOYEE).faults
    assert ("formula_as_text", "Nom") in [(fault.code, fault.column) for fault in faults]


def test_a_text_that_looks_like_a_formula_stays_a_text_in_a_workbook() -> None:
    """Excel stores the value as text if the cell has the format text."""
    made = openpyxl.load_workbook(io.BytesIO(book([["Nom", "Entité"], ["A", "un"]])))
    typed = made.worksheets[0]["A2"]
    typed.value, typed.data_type = "=HYPERLINK(1)", "s"
    again = openpyxl.load_workbook(io.BytesIO(rejected(saved(made), "a.xlsx")))
    cell = again.worksheets[0]["H2"]
    assert (cell.value, cell.data_type) == ("=HYPERLINK(1)", "s")
    assert cell.quotePrefix  # it stays a text when a user edits it
