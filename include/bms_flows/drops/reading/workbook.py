"""Workbooks: what an .xlsx holds, cell by cell as Excel shows it, with nothing run and nothing huge."""

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Final
from warnings import catch_warnings, simplefilter

import openpyxl
from openpyxl.workbook import Workbook

from bms_flows.drops.reading.cells import Cell
from bms_flows.drops.reading.misread import Misread
from bms_flows.drops.sheet import Limits

_DECLARED: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_MERGED: Final = re.compile(rb"<(?:\w+:)?mergeCell ")
_ROW: Final = re.compile(rb"<(?:\w+:)?row\b")
EXCELS_ROWS: Final = 1 << 20
TAGS: Final = 1 << 17
"""Of one row at most: eight for each column that Excel has. A row is held in memory whole."""
_ZEROS: Final = re.compile(r"0{2,}")
Rows = list[tuple[int, list[Cell]]]


def check_package(content: bytes, limits: Limits) -> None:
    """Raise `Misread` for an archive that unpacks too big, is damaged or has XML entities."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            parts = package.infolist()
            if sum(part.file_size for part in parts) > limits.unpacked_bytes:
                raise Misread("too_big", what="octets/bytes", limit=limits.unpacked_bytes)
            for part in parts:
                if part.flag_bits & 1:
                    raise Misread("bad_workbook", why="mot de passe / password")
                unpacked = package.read(part)  # never more than the size it declares
                if part.filename.endswith((".xml", ".rels")) and _DECLARED.search(unpacked):
                    raise Misread("bad_workbook", why="DOCTYPE")
                if b"sheetData" in unpacked:
                    _check_rows(unpacked)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, ValueError) as error:
        raise Misread("bad_workbook", why=type(error).__name__) from None


def _check_rows(xml: bytes) -> None:
    """Raise `Misread` for more rows or columns than Excel has."""
    begin = 0
    for number, match in enumerate(_ROW.finditer(xml), start=1):
        if number > EXCELS_ROWS:
            raise Misread("too_big", what="lignes/rows", limit=EXCELS_ROWS)
        _check_tags(xml, begin, match.start())
        begin = match.start()
    _check_tags(xml, begin, len(xml))


def _check_tags(xml: bytes, begin: int, end: int) -> None:
    if xml.count(b"<", begin, end) > TAGS:
        raise Misread("too_big", what="balises/tags", limit=TAGS)


def sheets(content: bytes, limits: Limits) -> Iterator[tuple[str, Rows, bool]]:
    """Yield the visible sheets: name, filled rows with their line, whether cells are merged.

    Raises `Misread`. Formulas are not run: their stored values are read.
    """
    check_package(content, limits)
    with catch_warnings():
        simplefilter("ignore")  # openpyxl tells of styles and extensions that it passes over
        try:
            stored, written = (_open(content, data_only=data_only) for data_only in (True, False))
            for name in stored.sheetnames:
                if stored[name].sheet_state == "visible" and hasattr(stored[name], "iter_rows"):
                    yield (
                        name,
                        _rows(stored[name], written[name], limits),
                        _merged(content, stored[name]),
                    )
        except Misread:
            raise
        except Exception as error:  # noqa: BLE001 - openpyxl raises anything on damaged XML
            raise Misread("bad_workbook", why=type(error).__name__) from None


def _open(content: bytes, *, data_only: bool) -> Workbook:
    return openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=data_only)


def _rows(stored: Any, written: Any, limits: Limits) -> Rows:
    stored.reset_dimensions()  # what the file says of its size may be wrong
    written.reset_dimensions()
    rows: Rows = []
    for line, (values, formulas) in enumerate(
        zip(stored.iter_rows(), written.iter_rows(), strict=True), start=1
    ):
        cells = [_cell(*pair) for pair in zip(values, formulas, strict=True)]
        while cells and cells[-1] == "":
            cells.pop()
        if not cells:
            continue
        if len(cells) > limits.columns:
            raise Misread("too_big", what="colonnes/columns", limit=limits.columns)
        if len(rows) > limits.rows:
            raise Misread("too_big", what="lignes/rows", limit=limits.rows)
        rows.append((line, cells))
    return rows


def _cell(stored: Any, written: Any) -> Cell:
    """Return what Excel shows in a cell, as exactly as it stored it."""
    value = stored.value
    if value is None and written.data_type != "f":
        return ""
    if value is None or stored.data_type == "e":
        return Misread("formula_without_value" if value is None else "excel_error")
    if isinstance(value, int) and not isinstance(value, bool):
        zeros = _ZEROS.fullmatch(stored.number_format or "")
        return f"{value:0{len(zeros[0])}d}" if zeros and value >= 0 else value
    if isinstance(value, float):
        exact = Decimal(f"{value:.15g}")  # Excel's own digits; the rest is binary noise
        return int(exact) if exact == exact.to_integral_value() else exact
    if isinstance(value, str | bool | date | time):
        return value
    return Misread("bad_date" if isinstance(value, timedelta) else "excel_error")


def _merged(content: bytes, sheet: Any) -> bool:
    path = str(sheet._worksheet_path).lstrip("/")  # noqa: SLF001 - openpyxl shows it nowhere else
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        return _MERGED.search(package.read(path)) is not None
