"""Workbooks: real dates and numbers, text as text, and no way in for bombs."""

# ruff: noqa: DTZ001 - a workbook's dates have no zone

import io
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import openpyxl
import pytest

from bms_flows.creation.employees import EMPLOYEE
from bms_flows.drops.reading import read
from bms_flows.drops.sheet import Limits, Sheet

Arrange = Callable[[Any], None]


def book(rows: Sequence[Sequence[Any]], arrange: Arrange | None = None) -> bytes:
    made = openpyxl.Workbook()
    sheet = made.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    if arrange:
        arrange(made)
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


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


def test_zeros_that_a_format_shows_are_there() -> None:
    assert one("Matricule", 4217, "000000") == "004217"


def test_lines_are_the_sheets_own_and_blank_ones_are_no_rows() -> None:
    sheet = opened([[], ["Nom", "Entité"], [None, " "], ["A", "un"], [], ["B", 2]])
    assert [row.line for row in sheet.rows] == [4, 6]
    assert [(fault.line, fault.code) for fault in sheet.faults] == [(4, "bad_integer")]


def test_a_short_row_is_only_empty_at_its_end() -> None:
    sheet = opened([["Nom", "Prénom", "Entité"], ["A"]])
    assert [row.values for row in sheet.rows] == [{"last_name": "A"}]


def test_a_cell_beside_the_table_is_refused() -> None:
    assert codes(opened([["Nom"], ["A", "B"]])) == ["cell_count"]


def test_merged_cells_are_refused() -> None:
    rows = [["Nom", "Service"], ["A", "RH"], ["B", None]]
    assert codes(opened(rows, lambda made: made.active.merge_cells("B2:B3"))) == ["merged_cells"]


def test_the_sheet_that_has_our_headers_is_read() -> None:
    def arrange(made: Any) -> None:
        made.create_sheet("Consignes", 0).append(["Lisez-moi"])

    assert [r.values for r in opened([["Nom"], ["A"]], arrange).rows] == [{"last_name": "A"}]


def test_two_sheets_with_our_headers_are_refused() -> None:
    assert codes(opened([["Nom"], ["A"]], lambda b: b.create_sheet().append(["Nom"]))) == [
        "several_sheets"
    ]


def test_a_hidden_sheet_is_not_read() -> None:
    def arrange(made: Any) -> None:
        hidden = made.create_sheet()
        hidden.append(["Nom"])
        hidden.sheet_state = "hidden"

    assert [r.values for r in opened([["Nom"], ["A"]], arrange).rows] == [{"last_name": "A"}]


def repacked(content: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    return stream.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    content = repacked(book([["Nom"], ["A"]]), SHEET, lambda xml: xml + b" " * 50_000_000)
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
    end = b"</sheetData>"
    content = repacked(book([["Nom"], ["A"]]), SHEET, lambda xml: xml.replace(end, rows + end))
    assert codes(read(content, "a.xlsx", EMPLOYEE)) == ["too_big"]


def test_entities_are_refused() -> None:
    evil = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'
    content = repacked(book([["Nom"], ["A"]]), SHEET, lambda xml: evil + xml)
    assert codes(read(content, "a.xlsx", EMPLOYEE)) == ["bad_workbook"]


def test_a_size_that_lies_costs_nothing() -> None:
    content = repacked(
        book([["Nom"], ["A"]]),
        SHEET,
        lambda xml: xml.replace(b'<dimension ref="A1:A2"', b'<dimension ref="A1:XFD1048576"'),
    )
    assert [r.values for r in read(content, "a.xlsx", EMPLOYEE).rows] == [{"last_name": "A"}]


@pytest.mark.parametrize("cut", [10, 200, 1000, -10])
def test_a_damaged_workbook_is_refused(cut: int) -> None:
    assert codes(read(book([["Nom"], ["A"]])[:cut], "a.xlsx", EMPLOYEE)) == ["bad_workbook"]


def test_damaged_xml_is_refused() -> None:
    content = repacked(book([["Nom"], ["A"]]), SHEET, lambda xml: xml[: len(xml) // 2])
    assert codes(read(content, "a.xlsx", EMPLOYEE)) == ["bad_workbook"]


def test_too_many_rows_are_refused() -> None:
    assert codes(opened([["Nom"], ["A"], ["B"]], limits=Limits(rows=1))) == ["too_big"]


def test_an_empty_workbook_is_refused() -> None:
    assert codes(opened([])) == ["empty_file"]
