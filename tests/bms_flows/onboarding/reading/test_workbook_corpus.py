"""A corpus of workbooks as users format them: every cell that a user sees comes out as shown."""

# ruff: noqa: DTZ001 - a workbook's dates have no zone

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import openpyxl

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.resources.description import Value
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.workbooks import saved

Written = tuple[Any, str]
"""What a cell stores, and its format."""

PAYROLL: list[Callable[[str], Written]] = [
    lambda key: (key, "General"),
    lambda key: (key, "@"),
    lambda key: (int(key), "000000"),
    lambda key: (int(key), "000000;-000000"),
    lambda key: (int(key[1:]), '"0"00000'),
]
PHONES: list[Callable[[str], Written]] = [
    lambda shown: (shown, "@"),
    lambda shown: (int(shown.replace(" ", "")), '0#" "##" "##" "##" "##'),
    lambda shown: (int(shown.replace(" ", "")), r"0#\ ##\ ##\ ##\ ##"),
    lambda shown: (int(shown.replace(" ", "")), r"[<=999999999]0#\ ##\ ##\ ##\ ##;\+##"),
]
RATES: list[Callable[[int], Written]] = [
    lambda rate: (rate, "General"),
    lambda rate: (rate / 100, "0%"),
    lambda rate: (rate / 100, "0.00%"),
    lambda rate: (rate, '0" %"'),
    lambda rate: (f"{rate} %", "@"),
]
SALARIES: list[Callable[[Decimal], Written]] = [
    lambda amount: (float(amount), "General"),
    lambda amount: (float(amount), "#,##0.00"),
    lambda amount: (float(amount), '#,##0.00\\ "€"'),
    lambda amount: (float(amount), "#,##0.00\\ [$€-40C]"),
    lambda amount: (
        float(amount),
        r'_-* #,##0.00\ "€"_-;\-* #,##0.00\ "€"_-;_-* "-"??\ "€"_-;_-@_-',
    ),
    lambda amount: (f"{amount}".replace(".", ","), "@"),
]
DATES: list[Callable[[date], Written]] = [
    lambda day: (datetime(day.year, day.month, day.day), "dd/mm/yyyy"),
    lambda day: (datetime(day.year, day.month, day.day), r"[$-40C]d\-mmm\-yy;@"),
    lambda day: (datetime(day.year, day.month, day.day), "[$-F800]dddd, mmmm dd, yyyy"),
    lambda day: (f"{day:%d/%m/%Y}", "@"),
    lambda day: (day.isoformat(), "General"),
]
ROWS: list[dict[str, Value]] = [
    {"payroll_number": "004217", "personal_mobile_phone": "06 12 34 56 78", "activity_rate": 100,
     "salary_base": Decimal("2850.5"), "start_date": date(2026, 6, 1)},
    {"payroll_number": "000042", "personal_mobile_phone": "01 00 00 00 09", "activity_rate": 5,
     "salary_base": Decimal("1234567.89"), "start_date": date(2026, 8, 31)},
    {"payroll_number": "012345", "personal_mobile_phone": "07 00 00 00 00", "activity_rate": 80,
     "salary_base": Decimal(3000), "start_date": date(2027, 2, 11)},
]  # fmt: skip
HIDDEN = 3
"""The line of the row that each second workbook hides."""


def workbooks() -> Iterator[tuple[bytes, bool]]:
    # Each seventh: no list's length divides it, so that all of them meet all others.
    styles = itertools.islice(
        itertools.product(PAYROLL, PHONES, RATES, SALARIES, DATES), 0, None, 7
    )
    for number, style in enumerate(styles):
        book = openpyxl.Workbook()
        sheet: Any = book.active
        sheet.append([EMPLOYEE.by_name[name].label for name in ROWS[0]])
        for line, row in enumerate(ROWS, start=2):
            for place, (write, value) in enumerate(zip(style, row.values(), strict=True), start=1):
                cell = sheet.cell(line, place)
                cell.value, cell.number_format = write(value)  # type: ignore[operator]
        hides = number % 2 == 1
        sheet.row_dimensions[HIDDEN].hidden = hides
        yield saved(book), hides


def test_every_cell_is_what_its_user_sees(figure: Callable[[str], None]) -> None:
    seen: Counter[str] = Counter()
    files = 0
    for content, hides in workbooks():
        files += 1
        sheet = read(content, "a.xlsx", EMPLOYEE)
        for row, truth in zip(sheet.rows, ROWS, strict=True):
            codes = {fault.code for fault in sheet.faults_of(row)}
            if hides and row.line == HIDDEN:
                seen["hidden" if codes == {"hidden_row"} else "wrong"] += len(truth)
                continue
            assert codes == set(), content
            for name, value in truth.items():
                found = row.values.get(name)
                seen["right" if found == value and type(found) is type(value) else "wrong"] += 1
    figure(f"workbook corpus: {files} files, cells {dict(seen)}")
    assert set(seen) == {"right", "hidden"}
    assert files == 429
