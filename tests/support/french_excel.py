"""Model of French Excel that opens a CSV, converts cells to numbers and dates, and saves the file.

The rules are those of a machine with French settings: decimal comma, day before month, `;` as list
separator. A cell is shown, and saved as CSV, in the format that Excel gave it when it opened it.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal

import openpyxl

from tests.support.excel import opened
from tests.support.workbooks import saved

GENERAL, DAY_MONTH, MONTH_YEAR, DAY = "General", "d-mmm", "mmm-yy", "dd/mm/yyyy"
MONTHS = ("janv", "févr", "mars", "avr", "mai", "juin", "juil", "août", "sept", "oct", "nov", "déc")
_BLANK = "[ \xa0\u202f]"
_NUMBER = re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:{_BLANK}\d{{3}})+)(?:,\d*)?|[+-]?,\d+")
_POWER = re.compile(r"[+-]?\d+(?:,\d+)?E([+-]?\d+)", re.IGNORECASE)
_WHOLE_DATE = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{1,2})")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: 00:00(?::00)?)?")
_PART_OF_DATE = re.compile(r"(\d{1,2})[/.-](\d{1,2})")
_NAMED_MONTH = re.compile(rf"({'|'.join(MONTHS)})\.?[ -]?(\d{{1,2}})", re.IGNORECASE)
_SHOWN_DIGITS = 11
_KEPT_DIGITS = 15
_LARGEST_POWER = 307


@dataclass(frozen=True)
class Cell:
    """What Excel stores of a cell, and the format in which it shows it."""

    value: str | bool | Decimal | date
    code: str = GENERAL

    @property
    def shown(self) -> str:
        """The cell as Excel shows it in a wide column, and writes it into a CSV."""
        value = self.value
        if isinstance(value, bool):
            return "VRAI" if value else "FAUX"
        if isinstance(value, date):
            month = MONTHS[value.month - 1]
            if self.code == DAY_MONTH:
                return f"{value.day:02d}-{month}"
            if self.code == MONTH_YEAR:
                return f"{month}-{value.year % 100:02d}"
            return f"{value:%d/%m/%Y}"
        return value if isinstance(value, str) else _shown(value, self.code)


def _shown(number: Decimal, code: str) -> str:
    if code.endswith("%"):
        return f"{number * 100:.{2 if '.' in code else 0}f}%".replace(".", ",")
    if code == "0.00E+00" or len(f"{abs(number):.0f}") > _SHOWN_DIGITS:
        digits = 2 if code == "0.00E+00" else 5
        mantissa, _, power = f"{number:.{digits}E}".partition("E")
        if code == GENERAL:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}E{int(power):+03d}".replace(".", ",")
    whole = number == number.to_integral_value()
    return f"{number:.0f}" if whole else f"{float(number):.10g}".replace(".", ",")


def typed(text: str, *, year: int = 2026) -> Cell:
    """Return what Excel makes of a text that a CSV holds or a user types into a cell."""
    plain = text.strip(" \xa0")
    if plain.upper() in ("VRAI", "FAUX"):
        return Cell(plain.upper() == "VRAI")
    if plain.endswith("%") and _NUMBER.fullmatch(plain[:-1].rstrip(" \xa0")):
        number = _number(plain[:-1])
        return Cell(number / 100, "0%" if number == number.to_integral_value() else "0.00%")
    if _NUMBER.fullmatch(plain):
        return Cell(_number(plain))
    if (found := _POWER.fullmatch(plain)) and int(found[1]) <= _LARGEST_POWER:
        return Cell(_kept(Decimal(plain.replace(",", "."))), "0.00E+00")
    if plain[:1] == "=" or re.match(r"[+@-]\S*[A-Za-z(|!]", plain):
        text_as_formula = re.fullmatch('="((?:[^"]|"")*)"', plain)
        return Cell(text_as_formula[1].replace('""', '"') if text_as_formula else "#NOM?")
    return _dated(plain, year) or Cell(text)


def _dated(text: str, year: int) -> Cell | None:
    if found := _WHOLE_DATE.fullmatch(text):
        full = int(found[3]) + (2000 if int(found[3]) < 30 else 1900 if len(found[3]) < 3 else 0)
        return _cell(full, int(found[2]), int(found[1]), DAY)
    if found := _ISO.fullmatch(text):
        return _cell(int(found[1]), int(found[2]), int(found[3]), DAY)
    if found := _PART_OF_DATE.fullmatch(text):
        day = _cell(year, int(found[2]), int(found[1]), DAY_MONTH)
        # 13/2 is a day; 2/13 is none, and so the second month of 2013.
        return day or _cell(2000 + int(found[2]), int(found[1]), 1, MONTH_YEAR)
    if found := _NAMED_MONTH.fullmatch(text):
        month = MONTHS.index(found[1].casefold()) + 1
        day = _cell(year, month, int(found[2]), DAY_MONTH)
        return day or _cell(2000 + int(found[2]), month, 1, MONTH_YEAR)
    return None


def _cell(year: int, month: int, day: int, code: str) -> Cell | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Cell(found, code) if found.year >= 1900 else None


def _number(text: str) -> Decimal:
    return _kept(Decimal(re.sub(_BLANK, "", text).replace(",", ".").rstrip(".")))


def _kept(number: Decimal) -> Decimal:
    """Return a number with the digits that Excel keeps."""
    return Decimal(f"{number:.{_KEPT_DIGITS}g}") if number else Decimal(0)


def saved_as_csv(content: bytes, encoding: Literal["cp1252", "utf-8-sig"] = "cp1252") -> bytes:
    """Open a CSV and save it again, as "CSV (séparateur : point-virgule)" or "CSV UTF-8"."""
    lines = (";".join(_quoted(cell.shown) for cell in row) for row in _cells(content))
    return "".join(f"{line}\r\n" for line in lines).encode(encoding, errors="replace")


def saved_as_workbook(content: bytes) -> bytes:
    """Open a CSV and save it as a workbook."""
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for line, row in enumerate(_cells(content), start=1):
        for place, cell in enumerate(row, start=1):
            _put(sheet.cell(line, place), cell)
    return saved(book)


def workbook_saved_again(content: bytes) -> bytes:
    """Open a workbook and save it again: Excel changes no cell that it finds in one."""
    return saved(openpyxl.load_workbook(io.BytesIO(content)))


def typed_into(content: bytes, rows: list[list[str]]) -> bytes:
    """Open a workbook, type `rows` into it from the third row, and save it."""
    book = openpyxl.load_workbook(io.BytesIO(content))
    sheet: Any = book.active
    columns = sheet.column_dimensions
    for line, row in enumerate(rows, start=3):
        for place, text in enumerate(row, start=1):
            cell = sheet.cell(line, place)
            letter = next((k for k, each in columns.items() if each.min <= place <= each.max), None)
            # A cell that isn't there yet has its column's format.
            if letter and columns[letter].number_format == "@":
                cell.value, cell.number_format, cell.data_type = text, "@", "s"
            else:
                _put(cell, typed(text))
    return saved(book)


def _cells(content: bytes) -> Iterator[list[Cell]]:
    text = content.decode("utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "cp1252")
    for row in opened(text, ";"):
        yield [typed(cell) for cell in row]


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""')) if re.search('[;"\r\n]', text) else text


def _put(target: Any, cell: Cell) -> None:
    value: Any = cell.value
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    elif isinstance(value, date):
        value = datetime.combine(value, time())
    target.value = value
    if isinstance(value, str):
        target.data_type = "s"
    else:
        target.number_format = cell.code


def in_letters(key: object) -> str:
    """Return a name that is different for each key, without digits: `Nomcd` for 12.

    Without vowels: a name with ae, oe or ue is compared with a, o or u as well.
    """
    return "Nom" + "".join(
        "bcdfghjklm"[int(d)] if d.isdigit() else d for d in str(key) if d.isalnum()
    )
