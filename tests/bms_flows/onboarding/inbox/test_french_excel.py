"""Files that a user opens and saves in French Excel: each value is what it was, or refused."""

import csv
import io
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bms_flows.onboarding.inbox import templates
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.contact import CONTACT
from bms_flows.onboarding.resources.description import Resource, Value
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.french_excel import (
    saved_as_csv,
    saved_as_workbook,
    typed,
    typed_into,
    workbook_saved_again,
)

SAVES: dict[str, Callable[[bytes], bytes]] = {
    "a.csv": saved_as_csv,
    "utf-8.csv": partial(saved_as_csv, encoding="utf-8-sig"),
    "a.xlsx": saved_as_workbook,
}
HEADERS = ("Matricule", "Nom", "Entité", "Code postal", "Mobile personnel", "N° de sécu", "Position",
           "Date d'entrée", "Salaire", "Taux d'activité", "Compétences")  # fmt: skip
EXAMPLES = settings().max_examples // 2
"""Each writes and reads several files."""
HARMFUL = {
    "Matricule": ["004217", '="004217"', '="12-05-99"', "4217", "00", "EMP-42", "1E5", "3/4", "MARS1", "12 345", "12-05-99", "1/2/3", "123456789012", "1,50"],
    "Code postal": ["01000", '="01000"', "2A004", "75001", "97 400"],
    "Mobile personnel": ["0612345678", "+33612345678", "06 12 34 56 78", "+33 6 12 34 56 78", "0033612345678"],
    "N° de sécu": ["294050105300100", "2 94 05 01 053 001 00", "2940501053001"],
    "Position": ["2.1", "1-2", "II", "2.1.1", "3.10"],
    "Date d'entrée": ["31/08/2026", "01/06/2026", "2026-09-01"],
    "Salaire": ["2850,50", "2 850,50", "3000"],
    "Taux d'activité": ["100", "80 %"],
    "Compétences": ["Java, SQL", "- a\n- b", "x,=1+1", "C++"],
}  # fmt: skip

EVERY_CELL = [
    {header: cells[n % len(cells)] for header, cells in HARMFUL.items()}
    for n in range(max(map(len, HARMFUL.values())))
]


def rejected(
    rows: list[dict[str, str]], encoding: str = "cp1252"
) -> tuple[Sheet, dict[str, bytes]]:
    """Return the rows read from a CSV, and outcomes that reject all of them."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, HEADERS, delimiter=";", restval="")
    writer.writeheader()
    writer.writerows({"Nom": "Dupré", "Entité": "1", **row} for row in rows)
    content = stream.getvalue().encode(encoding)
    sheet = read(content, "a.csv", EMPLOYEE)
    assert sheet.faults == ()
    return sheet, reject_files(content, sheet.form, {row.line: [] for row in sheet.rows})


def altered(before: Sheet, after: Sheet) -> list[tuple[str, Value, Value | None]]:
    """Return the fields that are read as other values, of rows that aren't refused."""
    return [
        (name, value, again.values.get(name))
        for row, again in zip(before.rows, after.rows, strict=True)
        if not after.faults_of(again)
        for name, value in row.values.items()
        if again.values.get(name) != value
    ]


@pytest.mark.parametrize("name", SAVES)
@pytest.mark.parametrize(
    ("header", "cell"), [(header, cell) for header, cells in HARMFUL.items() for cell in cells]
)
def test_a_rejected_csv_saved_in_excel_has_no_other_value(
    name: str, header: str, cell: str
) -> None:
    before, answers = rejected([{header: cell}])
    assert altered(before, read(SAVES[name](answers[".csv"]), name, EMPLOYEE)) == []


def test_lost_leading_zeros_are_reported_with_column_and_remedy() -> None:
    _, answers = rejected(
        [{"Matricule": "004217", "Code postal": "01000", "Mobile personnel": "0612345678"}]
    )
    for name, save in SAVES.items():
        sheet = read(save(answers[".csv"]), name, EMPLOYEE)
        assert [(fault.code, fault.column) for fault in sheet.faults] == [
            ("changed_by_excel", header)
            for header in ("Matricule", "Code postal", "Mobile personnel")
        ]
        assert all("_original" in fault.hint("FR") for fault in sheet.faults)


def test_a_number_that_libreoffice_shows_as_a_date_is_refused() -> None:
    _, answers = rejected([{"Matricule": "12-05-99"}])
    damaged = answers[".csv"].replace(b";12-05-99;", b";12/05/99;")
    assert damaged != answers[".csv"]
    sheet = read(damaged, "a.csv", EMPLOYEE)
    assert [fault.code for fault in sheet.faults] == ["changed_by_excel"]


def test_a_value_that_excel_changed_stays_refused_until_it_is_corrected() -> None:
    _, answers = rejected([{"Matricule": "004217"}])
    damaged = saved_as_csv(answers[".csv"])
    for _ in range(2):
        sheet = read(damaged, "a.csv", EMPLOYEE)
        assert [fault.code for fault in sheet.faults] == ["changed_by_excel"]
        answer = reject_files(damaged, sheet.form, {2: sheet.faults})
        damaged = saved_as_csv(answer[".csv"])
    text = answer[".csv"].decode("cp1252")
    for corrected in (
        text.replace(";4217;", ";004217;"),
        text.replace("payroll_number=004217", ""),
        text.replace(";4217;", ";4218;"),
    ):
        assert read(corrected.encode("cp1252"), "a.csv", EMPLOYEE).faults == ()


@example(EVERY_CELL, "cp1252")
@settings(max_examples=EXAMPLES)
@given(
    st.lists(
        st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in HARMFUL.items()}),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["cp1252", "utf-8-sig"]),
)
def test_the_workbook_saved_in_excel_has_every_value(
    rows: list[dict[str, str]], encoding: str
) -> None:
    before, answers = rejected(rows, encoding)
    after = read(workbook_saved_again(answers[".xlsx"]), "a.xlsx", EMPLOYEE)
    assert after.faults == ()
    assert [row.values for row in after.rows] == [row.values for row in before.rows]


def test_the_last_column_that_excel_leaves_out_of_blocks_of_rows_is_empty() -> None:
    """Of a CSV, Excel writes 16 rows at a time, each block up to its last column with a value."""
    cells = [["Entité", "Matricule", "Nom", "Date d'entrée", "Mobile personnel"]]
    cells += [["1", f"{n:06d}", "Dupré", "01/09/2026", ""] for n in range(2, 41)]
    cells[2][-1] = cells[39][-1] = "06 12 34 56 78"
    cells[20][3] = "demain"
    content = "".join(
        ";".join(row[: 4 if 16 <= n < 32 else 5]) + "\r\n" for n, row in enumerate(cells)
    ).encode("cp1252")
    sheet = read(content, "a.csv", EMPLOYEE)
    assert [(fault.code, fault.line) for fault in sheet.faults] == [("bad_date", 21)]
    answers = reject_files(content, sheet.form, {21: sheet.faults})
    assert b"#MANQUE" not in answers[".csv"]
    corrected = answers[".csv"].replace(b"demain", b"02/09/2026")
    assert read(corrected, "a.csv", EMPLOYEE).faults == ()


def test_a_single_short_row_may_have_lost_a_cell_in_the_middle() -> None:
    rows = ["Matricule;Nom;Ville", *["1;A;B"] * 20, "1;B", *["1;A;B"] * 20, ""]
    sheet = read("\r\n".join(rows).encode(), "a.csv", EMPLOYEE)
    assert [(fault.code, fault.line) for fault in sheet.faults] == [("cell_count", 22)]


DIGITS = st.text("0123456789+ ,./-E", min_size=1, max_size=9)


@settings(max_examples=EXAMPLES)
@given(st.lists(DIGITS, min_size=1, max_size=3), st.sampled_from(sorted(SAVES)))
def test_normalization_never_merges_two_keys(keys: list[str], name: str) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=";").writerows(
        [["Matricule", "Nom"], *([key, "A"] for key in keys)]
    )
    content = stream.getvalue().encode()
    before = read(content, "a.csv", EMPLOYEE)
    faults = {row.line: before.faults_of(row) for row in before.rows}
    answer = reject_files(content, before.form, faults)[".csv"]
    after = read(SAVES[name](answer), name, EMPLOYEE)
    assert altered(before, after) == []


ROW = {
    "Matricule": "004217",
    "Nom": "Dupré",
    "Prénom": "Zoé",
    "Entité": "1",
    "Date d'entrée": "01/06/2026",
    "Code postal": "01000",
    "Position": "2.1",
    "Salaire de base": "2850,50",
    "Mobile personnel": "0612345678",
    "Taux d'activité": "80 %",
}


def test_what_is_typed_into_the_workbook_template_is_read() -> None:
    labels = [field.label for field in EMPLOYEE.fields]
    row = [ROW.get(label, "") for label in labels]
    sheet = read(typed_into(templates.xlsx_template(EMPLOYEE), [row]), "a.xlsx", EMPLOYEE)
    assert [fault.code for fault in sheet.faults] == ["example_row"]
    read_as_csv = read(
        ("\r\n".join(map(";".join, [labels, row])) + "\r\n").encode(), "a.csv", EMPLOYEE
    )
    assert sheet.rows[1].values == read_as_csv.rows[0].values
    assert sheet.rows[1].values["payroll_number"] == "004217"


@pytest.mark.parametrize("name", SAVES)
@pytest.mark.parametrize("resource", [EMPLOYEE, CONTACT])
def test_the_example_that_excel_changed_is_still_the_example(name: str, resource: Resource) -> None:
    """Without the columns whose example Excel takes for a date, which a user may remove."""
    rows = list(
        csv.reader(io.StringIO(templates.csv_template(resource).decode("utf-8-sig")), delimiter=";")
    )
    kept = [place for place, cell in enumerate(rows[1]) if cell != "2.1"]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=";").writerows([[row[n] for n in kept] for row in rows])
    saved = SAVES[name](b"\xef\xbb\xbf" + stream.getvalue().encode())
    assert [fault.code for fault in read(saved, name, resource).faults] == ["example_row"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("004217", "4217"), ("+33612345678", "33612345678"), ("123456789012", "1,23457E+11"),
        ("12 345", "12345"), ("2850,50", "2850,5"), ("80 %", "80%"), ("12,5%", "12,50%"), ("1E5", "1,00E+05"),
        ("2.1", "02-janv"), ("3/4", "03-avr"), ("MARS1", "01-mars"), ("2/13", "févr-13"),
        ("2026-06-01", "01/06/2026"), ("01/13/2026", "01/13/2026"), ("1/6/26", "01/06/2026"),
        ("06 12 34 56 78", "06 12 34 56 78"), ("EMP-42", "EMP-42"), ("2A004", "2A004"), ("vrai", "VRAI"),
        ("=1+1", "#NOM?"), ("+33 6 12", "+33 6 12"), ("12345678901234567", "1,23457E+16"),
    ],
)  # fmt: skip
def test_the_model_shows_what_french_excel_shows(text: str, shown: str) -> None:
    assert typed(text).shown == shown
