"""The files of the invoice report: one workbook, and a CSV file for each of its sheets."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from bms_flows.runtime.excel_csv import csv_file
from bms_flows.runtime.settings import Language
from bms_flows.texts import REPORT

CODED = {"age", "kind", "line", "since"}
WIDTHS = (8, 60)
"""Least and greatest width of a column, in characters."""


def workbook(
    tables: Mapping[str, pd.DataFrame],
    facts: Iterable[Sequence[Any]],
    language: Language,
    zone: ZoneInfo,
) -> bytes:
    """Return the workbook: a sheet with facts about the report, and a sheet with filters for each table."""
    book = Workbook()
    book.worksheets[0].title = REPORT["about"][language]
    _fill(book.worksheets[0], facts, language, zone)
    for name, table in tables.items():
        sheet = book.create_sheet(REPORT[name][language])
        _fill(sheet, lines(table, language), language, zone)
        sheet.freeze_panes, sheet.auto_filter.ref = "A2", sheet.dimensions
        for cell in sheet[1]:
            cell.font, cell.fill = Font(bold=True), PatternFill("solid", fgColor="E7EDF5")
    stream = BytesIO()
    book.save(stream)
    return stream.getvalue()


def csv(table: pd.DataFrame, language: Language, zone: ZoneInfo) -> bytes:
    """Return a table as a CSV file that Excel opens, with exact amounts."""

    def shown(value: Any) -> Any:
        if isinstance(value, bool):
            return REPORT["yes" if value else "no"][language]
        return f"{_local(value, zone):%Y-%m-%d %H:%M}" if isinstance(value, datetime) else value

    written = ([*map(shown, line)] for line in lines(table, language))
    return csv_file(next(written), written)


def lines(table: pd.DataFrame, language: Language) -> Iterable[list[Any]]:
    """Yield the headings and the rows of a table, with words for codes and None for missing values."""
    yield [REPORT[name][language] for name in table.columns]
    coded = [name in CODED for name in table.columns]
    for row in table.astype(object).where(table.notna(), None).itertuples(index=False):
        yield [REPORT[v][language] if c else v for c, v in zip(coded, row, strict=True)]


def _fill(
    sheet: Worksheet, rows: Iterable[Sequence[Any]], language: Language, zone: ZoneInfo
) -> None:
    day = "yyyy-mm-dd" if language == "EN" else "dd/mm/yyyy"
    widths: dict[int, int] = {}
    for n, row in enumerate(rows, 1):
        for m, value in enumerate(row, 1):
            cell = sheet.cell(n, m, _local(value, zone))
            if isinstance(value, str):
                cell.data_type = "s"  # openpyxl would make a formula of a text that begins with =
            elif isinstance(value, Decimal):
                decimals = f"{value:f}".partition(".")[2].rstrip("0")
                cell.number_format = f"#,##0.{'0' * max(2, len(decimals))}"
            elif isinstance(value, date):
                cell.number_format = f"{day} hh:mm" if isinstance(value, datetime) else day
            widths[m] = max(widths.get(m, WIDTHS[0]), len(str(value or "")) + 3)
    for m, width in widths.items():
        sheet.column_dimensions[get_column_letter(m)].width = min(width, WIDTHS[1])


def _local(value: Any, zone: ZoneInfo) -> Any:
    """Return a value as Excel can store it: times without zone, texts without control characters."""
    if isinstance(value, datetime):
        with suppress(OverflowError):  # the last day of year 9999, which stands for never
            value = value.astimezone(zone)
        return value.replace(tzinfo=None)
    return ILLEGAL_CHARACTERS_RE.sub("", value) if isinstance(value, str) else value
