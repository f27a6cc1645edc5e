"""Writer of a workbook with one sheet, comments and coloured cells; equal rows give equal bytes."""

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from openpyxl.cell.text import Text
from openpyxl.comments.author import AuthorList
from openpyxl.comments.comment_sheet import CommentRecord, CommentSheet
from openpyxl.styles.numbers import BUILTIN_FORMATS_REVERSE
from openpyxl.utils import get_column_letter
from openpyxl.xml.functions import tostring

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
<Default Extension="vml" ContentType="application/vnd.openxmlformats-officedocument.vmlDrawing"/>
<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>
<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{{comments}}</Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>""",
}
_OF_COMMENTS: Final = f"""<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_RELATIONS}/vmlDrawing" Target="../drawings/vmlDrawing1.vml"/>
<Relationship Id="rId2" Type="{_RELATIONS}/comments" Target="../comments1.xml"/></Relationships>"""
_COMMENTS_TYPE: Final = (
    f'<Override PartName="/xl/comments1.xml" ContentType="{_TYPE}.comments+xml"/>'
)
_FROZEN: Final = """<sheetViews><sheetView workbookViewId="0">
<pane {split} topLeftCell="{cell}" activePane="{pane}" state="frozen"/></sheetView></sheetViews>"""
_COMMENTS: Final = 2_000
"""Comments in a workbook; further cells with a comment are coloured only."""
_COMMENT_WIDTH, _COMMENT_HEIGHT = 300, 110
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
    """A row to write; None for an empty cell.

    A cell with a comment, by its place, is coloured. The first `wrapped` cells wrap their text.
    """

    cells: Sequence[RawCell | None]
    hidden: bool = False
    comments: Mapping[int, str] = field(default_factory=dict)
    wrapped: int = 0


def text(content: str, code: str = GENERAL) -> RawCell | None:
    """Return a text cell; None for an empty text."""
    return RawCell("str", content, code, formula=False) if content else None


def xlsx_file(
    name: str,
    lines: Iterable[SheetRow],
    columns: Sequence[ColumnLayout] = (),
    *,
    date1904: bool = False,
    frozen_columns: int = 0,
    merged: Iterable[str] = (),
) -> bytes:
    """Return a workbook with one sheet called `name`; its first row and `frozen_columns` stay in view.

    `merged` are cells to merge, taken after the last line.
    """
    styles = _Styles()
    comments: list[CommentRecord] = []
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        package.writestr(_info("xl/workbook.xml"), _workbook(name, date1904=date1904))
        with package.open(_info("xl/worksheets/sheet1.xml"), "w") as sheet:
            head = f'<worksheet xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">{_frozen(frozen_columns)}'
            sheet.write(f"{head}{_columns(columns, styles)}<sheetData>".encode())
            for number, line in enumerate(lines, start=1):
                sheet.write(_row(number, line, styles).encode())
                comments += _comments(number, line) if len(comments) < _COMMENTS else ()
            drawing = b'<legacyDrawing r:id="rId1"/>' if comments else b""
            joined = "".join(f'<mergeCell ref="{cells}"/>' for cells in merged)
            joined = f"</sheetData><mergeCells>{joined}</mergeCells>" if joined else "</sheetData>"
            sheet.write(joined.encode() + drawing + b"</worksheet>")
        if comments:
            written = CommentSheet(AuthorList([name]), comments)
            package.writestr(_info("xl/worksheets/_rels/sheet1.xml.rels"), _OF_COMMENTS)
            package.writestr(_info("xl/comments1.xml"), tostring(written.to_tree()))
            package.writestr(_info("xl/drawings/vmlDrawing1.vml"), written.write_shapes())  # type: ignore[no-untyped-call]
        for part, content in _PARTS.items():
            typed = content.replace("{comments}", _COMMENTS_TYPE if comments else "")
            package.writestr(_info(part), typed)
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


def _frozen(columns: int) -> str:
    split, pane = 'ySplit="1"', "bottomRight" if columns else "bottomLeft"
    split = f'xSplit="{columns}" {split}' if columns else split
    return _FROZEN.format(split=split, cell=f"{get_column_letter(columns + 1)}2", pane=pane)


def _comments(number: int, line: SheetRow) -> list[CommentRecord]:
    return [
        CommentRecord(
            f"{get_column_letter(place + 1)}{number}",
            text=Text(t=_writable(comment)),
            width=_COMMENT_WIDTH,
            height=_COMMENT_HEIGHT,
        )
        for place, comment in sorted(line.comments.items())
    ]


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
        _cell(cell, f"{get_column_letter(place + 1)}{number}", styles, look)
        for place, cell in enumerate(map(_with_value, line.cells))
        if (look := "fault" if place in line.comments else "wrap" if place < line.wrapped else "")
        or (cell is not None and cell.text is not None)
    )
    return f'<row r="{number}"{hidden}>{"".join(cells)}</row>'


def _with_value(cell: RawCell | None) -> RawCell | None:
    """Return a cell; a formula without value as #N/A, since an empty cell would be read as no value."""
    without = cell is not None and cell.formula and cell.text is None
    return cell._replace(kind="e", text="#N/A") if cell and without else cell


def _writable(content: str) -> str:
    return _UNWRITABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", content)


def _cell(cell: RawCell | None, reference: str, styles: "_Styles", look: str) -> str:
    if cell is None or cell.text is None:
        style = styles.number(Style(TEXT), quoted=False, look=look)
        return f'<c r="{reference}" s="{style}"/>'
    quoted = cell.kind == "str" and cell.code != TEXT
    style = styles.number(Style(cell.code, cell.struck), quoted=quoted, look=look)
    escaped = escape(_writable(cell.text))
    if cell.kind == "str":
        return f'<c r="{reference}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{escaped}</t></is></c>'
    return f'<c r="{reference}" s="{style}" t="{cell.kind}"><v>{escaped}</v></c>'


class _Styles:
    """The cell styles of a sheet, numbered in order of use."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Style, bool, str], int] = {(Style(), False, ""): 0}

    def number(self, style: Style, *, quoted: bool, look: str = "") -> int:
        """Return the number of a style; a `quoted` text stays a text when a user edits the cell.

        `look`: `fault` colours the cell, `wrap` wraps its text.
        """
        return self._numbers.setdefault((style, quoted, look), len(self._numbers))

    def xml(self) -> str:
        """Return the styles part of the workbook."""
        codes = dict.fromkeys(style.code for style, *_ in self._numbers)
        ours = [code for code in codes if _builtin(code) is None]
        own = {code: _FIRST_OWN + index for index, code in enumerate(ours)}
        formats = "".join(
            f'<numFmt numFmtId="{number}" formatCode={quoteattr(code)}/>'
            for code, number in own.items()
        )
        cells = "".join(
            f'<xf numFmtId="{own.get(style.code, _builtin(style.code))}" applyNumberFormat="1"'
            f' quotePrefix="{quoted:d}" fontId="{style.struck:d}" fillId="{2 * (look == "fault")}"'
            f' borderId="0" xfId="0" applyFill="1" applyAlignment="1"><alignment vertical="top"'
            f' wrapText="{look == "wrap":d}"/></xf>'
            for style, quoted, look in self._numbers
        )
        return (
            f'<styleSheet xmlns="{_MAIN}">'
            + (f'<numFmts count="{len(own)}">{formats}</numFmts>' if own else "")
            + '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
            '<font><strike/><sz val="11"/><name val="Calibri"/></font></fonts>'
            '<fills count="3"><fill><patternFill patternType="none"/></fill>'
            '<fill><patternFill patternType="gray125"/></fill><fill><patternFill patternType="solid">'
            '<fgColor rgb="FFFFE0A3"/></patternFill></fill></fills><borders count="1">'
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
