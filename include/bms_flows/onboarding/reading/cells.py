"""Parser of cells: a cell becomes a value of its field's kind or a fault; no type is guessed."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.reading import number_format
from bms_flows.onboarding.reading import numbers_and_dates as parsers
from bms_flows.onboarding.reading.encoding import is_damaged
from bms_flows.onboarding.resources.description import ColumnKind, Field, Value
from bms_flows.onboarding.settings import UNDECLARED, DeclaredFormat


@dataclass(frozen=True)
class Formatted:
    """A number in a workbook, and the format in which Excel shows it."""

    number: int | Decimal
    code: str

    def shown(self) -> str:
        """Return it as the cell shows it, or as a plain number where that depends on the language."""
        found = number_format.display(self.code, Decimal(self.number))
        return f"{self.number:f}" if found is None or found.text is None else found.text.strip()


Cell = str | bool | int | Decimal | datetime | date | time | Formatted | ReadError
"""A cell as its file holds it: text in a CSV; in a workbook also what Excel stores, or why not."""

MISSING: Final = "#MANQUE"
"""The text of a reject file for a cell that a short row lacks, until a user fills it in or clears it."""

BOOLEANS: Final = {
    **dict.fromkeys(("oui", "o", "vrai", "true", "yes", "y", "1", "x"), True),
    **dict.fromkeys(("non", "n", "faux", "false", "no", "0"), False),
}
_ERROR: Final = re.compile(
    r"#(?:N/A|N/B|NV|[A-ZÄÖÜ]{3,12}[!?]|DIV/0!|DEEL/0!|#{3,})|Err:[0-9]{3}|Loading\.\.\.",
    re.IGNORECASE,
)
"""What Excel in several languages, LibreOffice and Google Sheets show in place of a value."""
_EMPTY: Final = frozenset({"NULL", "null", "(null)", "NaN", "NaT", "<NA>", "undefined"})
"""What programs write for an empty cell. Null is also a last name, so the case counts."""
_DITTO: Final = frozenset({"idem", "id.", "ditto", '"', "''", "//", "\u201d", "\u3003"})
"""What users write for the value of the row above. A company may be called Idem, so the case counts."""
_AS_DECIMAL: Final = re.compile(r"\+?[0-9]+[.,]0+")
_THOUSANDS: Final = re.compile(
    r"[0-9]{1,3}(?:[\xa0\u2009\u202f][0-9]{3})+|[0-9]{1,3}(?:\s[0-9]{3})+[.,]0+"
)
"""A number as Excel writes it to a CSV: no user types a no-break space into a code."""
_ALLOWED: Final = "\n\r\t"
_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("\xa0\u2007\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u2010\u2011", "-"),
        **{char: unicodedata.normalize("NFKC", char) for char in "\ufb00\ufb01\ufb02\ufb03\ufb04"},
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
    }
)
"""Spaces, hyphens, ligatures (ff, fi, …) and full-width digits that look like plain ones."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_NAMED: Final = 5
"""Maximum number of cells that a fault names."""
_SAFE_DIGITS: Final = 15
"""Excel keeps no more; beyond, the number is not what was typed."""


@dataclass(frozen=True)
class Evidence:
    """What an inbox declares of its files and what a column shows of its cells.

    `mark`: the decimal mark that the column proves, where none is declared. `against`: the cells
    that contradict the declared order of day and month.
    """

    declared: DeclaredFormat = UNDECLARED
    mark: parsers.Mark | None = None
    against: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, field: Field, cells: Mapping[str, Cell], declared: DeclaredFormat, carried: str | None
    ) -> "Evidence":
        """Return the evidence of a column's `cells` by address; `carried` is the evidence of a reject file."""
        if field.kind == "date":
            return cls(declared, against=parsers.contradicting(cells, declared.date_order))
        if field.kind != "decimal" or declared.decimal_mark is not None:
            return cls(declared)
        found = parsers.proven_mark(
            parsers.without_euro(cell.strip()) for cell in cells.values() if isinstance(cell, str)
        )
        agreed: Any = found or carried if found is None or carried in (None, found) else None
        return cls(declared, agreed)

    def contradiction(self) -> ReadError:
        """Return why a date of the column isn't read."""
        places = ", ".join(self.against[:_NAMED]) + ("…" if len(self.against) > _NAMED else "")
        written = parsers.WRITTEN_DATES[self.declared.date_order]
        return ReadError("contradicting_dates", cells=places, declared=written)


def is_blank(cell: Cell) -> bool:
    """Return whether a cell is blank."""
    return isinstance(cell, str) and not cell.strip()


def shown(cell: Cell) -> str:
    """Return a cell as text: dates as ISO, numbers with a point."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "oui" if cell else "non"
    if isinstance(cell, Formatted):
        return cell.shown()
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)


def texts(record: Iterable[Cell]) -> list[str]:
    """Return the cells of a row as texts; an unreadable one is blank."""
    return ["" if isinstance(cell, ReadError) else shown(cell) for cell in record]


def check_text(text: str, *, western: bool, limit: int) -> None:
    """Raise `ReadError` for what no cell may hold, whatever its column."""
    if len(text) > limit:
        raise ReadError("cell_too_long", limit=limit)
    if text == MISSING:
        raise ReadError("missing_cell")
    if text.startswith("="):
        raise ReadError("formula_as_text")
    if _ERROR.fullmatch(text):
        raise ReadError("excel_error")
    if text in _EMPTY:
        raise ReadError("empty_marker")
    if text in _DITTO:
        raise ReadError("ditto")
    if is_damaged(text, western=western):
        raise ReadError("mojibake")
    if not text.isprintable() and any(
        unicodedata.category(char) in _HIDDEN and char not in _ALLOWED for char in text
    ):
        raise ReadError("control_character")


def value(cell: Cell, field: Field, evidence: Evidence) -> Value:
    """Return a filled cell as `field`'s kind; raise `ReadError`."""
    if isinstance(cell, ReadError):
        raise cell
    if isinstance(cell, Formatted):
        return _formatted(cell, field, evidence)
    if not isinstance(cell, str):
        return _native(cell, field, evidence)
    text = cell.strip()
    if field.holds == "percent":
        text = text.removesuffix("%").rstrip()
    if field.holds in ("code", "number", "phone", "postal_code") and _AS_DECIMAL.fullmatch(text):
        raise ReadError("not_text")
    if field.holds == "code" and _THOUSANDS.fullmatch(text):
        raise ReadError("not_text")
    return _READERS[field.kind](text, evidence)


def _text(text: str, _: Evidence) -> str:
    if parsers.SCIENTIFIC.fullmatch(text):
        raise ReadError("scientific_notation")
    if parsers.MADE_BY_EXCEL.fullmatch(text):
        raise ReadError("not_text")
    # One form of é, one line break, one space, one hyphen: no visible difference.
    return re.sub("\r\n?", "\n", unicodedata.normalize("NFC", text)).translate(_PLAIN)


def _boolean(text: str, _: Evidence) -> bool:
    # A form's unanswered "N/O" and a calculated "-1" are neither, so signs are not passed over.
    if (word := text.casefold()) not in BOOLEANS:
        raise ReadError("bad_boolean")
    return BOOLEANS[word]


def _decimal(text: str, seen: Evidence) -> Decimal:
    text = parsers.without_euro(text)
    if seen.declared.decimal_mark:
        return parsers.shortest(parsers.parse_declared_decimal(text, seen.declared.decimal_mark))
    return parsers.shortest(parsers.parse_decimal(text, seen.mark))


def _date(text: str, seen: Evidence) -> date:
    unsure = bool(seen.against) and parsers.year_last(text)
    try:
        day = parsers.parse_date(text, seen.declared.date_order)
    except ReadError as misread:
        if unsure and misread.code == "bad_date":
            raise seen.contradiction() from None
        raise
    if unsure and parsers.swappable(day):
        raise seen.contradiction()
    return day


_READERS: Final[Mapping[ColumnKind, Callable[[str, Evidence], Value]]] = {
    "text": _text,
    "integer": lambda text, seen: parsers.parse_integer(text, seen.declared.decimal_mark),
    "integers": lambda text, _: parsers.parse_integers(text),
    "decimal": _decimal,
    "date": _date,
    "boolean": _boolean,
}


def _formatted(cell: Formatted, field: Field, evidence: Evidence) -> Value:
    """Return what Excel shows of a number, for text fields with prefix and suffix."""
    found = number_format.display(cell.code, Decimal(cell.number))
    if field.kind == "date":
        raise ReadError("bad_date")
    if found is None:
        raise ReadError("unread_format", format=cell.code)
    if not found.exact:
        raise ReadError("rounded_by_format", format=cell.code)
    if field.kind in ("text", "boolean"):
        if found.text is None:
            raise ReadError("not_text")
        if not found.text.strip():
            raise ReadError("unread_format", format=cell.code)
        return _READERS[field.kind](found.text.strip(), evidence)
    if field.holds == "percent" and (found.text or "").strip():
        return value(str(found.text), field, evidence)
    if found.number is None or found.percent > (field.holds == "percent"):
        raise ReadError("unread_format", format=cell.code)
    whole = found.number == found.number.to_integral_value()
    return _native(int(found.number) if whole else found.number, field, evidence)


def _native(cell: bool | int | Decimal | date | time, field: Field, evidence: Evidence) -> Value:
    """Return the value of a cell that Excel stores as a number, date or boolean."""
    match field.kind, cell:
        case "date", datetime() if cell.time() == time():
            day = parsers.stored_date(cell)
            if evidence.against and parsers.swappable(day):
                raise evidence.contradiction()
            return day
        case "boolean", bool() | 0 | 1:
            return bool(cell)
        case "text", int() if not isinstance(cell, bool) and len(str(abs(cell))) <= _SAFE_DIGITS:
            return str(cell)
        case "decimal", int() | Decimal() if not isinstance(cell, bool):
            return Decimal(cell)
        case "integer" | "integers", int() if not isinstance(cell, bool):
            number = parsers.parse_integer(str(cell))
            return number if field.kind == "integer" else (number,)
    raise ReadError("not_text" if field.kind == "text" else f"bad_{field.kind}")
