"""Rows that a user has struck through in Excel instead of deleting them."""

import io
from typing import Any

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.workbooks import of_rows, saved

STRUCK = Font(strike=True)
PARTLY = CellRichText("Robin", TextBlock(InlineFont(strike=True), " Martin"))


def book(*names: Any) -> Any:
    return of_rows([["Nom", "Entité", "Ville"], *([name, 1, None] for name in names)])


def faults(sheet: Sheet) -> list[tuple[str, int | None]]:
    return [(fault.code, fault.line) for fault in sheet.faults]


def test_a_struck_row_is_refused_and_returned_struck() -> None:
    made = book("Petit", "Robin", "Roux")
    for cell in made.active[3]:
        cell.font = STRUCK
    content = saved(made)
    sheet = read(content, "a.xlsx", EMPLOYEE)
    assert faults(sheet) == [("struck_row", 3)]
    assert not sheet.refused
    answer = reject_files(content, sheet.form, {3: sheet.faults})[".xlsx"]
    assert faults(read(answer, "b.xlsx", EMPLOYEE)) == [("struck_row", 2)]

    repaired = openpyxl.load_workbook(io.BytesIO(answer))
    for row in repaired.worksheets[0]:
        for cell in row:
            cell.font = Font()
    again = read(saved(repaired), "b.xlsx", EMPLOYEE)
    assert not again.faults
    assert again.rows[0].values == {"last_name": "Robin", "id_entity": 1}


def test_a_name_of_which_a_part_is_struck_is_refused() -> None:
    assert faults(read(saved(book("Petit", PARTLY)), "a.xlsx", EMPLOYEE)) == [("struck_row", 3)]


@pytest.mark.parametrize("font", [Font(strike=False), Font(bold=True), Font(underline="single")])
def test_another_font_is_not_struck(font: Font) -> None:
    made = book("Petit")
    made.active["A2"].font = font
    assert not read(saved(made), "a.xlsx", EMPLOYEE).faults


def test_an_empty_struck_cell_refuses_nothing() -> None:
    made = book("Petit")
    made.active["C2"].font = STRUCK
    assert not read(saved(made), "a.xlsx", EMPLOYEE).faults
