"""Writer of a workbook with one sheet; equal rows give equal bytes."""

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from openpyxl.styles.numbers import BUILTIN_FORMATS_REVERSE
from openpyxl.utils import get_column_letter

from bms_flows.onboarding.reading.parts import (
    GENERAL,
    TEXT,
    ColumnLayout,
    RawCell,
    Style,
)
from bms_flows.onboarding.reading.tokens import EXCELS_COLUMNS

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS: Final = {
    "[Content_Types].xml": f"""<Types xmlns="{_PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>
<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>""",
}
_FROZEN: Final = """<sheetViews><sheetView workbookViewId="0">
<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>"""
_WIDTH: Final = 11
ALL_TEXT: Final = (ColumnLayout(0, EXCELS_COLUMNS - 1, code=TEXT),)
"""Columns in which Excel does not reformat what a user types."""
_LOCAL: Final = re.compile(r"\[([0-9]+)\]")
_FIRST_OWN: Final = 164
"""First number of custom formats; lower numbers are built into Excel."""
_UNWRITABLE: Final = re.compile(
    "_(?=x[0-9A-Fa-f]{4}_)|[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


@dataclass(frozen=True)
class SheetRow:
    """A row to write; None for an empty cell."""

    cells: Sequence[RawCell | None]
    hidden: bool = False


def text(content: str, code: str = GENERAL) -> RawCell | None:
    """Return a text cell; None for an empty text."""
    return RawCell("str", content, code, formula=False) if content else None


def xlsx_file(
    name: str,
    lines: Iterable[SheetRow],
    columns: Sequence[ColumnLayout] = (),
    *,
    date1904: bool = False,
) -> bytes:
    """Return a workbook with one sheet called `name`."""
    styles = _Styles()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        for part, content in _PARTS.items():
            package.writestr(_info(part), content)
        package.writestr(_info("xl/workbook.xml"), _workbook(name, date1904=date1904))
        with package.open(_info("xl/worksheets/sheet1.xml"), "w") as sheet:
            sheet.write(f'<worksheet xmlns="{_MAIN}">{_FROZEN}{_columns(columns, styles)}'.encode())
            sheet.write(b"<sheetData>")
            for number, line in enumerate(lines, start=1):
                sheet.write(_row(number, line, styles).encode())
            sheet.write(b"</sheetData></worksheet>")
        package.writestr(_info("xl/styles.xml"), styles.xml())
    return stream.getvalue()


def _info(part: str) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(part)  # with a fixed time
    found.compress_type = zipfile.ZIP_DEFLATED
    return found


def _workbook(name: str, *, date1904: bool) -> str:
    return (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><workbookPr date1904="{date1904:d}"/>'
        "<bookViews><workbookView/></bookViews>"
        f'<sheets><sheet name={quoteattr(name)} sheetId="1" r:id="rId1"/></sheets></workbook>'
    )


def _columns(columns: Sequence[ColumnLayout], styles: "_Styles") -> str:
    if not columns:
        return ""
    each = (
        f'<col min="{column.first + 1}" max="{column.last + 1}" hidden="{column.hidden:d}"'
        f' width="{column.width or _WIDTH:g}" customWidth="1"'
        f' style="{styles.number(Style(column.code), quoted=False)}"/>'
        for column in columns
    )
    return f"<cols>{''.join(each)}</cols>"


def _row(number: int, line: SheetRow, styles: "_Styles") -> str:
    hidden = ' hidden="1"' if line.hidden else ""
    cells = (
        _cell(cell, cell.text, f"{get_column_letter(index)}{number}", styles)
        for index, cell in enumerate(line.cells, start=1)
        if cell is not None and cell.text is not None
    )
    return f'<row r="{number}"{hidden}>{"".join(cells)}</row>'


def _cell(cell: RawCell, content: str, reference: str, styles: "_Styles") -> str:
    quoted = cell.kind == "str" and cell.code != TEXT
    style = styles.number(Style(cell.code, cell.struck), quoted=quoted)
    escaped = escape(_UNWRITABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", content))
    if cell.kind == "str":
        return f'<c r="{reference}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{escaped}</t></is></c>'
    return f'<c r="{reference}" s="{style}" t="{cell.kind}"><v>{escaped}</v></c>'


class _Styles:
    """The cell styles of a sheet, numbered in order of use."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Style, bool], int] = {(Style(), False): 0}

    def number(self, style: Style, *, quoted: bool) -> int:
        """Return the number of a style; a `quoted` text stays a text when a user edits the cell."""
        return self._numbers.setdefault((style, quoted), len(self._numbers))

    def xml(self) -> str:
        """Return the styles part of the workbook."""
        codes = dict.fromkeys(style.code for style, _ in self._numbers)
        ours = [code for code in codes if _builtin(code) is None]
        own = {code: _FIRST_OWN + index for index, code in enumerate(ours)}
        formats = "".join(
            f'<numFmt numFmtId="{number}" formatCode={quoteattr(code)}/>'
            for code, number in own.items()
        )
        cells = "".join(
            f'<xf numFmtId="{own.get(style.code, _builtin(style.code))}" applyNumberFormat="1"'
            f' quotePrefix="{quoted:d}" fontId="{style.struck:d}" fillId="0" borderId="0" xfId="0"/>'
            for style, quoted in self._numbers
        )
        return (
            f'<styleSheet xmlns="{_MAIN}">'
            + (f'<numFmts count="{len(own)}">{formats}</numFmts>' if own else "")
            + '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
            '<font><strike/><sz val="11"/><name val="Calibri"/></font></fonts>'
            '<fills count="2"><fill><patternFill patternType="none"/></fill>'
            '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1">'
            "<border><left/><right/><top/><bottom/><diagonal/></border></borders>"
            '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
            f'<cellXfs count="{len(self._numbers)}">{cells}</cellXfs><cellStyles count="1">'
            '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
        )


def _builtin(code: str) -> int | None:
    """Return the number of a format that is built into Excel; None for a custom format."""
    if found := _LOCAL.fullmatch(code):
        return int(found[1])
    number: int | None = BUILTIN_FORMATS_REVERSE.get(code)
    return number
