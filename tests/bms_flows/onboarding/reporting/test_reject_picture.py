"""Picture of a reject file for the documentation: the cells of a real rejected.xlsx, light and dark.

If BMS_PICTURES names a folder, the pictures are saved there.
"""

import html
import io
import os
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from playwright.sync_api import expect

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests import services

pytestmark = [pytest.mark.services, pytest.mark.prove]

DROP = (
    "Nom;Prénom;Entité;Matricule;Date d'entrée;N° de sécu\r\n"
    "D'Angelo;Noémie;1;000801;08/03/2027;294053018901234\r\n"
    "Lemaître;Benoît;1;000802;31/02/2027;185057800608436\r\n"
    "Pérès;Anaïs;1;000803;15/03/27;288016938401275\r\n"
    "Ünal;Cédric;1;000806;15/03/2027;1,85058E+14\r\n"
)
SHOWN = ("_cell", "Nom", "Prénom", "Entité", "Matricule", "Date d'entrée", "N° de sécu")
REASON = "_reason_fr"
PAGE = """<!doctype html><html lang="fr"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><style>
body {{ margin: 0; font: 14px/1.5 system-ui, sans-serif; color: light-dark(#1f2933, #e6edf3); background: light-dark(#fff, #1b1b1f) }}
table {{ border-collapse: collapse }} td, th {{ border: 1px solid light-dark(#d0d7de, #44474f); padding: 4px 8px; text-align: left; font-weight: 400 }}
th {{ color: light-dark(#5b6b7a, #9fb0c0); background: light-dark(#f0f2f5, #26272c); text-align: center }}
td {{ white-space: nowrap }} td.reason {{ white-space: normal; width: 250px }} td.bad {{ background: light-dark(#ffe9c7, #4a3410) }}
</style><table><tr><th></th>{letters}</tr>{rows}</table>"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reject_file_shows_line_field_and_reason(tmp_path: Path, scheme: str) -> None:
    folder = Path(os.environ.get("BMS_PICTURES") or tmp_path)
    with services.browser() as browser:
        page = browser.new_page(color_scheme=scheme, viewport={"width": 1200, "height": 400})  # type: ignore[arg-type]  # one of two words
        page.set_content(_as_excel(_rejected()))
        for text in ("Benoît", "000802", "Ce n'est pas une date", "L'année n'a que deux chiffres"):
            expect(page.get_by_text(text).first).to_be_visible()
        expect(page.get_by_text("Noémie")).to_have_count(0)
        page.locator("table").screenshot(path=folder / f"rejected-{scheme}.png")


def _rejected() -> bytes:
    """Return rejected.xlsx of the drop."""
    content = DROP.encode("cp1252")
    sheet = read(content, "a.csv", EMPLOYEE)
    faults = {row.line: found for row in sheet.rows if (found := sheet.faults_of(row))}
    return reject_files(content, sheet.form, faults)[".xlsx"]


def _as_excel(workbook: bytes) -> str:
    """Return the cells of a workbook as a page, with the letters and numbers that Excel shows."""
    sheet: Any = openpyxl.load_workbook(io.BytesIO(workbook)).active
    heads = {str(cell.value): cell.column_letter for cell in sheet[1]}
    columns = [REASON, *SHOWN]
    letters = "".join(f"<th>{heads[name]}</th>" for name in columns)
    rows = []
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = {name: str(value or "") for name, value in zip(heads, row, strict=True)}
        wrong = {name for name, cell in zip(heads, sheet[number], strict=True) if cell.comment}
        shown = "".join(
            f'<td class="{"reason" if name == REASON else ""}{" bad" if name in wrong else ""}">'
            f"{html.escape(cells[name])}</td>"
            for name in columns
        )
        rows.append(f"<tr><th>{number}</th>{shown}</tr>")
    return PAGE.format(letters=letters, rows="".join(rows))
