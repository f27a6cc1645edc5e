"""Workbooks written part by part, valid and malformed."""

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import openpyxl

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS = ("worksheets/sheet1", "styles", "sharedStrings")
_TYPES = {"worksheets/sheet1": "worksheet"}


def workbook(
    sheet: str, *, styles: str = "", strings: str = "", book: str = "", state: str = "visible"
) -> bytes:
    """Return a workbook of one sheet, given what its parts hold inside their outermost elements."""
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/{_TYPES.get(part, part)}" Target="{part}.xml"/>'
        for n, part in enumerate(_PARTS, start=1)
    )
    return packed(
        {
            "[Content_Types].xml": f"""<Types xmlns="{_PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/></Types>""",
            "_rels/.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>""",
            "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
{relations}</Relationships>""",
            "xl/workbook.xml": f"""<workbook xmlns="{MAIN}" xmlns:r="{_OFFICE}">{book}
<sheets><sheet name="Feuil1" sheetId="1" state="{state}" r:id="rId1"/></sheets></workbook>""",
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}">{sheet}</worksheet>',
            "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{styles}</styleSheet>',
            "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        }
    )


def of_rows(rows: Iterable[Sequence[Any]]) -> Any:
    """Return a workbook of openpyxl whose sheet has these rows."""
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in rows:
        sheet.append(row)
    return book


def saved(book: Any) -> bytes:
    """Return the file of a workbook of openpyxl."""
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def packed(parts: Mapping[str, str]) -> bytes:
    """Return an archive of XML parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, _HEAD + content)
    return stream.getvalue()
