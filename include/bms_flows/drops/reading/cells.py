"""One cell becomes a value of its field's kind, or a fault by name; nothing is inferred."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from bms_flows.creation.resource import Field, Kind, Value, folded
from bms_flows.drops.reading import dates, numbers
from bms_flows.drops.reading.misread import Misread
from bms_flows.drops.reading.mojibake import broken
from bms_flows.drops.sheet import Format

Cell = str | bool | int | Decimal | datetime | date | time | Misread
"""A cell as its file holds it: text in a CSV; in a workbook also what Excel stores, or why not."""

MISSING: Final = "#MANQUE"
"""What a reject file puts where a short row had no cell, until a person fills it in or clears it."""

BOOLEANS: Final = {
    **dict.fromkeys(("oui", "o", "vrai", "true", "yes", "y", "1"), True),
    **dict.fromkeys(("non", "n", "faux", "false", "no", "0"), False),
}
_ERROR: Final = re.compile(
    r"#(?:N/A|VALUE!|VALEUR!|REF!|NAME\?|NOM\?|DIV/0!|NUM!|NOMBRE!|NULL!|NUL!|SPILL!|CALC!|#{3,})",
    re.IGNORECASE,
)
_ALLOWED: Final = "\n\r\t"
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_SAFE_DIGITS: Final = 15
"""Excel keeps no more; beyond, the number is not what was typed."""


@dataclass(frozen=True)
class Evidence:
    """What a whole column proves of its cells, and what a person declared."""

    order: dates.Order | None = None
    mark: numbers.Mark | None = None
    declared_mark: numbers.Mark | None = None

    @classmethod
    def of(
        cls, field: Field, cells: Sequence[Cell], declared: Format, carried: str | None
    ) -> "Evidence":
        """Weigh a column; what is declared goes before what is found or `carried` over."""
        texts = [cell.strip() for cell in cells if isinstance(cell, str)]
        if field.kind == "date":
            return cls(declared.date_order or _agreed(dates.order(texts), carried))
        if field.kind == "decimal":
            mark = _agreed(numbers.mark(texts), carried)
            return cls(mark=mark, declared_mark=declared.decimal_mark)
        return cls()

    @property
    def proof(self) -> str | None:
        """What a reject file is to carry over."""
        return self.order or self.mark


def _agreed(found: Any, carried: Any) -> Any:
    """Return what proofs say that don't contradict each other."""
    return found or carried if found is None or carried in (None, found) else None


def is_blank(cell: Cell) -> bool:
    """Return whether a cell shows nothing."""
    return isinstance(cell, str) and not cell.strip()


def shown(cell: Cell) -> str:
    """Return a cell as text: dates as ISO, numbers with a point."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "oui" if cell else "non"
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)


def check_text(text: str, *, western: bool, limit: int) -> None:
    """Raise `Misread` for what no cell may hold, whatever its column."""
    if len(text) > limit:
        raise Misread("cell_too_long", limit=limit)
    if text == MISSING:
        raise Misread("missing_cell")
    if _ERROR.fullmatch(text):
        raise Misread("excel_error")
    if broken(text, western=western):
        raise Misread("mojibake")
    if not text.isprintable() and any(
        unicodedata.category(char) in _HIDDEN and char not in _ALLOWED for char in text
    ):
        raise Misread("control_character")


def value(cell: Cell, field: Field, evidence: Evidence) -> Value:
    """Return a filled cell as `field`'s kind; raise `Misread`."""
    if isinstance(cell, Misread):
        raise cell
    if not isinstance(cell, str):
        return _native(cell, field)
    return _READERS[field.kind](cell.strip(), evidence)


def _text(text: str, _: Evidence) -> str:
    if numbers.SCIENTIFIC.fullmatch(text):
        raise Misread("scientific_notation")
    # One way to write é, one to break a line: nothing that a person could see.
    return re.sub("\r\n?", "\n", unicodedata.normalize("NFC", text))


def _boolean(text: str, _: Evidence) -> bool:
    if (word := folded(text)) not in BOOLEANS:
        raise Misread("bad_boolean")
    return BOOLEANS[word]


_READERS: Final[Mapping[Kind, Callable[[str, Evidence], Value]]] = {
    "text": _text,
    "integer": lambda text, _: numbers.integer(text),
    "integers": lambda text, _: numbers.integers(text),
    "decimal": lambda text, seen: numbers.decimal(text, seen.mark, seen.declared_mark),
    "date": lambda text, seen: dates.parse(text, seen.order),
    "boolean": _boolean,
}


def _native(cell: bool | int | Decimal | date | time, field: Field) -> Value:
    """Return what Excel stored as other than text."""
    match field.kind, cell:
        case "date", datetime() if cell.time() == time():
            return cell.date()
        case "boolean", bool() | 0 | 1:
            return bool(cell)
        case "text", int() if not isinstance(cell, bool) and len(str(abs(cell))) <= _SAFE_DIGITS:
            return str(cell)
        case "decimal", int() | Decimal() if not isinstance(cell, bool):
            return Decimal(cell)
        case "integer" | "integers", int() if not isinstance(cell, bool):
            number = numbers.integer(str(cell))
            return number if field.kind == "integer" else (number,)
    raise Misread("not_text" if field.kind == "text" else f"bad_{field.kind}")
