"""Workbooks: stored dates and numbers, text as text, and refusal of zip bombs."""

# ruff: noqa: DTZ001 - a workbook's dates have no zone

import io
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
from openpyxl.formatting.rule import Rule
from openpyxl.styles import Font
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.styles.numbers import NumberFormat

from bms_flows.onboarding.reading.corrections import Corrections, corrected
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Limits, Sheet
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.workbooks import of_rows, saved, workbook

Arrange = Callable[[Any], None]


def book(rows: Sequence[Sequence[Any]], arrange: Arrange | None = None) -> bytes:
    made = of_rows(rows)
    if arrange:
        arrange(made)
    return saved(made)


def opened(rows: Sequence[Sequence[Any]], arrange: Arrange | None = None, **given: Any) -> Sheet:
    return read(book(rows, arrange), "a.xlsx", EMPLOYEE, **given)


def codes(sheet: Sheet) -> list[str]:
    return [fault.code for fault in sheet.faults]


def one(header: str, cell: Any, number_format: str | None = None) -> Any:
    def arrange(made: Any) -> None:
        if number_format:
            made.active["A2"].number_format = number_format

    sheet = opened([[header], [cell]], arrange)
    return codes(sheet)[0] if sheet.faults else next(iter(sheet.rows[0].values.values()))


@pytest.mark.parametrize(
    ("header", "cell", "expected"),
    [
        ("Date d'entrée", datetime(2026, 4, 3), date(2026, 4, 3)),
        ("Date d'entrée", date(2026, 12, 31), date(2026, 12, 31)),
        ("Date d'entrée", "31/12/2026", date(2026, 12, 31)),
        ("Date d'entrée", datetime(2026, 4, 3, 14), "bad_date"),
        ("Date d'entrée", time(14), "bad_date"),
        ("Date d'entrée", 46387, "bad_date"),
        ("Salaire", 2850.5, Decimal("2850.5")),
        ("Salaire", 0.1 + 0.2, Decimal("0.3")),
        ("Salaire", 3000, Decimal(3000)),
        ("Salaire", "2 850,50", Decimal("2850.50")),
        ("Entité", 1, 1),
        ("Entité", 1.0, 1),
        ("Entité", 1.5, "bad_integer"),
        ("Consultant", True, True),
        ("Consultant", "non", False),
        ("Consultant", 2, "bad_boolean"),
        ("Matricule", "004217", "004217"),
        ("Matricule", 4217, "4217"),
        ("Matricule", 294050105300100, "294050105300100"),
        ("Matricule", 2940501053001001, "not_text"),
        ("Position", 2.1, "not_text"),
        ("Position", datetime(2026, 5, 22), "not_text"),
        ("Nom", True, "not_text"),
        ("Nom", "NA", "NA"),
        ("Nom", "#N/A", "excel_error"),
        ("Nom", "=1+1", "formula_without_value"),
        ("Nom", "HÃ©lÃ¨ne", "mojibake"),
    ],
)
def test_cells(header: str, cell: Any, expected: object) -> None:
    found = one(header, cell)
    assert found == expected
    assert type(found) is type(expected)


PHONE = '0#" "##" "##" "##" "##'


@pytest.mark.parametrize(
    ("header", "cell", "number_format", "expected"),
    [
        ("Matricule", 4217, "000000", "004217"),
        ("Matricule", 4217, "000000;-000000", "004217"),
        ("Matricule", 42, '"EMP-"0000', "EMP-0042"),
        ("Matricule", "0042", '"EMP-"@', "EMP-0042"),
        ("Mobile personnel", 612345678, PHONE, "06 12 34 56 78"),
        ("Code postal", 1000, "00000", "01000"),
        ("Taux d'activité", 1, "0%", 100),
        ("Taux d'activité", 0.8, "0%", 80),
        ("Taux d'activité", 80, "0", 80),
        ("Taux d'activité", 80, '0" %"', 80),
        ("Taux d'activité", 0.805, "0%", "rounded_by_format"),
        ("Taux d'activité", 0.805, "0.0%", "bad_integer"),
        ("Taux d'activité", 100, "0.00E+00", "unread_format"),
        ("Salaire", 2850.5, '#,##0.00\\ "€"', Decimal("2850.5")),
        ("Salaire", 0.1, "0%", "unread_format"),
        ("Salaire", 2850.5, "0", "rounded_by_format"),
        ("Salaire", 12, '0" k€"', "unread_format"),
        ("Matricule", 4217, "# ?/?", "unread_format"),
        ("Matricule", 4217, ";;;", "unread_format"),
        ("Matricule", "004217", ";;;", "unread_format"),
        ("Matricule", 4217, "#,##0", "not_text"),
        ("Position", 2.1, "0.0", "not_text"),
        ("Consultant", 1, '"oui";;"non"', True),
        ("Consultant", 1, '"non";;"oui"', False),
        ("Date d'entrée", 46387, "0", "bad_date"),
        ("Date d'entrée", 46387, "[$-40C]d\\-mmm\\-yy;@", date(2026, 12, 31)),
        ("Date d'entrée", datetime(2026, 4, 3, 14), "dd/mm/yyyy", date(2026, 4, 3)),
        ("Date d'entrée", datetime(2026, 4, 3, 14), "dd/mm/yyyy hh:mm", "bad_date"),
        *(
            ("Date d'entrée", date(2026, 5, 17), code, "partial_date")
            for code in ("d-mmm", "mmm-yy", 'dd "mai"', "h:mm")
        ),
        *(
            ("Date d'entrée", date(2026, 5, 17), code, date(2026, 5, 17))
            for code in ("[$-40C]d mmmm yyyy", "dd/mm/yy;@", "mm-dd-yy")
        ),
    ],
)
def test_a_cell_is_what_excel_shows(
    header: str, cell: Any, number_format: str, expected: object
) -> None:
    found = one(header, cell, number_format)
    assert found == expected
    assert type(found) is type(expected)


def test_an_unsupported_number_format_is_reported_with_its_cell() -> None:
    def arrange(made: Any) -> None:
        made.active["B2"].number_format = "0.00E+00"

    [fault] = opened([["Nom", "Taux d'activité"], ["A", 100]], arrange).faults
    assert (fault.line, fault.column) == (2, "Taux d'activité")
    for text in (fault.reason("FR"), fault.reason("EN")):
        assert "B2" in text
        assert "0.00E+00" in text


def day(number: int, month: int) -> datetime:
    return datetime(2026, month, number)


@pytest.mark.parametrize(
    ("cells", "refused"),
    [
        # French Excel makes dates of 01/06 and 02/06, and leaves 01/13/2026 as text.
        ([day(1, 6), day(2, 6), "01/13/2026"], {2, 3, 4}),
        ([day(1, 6), day(31, 8), day(5, 5), "01/13/2026"], {2, 5}),
        # American Excel makes January 6 of 01/06, and leaves 13/01/2026 as text.
        ([day(6, 1), day(6, 2), "13/01/2026", "25/02/2026"], {2, 3}),
        ([day(6, 1), day(31, 8), "13/01/2026"], set()),
        ([day(6, 1), "13/01/2026", "06/02/2026"], set()),
        ([day(1, 6), "2026-06-13"], set()),
    ],
)
def test_dates_beside_texts_of_another_order_are_refused(
    cells: list[Any], refused: set[int]
) -> None:
    sheet = opened([["Date d'entrée"], *([cell] for cell in cells)])
    assert set(codes(sheet)) == ({"contradicting_dates"} if refused else set())
    assert {fault.line for fault in sheet.faults} == refused


def test_the_example_of_the_template_shows_no_order_of_dates() -> None:
    """The template's cells are texts; dates that are pasted below stay dates."""
    fields = [EMPLOYEE.by_name[name] for name in EMPLOYEE.required]
    header, example = [field.label for field in fields], [field.example for field in fields]
    assert codes(opened([header, example, [1, "Roy", "Luc", day(6, 1), "0042"]])) == ["example_row"]


def test_line_numbers_are_those_of_the_sheet_and_blank_lines_are_no_rows() -> None:
    sheet = opened([[], ["Nom", "Entité"], [None, " "], ["A", "un"], [], ["B", 2]])
    assert [row.line for row in sheet.rows] == [4, 6]
    assert [(fault.line, fault.code) for fault in sheet.faults] == [(4, "bad_integer")]


FIVE: list[list[Any]] = [["Nom", "Entité"], ["A", 1], ["B", 1], ["C", 1], ["D", 1], ["E", 1]]


def flattened(xml: bytes) -> bytes:
    return xml.replace(b'ht="0.5"', b'ht="0"').replace(b'width="0.5"', b'width="0"')


def filtered(made: Any) -> None:
    made.active.auto_filter.ref = "A1:B6"
    for line in (3, 4, 5, 6):
        made.active.row_dimensions[line].hidden = True


def collapsed(made: Any) -> None:
    made.active.row_dimensions.group(3, 6, hidden=True)


def flat(made: Any) -> None:
    for line in (3, 4, 5, 6):
        made.active.row_dimensions[line].height = 0.5  # openpyxl writes no 0


@pytest.mark.parametrize("arrange", [filtered, collapsed, flat])
def test_hidden_rows_are_refused_and_returned_hidden(arrange: Arrange) -> None:
    content = repacked(book(FIVE, arrange), SHEET, flattened)
    sheet = read(content, "a.xlsx", EMPLOYEE)
    assert [row.line for row in sheet.rows] == [2, 3, 4, 5, 6]
    assert [row.line for row in sheet.rows if not sheet.faults_of(row)] == [2]
    assert {(fault.code, fault.line) for fault in sheet.faults} == {
        ("hidden_row", line) for line in (3, 4, 5, 6)
    }
    faults = {row.line: sheet.faults_of(row) for row in sheet.rows if sheet.faults_of(row)}
    answer = reject_files(content, sheet.form, faults)[".xlsx"]
    assert codes(read(answer, "b.xlsx", EMPLOYEE)) == ["hidden_row"] * 4
    shown: Any = openpyxl.load_workbook(io.BytesIO(answer)).active
    seen = [row for row in shown if not shown.row_dimensions[row[0].row].hidden]
    [reason] = [cell.value for cell in seen[1] if str(cell.value).startswith("Lignes masquées")]
    assert reason == "Lignes masquées dans ce fichier\xa0: 4."
    assert len(seen) == 2, "the header and this reason"


def test_the_header_is_the_first_visible_row() -> None:
    rows: list[list[Any]] = [["Durand", 7], ["Nom", "Entité"], ["A", 1]]

    def arrange(made: Any) -> None:
        made.active.row_dimensions[1].hidden = True

    content = book(rows, arrange)
    sheet = read(content, "a.xlsx", EMPLOYEE)
    assert [(row.line, row.values) for row in sheet.rows if not sheet.faults_of(row)] == [
        (3, {"last_name": "A", "id_entity": 1})
    ]
    assert [(fault.code, fault.line) for fault in sheet.faults] == [("hidden_row", 1)]
    again = reject_files(content, sheet.form, {1: sheet.faults})[".xlsx"]
    assert codes(read(again, "b.xlsx", EMPLOYEE)) == ["hidden_row"]


def without_width(made: Any) -> None:
    made.active.column_dimensions["B"].width = 0.5


def hidden_column(made: Any) -> None:
    made.active.column_dimensions["B"].hidden = True


def collapsed_columns(made: Any) -> None:
    made.active.column_dimensions.group("B", "C", hidden=True)


@pytest.mark.parametrize("arrange", [hidden_column, collapsed_columns, without_width])
def test_a_filled_column_that_a_user_does_not_see_is_refused(arrange: Arrange) -> None:
    content = book([["Nom", "Salaire"], ["A", 2850], ["B", None]], arrange)
    content = repacked(content, SHEET, flattened)
    sheet = read(content, "a.xlsx", EMPLOYEE)
    assert [(f.code, f.line, f.column) for f in sheet.faults] == [("hidden_column", 1, "Salaire")]
    assert sheet.refused
    faults = {row.line: sheet.faults_of(row) for row in sheet.rows}
    again = read(reject_files(content, sheet.form, faults)[".xlsx"], "b.xlsx", EMPLOYEE)
    assert codes(again) == ["hidden_column"]


def test_an_empty_hidden_column_is_not_reported() -> None:
    rows: list[list[Any]] = [["Nom", "Salaire", "Entité"], ["A", None, 1], ["B", 2850, 1]]

    def arrange(made: Any) -> None:
        hidden_column(made)
        made.active.row_dimensions[3].hidden = True

    assert codes(opened(rows, arrange)) == ["hidden_row"]


@pytest.mark.parametrize("state", ["hidden", "veryHidden"])
def test_a_workbook_with_rows_on_a_hidden_sheet_is_refused_with_that_reason(state: str) -> None:
    def arrange(made: Any) -> None:
        made.create_sheet("Lisez-moi").append(["Bonjour"])
        made.active.sheet_state = state

    assert codes(opened(FIVE, arrange)) == ["hidden_sheet"]


def test_a_short_row_is_only_empty_at_its_end() -> None:
    sheet = opened([["Nom", "Prénom", "Entité"], ["A"]])
    assert [row.values for row in sheet.rows] == [{"last_name": "A"}]


def test_a_cell_outside_the_table_is_refused() -> None:
    [fault] = opened([["Nom", ""], ["A", "", "B"]]).faults
    assert (fault.code, fault.line) == ("unnamed_column", 2)
    assert fault.reason("FR") == "Une colonne remplie n'a pas d'en-tête\xa0: la colonne C."


@pytest.mark.parametrize(
    ("corrections", "found"),
    [
        (Corrections({3: {1: "C"}}), ["hidden_column", "merged_cells"]),
        (Corrections({3: {4: "Paie"}}), ["hidden_column"]),
        (Corrections({3: {4: "Paie"}}, {3: "Salaire"}), []),
        (Corrections(headers={0: None, 3: None}), ["merged_cells"]),
    ],
)
def test_a_correction_of_other_cells_shows_and_splits_no_cell(
    corrections: Corrections, found: list[str]
) -> None:
    """A page corrects cells; the remark on a hidden column or merged cells must not be lost with them."""
    header = ["x", "Nom", "Prénom", "Salaire", "Service", "Ville"]
    rows: list[list[Any]] = [header, ["", "A", "Zoé", 2850, "RH", "=B2"], ["", "B"]]

    def arrange(made: Any) -> None:
        made.active.merge_cells("E2:E3")
        made.active.column_dimensions["D"].hidden = True

    content = book(rows, arrange)
    sheet = read(content, "a.xlsx", EMPLOYEE)
    assert codes(sheet) == ["hidden_column", "merged_cells", "formula_without_value"]
    again = read(corrected(content, sheet.form, corrections), "a.xlsx", EMPLOYEE)
    assert codes(again) == [*found, "excel_error"]
    assert again.rows[0].values["first_name"] == "Zoé"
    if "merged_cells" in found:
        ranges = [dict(fault.details) for fault in again.faults if fault.code == "merged_cells"]
        assert ranges == [{"cells": "C2:C3" if 0 in corrections.headers else "E2:E3"}]


RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("content.xml", b"<x/>"),  # .ods
        ("xl/workbook.bin", b"\x83\x01\x00"),  # .xlsb
        ("word/document.xml", b"<document/>"),  # .docx
    ],
)
def test_another_format_named_as_a_workbook_is_not_called_damaged(
    part: str, content: bytes
) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        if part != "content.xml":
            target = f'<Relationship Id="r1" Type="{RELATION}" Target="{part}"/>'
            package.writestr(
                "_rels/.rels", f'<Relationships xmlns="{PACKAGE}">{target}</Relationships>'
            )
        package.writestr(part, content)
    assert codes(read(stream.getvalue(), "a.xlsx", EMPLOYEE)) == ["bad_kind"]


def test_the_reason_of_a_damaged_workbook_is_in_the_language_of_the_text() -> None:
    [fault] = read(book([["Nom"], ["A"]])[:-100], "a.xlsx", EMPLOYEE).faults
    assert fault.reason("FR") == "Le classeur est illisible\xa0: contenu endommagé."
    assert fault.reason("EN") == "The workbook can't be read: damaged content."


def added(*rows: Sequence[Any], at: int = 1, state: str = "visible") -> Arrange:
    """Add a sheet of these rows."""

    def arrange(made: Any) -> None:
        sheet = made.create_sheet("Lyon", at)
        sheet.sheet_state = state
        for row in rows:
            sheet.append(row)

    return arrange


ONE: list[list[Any]] = [["Nom"], ["A"]]
PARIS: list[list[Any]] = [
    ["Entité", "Matricule", "Nom", "Prénom", "Date d'entrée"],
    [1, "0042", "Durand", "Zoé", date(2026, 8, 31)],
]
LYON = [2, "0043", "Martin", "Paul", date(2026, 8, 31)]
HELP = (["Champ", "Exemple"], ["Nom", "payroll"], ["Matricule", "numéro de paie"])
TITLED = (["Nouveaux salariés Lyon"], ["Matricule", "Nom", "Remarque"])
ENGLISH = ["Nr", "Pay", "Family", "Given", "From"]


@pytest.mark.parametrize(
    ("rows", "second", "found"),
    [
        pytest.param(ONE, added(["Lisez-moi"], at=0), [], id="title page"),
        pytest.param(ONE, added(*HELP), [], id="explanations"),
        pytest.param(ONE, added(["Nom"], state="hidden"), [], id="hidden"),
        pytest.param(ONE, added(["Nom"]), ["several_sheets"], id="our headers"),
        pytest.param(ONE, added(*TITLED, at=0), ["several_sheets"], id="titled, first"),
        pytest.param(ONE, added(*TITLED), ["several_sheets"], id="titled, second"),
        pytest.param(PARIS, added([], LYON), ["several_sheets"], id="rows without a header"),
        pytest.param(PARIS, added(ENGLISH, LYON), ["several_sheets"], id="other headers"),
    ],
)
def test_a_second_sheet_is_refused_if_it_has_rows(
    rows: list[list[Any]], second: Arrange, found: list[str]
) -> None:
    sheet = opened(rows, second)
    assert codes(sheet) == found
    assert found or [row.values for row in sheet.rows] == [{"last_name": "A"}]


def repacked(content: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    return stream.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


def changed(change: Callable[[bytes], bytes]) -> bytes:
    """Return a workbook of one name whose sheet's XML was changed."""
    return repacked(book([["Nom"], ["A"]]), SHEET, change)


MAIN = b'"http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def with_rows(xml: bytes, rows: bytes) -> bytes:
    prefixed = xml.replace(b"xmlns=", b"xmlns:x=" + MAIN + b" xmlns=", 1)
    return prefixed.replace(b"</sheetData>", rows + b"</sheetData>")


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    content = changed(lambda xml: xml + b" " * 50_000_000)
    assert len(content) < 1_000_000
    limits = Limits(unpacked_bytes=10_000_000)
    assert codes(read(content, "a.xlsx", EMPLOYEE, limits=limits)) == ["too_big"]


@pytest.mark.parametrize(
    "rows",
    [
        b"<row>" + b"<c/>" * 200_000 + b"</row>",
        b"<x:row>" + b"<x:c><x:v>1</x:v></x:c>" * 50_000 + b"</x:row>",
        b"<row/>" * 1_100_000,
    ],
    ids=["one row", "with a prefix", "rows without end"],
)
def test_more_rows_or_columns_than_excel_has_are_not_unfolded(rows: bytes) -> None:
    """A row is held in memory whole: one of 300 MB would take gigabytes."""
    content = changed(lambda xml: with_rows(xml, rows))
    assert codes(read(content, "a.xlsx", EMPLOYEE)) == ["too_big"]


def in_utf_16(xml: bytes) -> bytes:
    text = xml.decode()
    text = text[text.index("<worksheet") :]
    return f'<?xml version="1.0" encoding="UTF-16"?>{text}'.encode("utf-16")


def in_utf_8(xml: bytes) -> bytes:
    return xml


def with_entity(xml: bytes) -> bytes:
    text = xml.replace(b"<row", b"<row><c t='inlineStr'><is><t>&a;</t></is></c></row><row", 1)
    return b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>]>" + text[text.index(b"<worksheet") :]


def with_entity_in_utf_16(xml: bytes) -> bytes:
    text = with_entity(xml).decode()
    return f'<?xml version="1.0" encoding="UTF-16"?>{text}'.encode("utf-16")


@pytest.mark.parametrize("change", [with_entity, with_entity_in_utf_16])
def test_entities_are_refused_in_any_encoding(change: Callable[[bytes], bytes]) -> None:
    [fault] = read(changed(change), "a.xlsx", EMPLOYEE).faults
    assert (fault.code, fault.details["why"]) == ("bad_workbook", "DOCTYPE")


SMALL = Limits(elements=100_000, cells=10_000)


@pytest.mark.parametrize("encoded", [in_utf_8, in_utf_16])
@pytest.mark.parametrize(
    "rows",
    [
        b"<row>" + b"<c/>" * 20_000 + b"</row>",
        b"<row/>" * 120_000,
        b"<row><c><v>1</v></c></row>" * 12_000,
        b"<row><c t='" + b"x" * 1_500_000 + b"'/></row>",
        b"<row><c>" + b"<z>" * 1_000 + b"</z>" * 1_000 + b"</c></row>",
        b"<!--" + b"x" * 1_500_000 + b"-->",
    ],
    ids=["one row", "rows", "cells", "one tag", "one in another", "a comment"],
)
def test_oversized_content_is_not_expanded_in_any_encoding(
    rows: bytes, encoded: Callable[[bytes], bytes]
) -> None:
    """The compressed file is small, so only parsing finds its size; parsing stops at the limit."""
    content = changed(lambda xml: encoded(with_rows(xml, rows)))
    assert len(content) < 100_000
    tracemalloc.start()
    try:
        assert codes(read(content, "a.xlsx", EMPLOYEE, limits=SMALL)) == ["too_big"]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_shared_strings_count_for_each_cell() -> None:
    assert codes(read(shared(["Nom", "A"]), "a.xlsx", EMPLOYEE)) == []
    many = shared(["Nom", *[""] * 12_000])
    assert codes(read(many, "a.xlsx", EMPLOYEE, limits=SMALL)) == ["too_big"]


@pytest.mark.parametrize(
    ("kind", "stored", "code"),
    [
        *(("n", stored, "excel_error") for stored in ("x", "NaN", "1_000", "1e999", "-")),
        *((kind, "1", "bad_workbook") for kind in ("x", "")),
        ("n&quot;>&lt;f>1+1&lt;/f>&lt;v>1&lt;/v>&lt;/c>&lt;c t=&quot;n", "1", "bad_workbook"),
    ],
)
def test_an_invalid_stored_number_or_an_unknown_type_of_a_cell_is_refused(
    kind: str, stored: str, code: str
) -> None:
    """Reject files and corrected files repeat the type: markup in it would become a formula."""
    name = '<row><c t="inlineStr"><is><t>Salaire</t></is></c></row>'
    row = f'<row><c t="{kind}"><v>{stored}</v></c></row>'
    content = workbook(f"<sheetData>{name}{row}</sheetData>")
    assert codes(read(content, "a.xlsx", EMPLOYEE)) == [code]


def shared(texts: Sequence[str]) -> bytes:
    """Return a workbook as Excel writes it: texts once, named by their places."""
    strings = "".join(f"<si><t>{text}</t></si>" for text in texts)
    rows = "".join(f'<row><c t="s"><v>{n}</v></c></row>' for n in range(2))
    return workbook(f"<sheetData>{rows}</sheetData>", strings=strings)


def test_a_false_size_in_the_archive_uses_no_memory() -> None:
    content = changed(lambda xml: xml.replace(b'ref="A1:A2"', b'ref="A1:XFD1048576"', 1))
    assert [r.values for r in read(content, "a.xlsx", EMPLOYEE).rows] == [{"last_name": "A"}]


@pytest.mark.parametrize("cut", [10, 200, 1000, -10])
def test_a_damaged_workbook_is_refused(cut: int) -> None:
    whole = book([["Nom"], ["A"]])
    for content in (whole[:cut], repacked(whole, SHEET, lambda xml: xml[: len(xml) // 2])):
        assert codes(read(content, "a.xlsx", EMPLOYEE)) == ["bad_workbook"]


SHARED: list[list[Any]] = [["Nom"], *[["Lefèvre"]] * 100]
"""A text counts for each of the cells that share it."""


@pytest.mark.parametrize(
    ("rows", "limits", "found"),
    [
        pytest.param([["Nom"], ["A"], ["B"]], Limits(rows=1), ["too_big"], id="rows"),
        pytest.param([], Limits(), ["empty_file"], id="nothing"),
        pytest.param(SHARED, Limits(characters=700), ["too_big"], id="a text of many cells"),
        pytest.param(SHARED, Limits(characters=703), [], id="a text of many cells, allowed"),
        pytest.param([["Nom", "a" * 201], ["A", "B"]], Limits(), ["too_big"], id="long header"),
    ],
)
def test_a_workbook_beyond_a_limit_is_refused(
    rows: list[list[Any]], limits: Limits, found: list[str]
) -> None:
    assert codes(opened(rows, limits=limits)) == found


def test_more_faults_than_the_limit_refuse_the_file() -> None:
    rows = [["Nom", "Date d'entrée"], *[["A", "jamais"]] * 20]
    found = opened(rows, limits=Limits(faults=19))
    assert codes(found) == ["too_big"]
    assert not found.rows


def test_many_rows_repeat_fewer_faults_of_the_file() -> None:
    content = ";".join(["Nom"] * 200) + "\n" + "A\n" * 4_000
    found = read(content.encode(), "a.csv", EMPLOYEE)
    assert len(found.file_faults) * len(found.rows) > 2 * Limits().faults
    listed = sum(len(found.faults_of(row)) for row in found.rows)
    assert listed < 1.1 * Limits().faults, "some rows have a fault of their own"


@pytest.mark.parametrize(
    ("style", "found"),
    [
        ({"font": Font(strike=True)}, ["hidden_by_rule"]),
        ({"numFmt": NumberFormat(164, ";;;")}, ["hidden_by_rule"]),
        ({"font": Font(bold=True), "numFmt": NumberFormat(164, "0.00")}, []),
    ],
)
def test_a_conditional_format_that_strikes_through_or_hides_is_refused(
    style: dict[str, Any], found: list[str]
) -> None:
    def arrange(made: Any) -> None:
        for conditional in (DifferentialStyle(font=Font(italic=True)), DifferentialStyle(**style)):
            rule = Rule(type="expression", dxf=conditional, formula=["$B2<1"])
            made.active.conditional_formatting.add("A2:C9", rule)

    sheet = opened([["Nom"], ["Lefèvre"]], arrange)
    assert codes(sheet) == found
    # No copy of the rows to drop again, or to correct on the page: it would lack the format.
    assert bool(sheet.rows) is not bool(found)
