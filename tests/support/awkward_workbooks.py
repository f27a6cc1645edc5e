"""Workbooks as HR users arrange them, written by openpyxl and LibreOffice; imports nothing of the project.

Each has the same three employees. `PEOPLE` is what a careful clerk reads from any of them.
"""

import io
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import openpyxl

_KEYS: Final = ("number", "last", "first", "start", "pay")
PEOPLE: Final[Sequence[Mapping[str, str]]] = [
    dict(zip(_KEYS, person, strict=True))
    for person in (
        ("A0101", "Lefèvre", "Aurélie", "2027-03-08", "2450"),
        ("A0102", "Ünal", "Cédric", "2027-03-15", "3120.5"),
        ("A0103", "D'Angelo", "Noémie", "2027-04-01", "12000"),
    )
]
HEADER: Final = ("Matricule", "Nom", "Prénom", "Entité", "Date d'entrée", "Salaire de base")


def _row(person: Mapping[str, str]) -> list[Any]:
    day = datetime.fromisoformat(person["start"])
    return [person["number"], person["last"], person["first"], 1, day, float(person["pay"])]


def _saved(book: Any) -> bytes:
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _book() -> tuple[Any, Any]:
    book: Any = openpyxl.Workbook()
    book.active.title = "Entrées mars 2027"
    return book, book.active


def title() -> bytes:
    """A title, who made the list and when, and blank rows above the header and between the rows."""
    book, sheet = _book()
    sheet["A1"] = "Nouveaux salariés — mars 2027"
    sheet["A2"], sheet["B2"] = "Établi par", "Service RH, le 12/02/2027"
    for place, header in enumerate(HEADER, start=1):
        sheet.cell(4, place, header)
    for line, person in zip((5, 7, 8), PEOPLE, strict=True):
        for place, cell in enumerate(_row(person), start=1):
            sheet.cell(line, place, cell)
    return _saved(book)


def merged_title() -> bytes:
    """A merged title, and merged names of groups of columns above the header."""
    book, sheet = _book()
    sheet["A1"] = "SOCIÉTÉ EXEMPLE\nEntrées du mois"
    sheet.merge_cells("A1:F1")
    sheet["A3"], sheet["D3"] = "Identité", "Contrat"
    sheet.merge_cells("A3:C3")
    sheet.merge_cells("D3:F3")
    for line, cells in enumerate((HEADER, *map(_row, PEOPLE)), start=4):
        for place, cell in enumerate(cells, start=1):
            sheet.cell(line, place, cell)
    sheet.merge_cells("A10:F10")
    return _saved(book)


def totals() -> bytes:
    """Subtotals, a total with its merged label, a headcount, and a sum without a label."""
    book, sheet = _book()
    first, *others = map(_row, PEOPLE)
    sheet.append(HEADER)
    sheet.append(first)
    sheet.append([None, "Sous-total Lyon", None, None, None, "=SUM(F2)"])
    for row in others:
        sheet.append(row)
    sheet.append([None, "Sous-total Lille", None, None, None, "=F4+F5"])
    sheet.append(["TOTAL GÉNÉRAL", None, None, None, None, "=F3+F6"])
    sheet.merge_cells("A7:E7")
    sheet.append(["Nombre de salariés : 3"])
    return _saved(book)


def unlabelled_total() -> bytes:
    """A sum below the salaries, without a word."""
    book, sheet = _book()
    for row in (HEADER, *map(_row, PEOPLE)):
        sheet.append(row)
    sheet.append([])
    sheet.append([None, None, None, None, None, "=SUM(F2:F4)"])
    return _saved(book)


def euros() -> bytes:
    """Salaries typed with the sign of the currency, and one that its format shows with the sign."""
    book, sheet = _book()
    sheet.append(HEADER)
    written = ("2\u202f450,00\u202f€", "€ 3 120,50", None)
    for person, text in zip(PEOPLE, written, strict=True):
        sheet.append([*_row(person)[:-1], text or float(person["pay"])])
    sheet["F4"].number_format = '#,##0.00\\ "€"'
    return _saved(book)


def two_languages() -> bytes:
    """French headers, the same headers in English below them, and one header in both languages."""
    book, sheet = _book()
    sheet.append(
        ["Matricule", "Nom", "Prénom", "Entité / Entity", "Date d'entrée", "Salaire de base"]
    )
    sheet.append(["Employee number", "Surname", "Given name", None, "Hire date", "Base salary"])
    for person in PEOPLE:
        sheet.append(_row(person))
    return _saved(book)


def extra_columns() -> bytes:
    """Columns of the user's own: a number, remarks, an age that Excel calculates, empty ones."""
    book, sheet = _book()
    header = list(HEADER)
    sheet.append(["N°", *header[:3], None, *header[3:], "Âge", "Badge remis le", "Observations"])
    for number, person in enumerate(PEOPLE, start=1):
        cells = _row(person)
        remark = "Visite médicale à prévoir" if number == 2 else None
        sheet.append([number, *cells[:3], None, *cells[3:], "=YEAR(F2)-1990", None, remark])
    return _saved(book)


WORKBOOKS: Final[Mapping[str, Callable[[], bytes]]] = {
    made.__name__: made
    for made in (title, merged_title, totals, unlabelled_total, euros, two_languages, extra_columns)
}


def converted(contents: Mapping[str, bytes], to: str) -> dict[str, bytes]:
    """Convert files, by name without ending, with one start of LibreOffice."""
    with TemporaryDirectory() as folder:
        given, written = Path(folder, "given"), Path(folder, "written")
        given.mkdir()
        for name, content in contents.items():
            (given / f"{name}.xlsx").write_bytes(content)
        profile = f"-env:UserInstallation=file://{folder}/profile"
        command = ["soffice", profile, "--headless", "--convert-to", to, "--outdir", str(written)]
        files = map(str, given.iterdir())
        subprocess.run([*command, *files], check=True, capture_output=True, timeout=120)  # noqa: S603 - a fixed program
        return {each.stem: each.read_bytes() for each in written.iterdir()}


@cache
def calculated() -> Mapping[str, bytes]:
    """Return the workbooks as LibreOffice calculates and saves them."""
    made = {name: make() for name, make in WORKBOOKS.items()}
    return converted(made, "xlsx:Calc MS Excel 2007 XML")
