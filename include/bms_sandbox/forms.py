"""Changed forms of values: stored otherwise than sent, or returned otherwise than described.

A rule has the form `[operation.]field=form[+form...]`, for instance `payroll_number=without_zeros`,
`create_contact.email=trimmed+lower` or `list_client_invoices.canceled=bit`. Operation and field may
be patterns (`list_*.*_on=naive:UTC`). Only `absent`, `renamed` and `null` apply to null values.
"""

import unicodedata
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

Row = dict[str, Any]
Change = Callable[[Row, str], None]

FORMS = {
    "trimmed": "text without surrounding spaces",
    "padded": "text followed by a space",
    "lower": "lower-case text",
    "upper": "upper-case text",
    "ascii": "text without accents and ligatures",
    "without_zeros": "text without leading zeros",
    "zeros:N": "text with leading zeros up to N characters",
    "cut:N": "text without what follows its first N characters",
    "days:N": "a date N days later (or earlier: -N)",
    "hours:N": "a date-time N hours later (or earlier: -N)",
    "naive:ZONE": "a date-time as local time of an IANA zone, without its offset",
    "french": "a date or date-time as day/month/year",
    "times:N": "a number multiplied by N (100: cents; -1: the sign turned)",
    "volatile": "text followed by a signature that changes with each response",
    "unhyphenated": "a UUID without its hyphens",
    "foreign": "a UUID as the UUID of something else",
    "bit": "true and false as 1 and 0",
    "text": "a number or a boolean as text",
    "number": "text of digits, or a boolean, as a number",
    "null": "null, whatever the value",
    "absent": "the field omitted",
    "renamed:NAME": "the field under another name",
}
SHOWN_ONLY = ("absent", "renamed")


class InvalidFormError(ValueError):
    """A rule has an unknown form or an invalid parameter."""


@dataclass(frozen=True)
class Rule:
    """A parsed rule: changes of matching fields of matching operations."""

    operation: str
    field: str
    changes: tuple[Change, ...]

    def apply(self, row: Row) -> None:
        """Change the matching fields of `row` in place."""
        for name in [name for name in row if fnmatchcase(name, self.field)]:
            for change in self.changes:
                change(row, name)


class Forms:
    """Parsed rules, applied to rows in the order given."""

    def __init__(self, rules: Iterable[str], *, stored: bool = False) -> None:
        """Parse `rules`; with `stored`, refuse forms that only a response can have."""
        self._rules = [_parsed(rule, stored=stored) for rule in rules]

    def touches(self, operation: str) -> bool:
        """Return whether any rule applies to rows of `operation`."""
        return any(fnmatchcase(operation, rule.operation) for rule in self._rules)

    def changed(self, operation: str, row: Row) -> Row:
        """Return a copy of `row` in the forms that apply to `operation`."""
        copy = dict(row)
        for rule in self._rules:
            if fnmatchcase(operation, rule.operation):
                rule.apply(copy)
        return copy

    def changed_content(self, operation: str, content: Any) -> Any:
        """Return the content of a response (a record, an array or a page) in changed forms."""
        match content:
            case list():
                return [self.changed_content(operation, row) for row in content]
            case {"data": list() as rows}:
                envelope = self.changed(operation, content)
                return envelope | {"data": self.changed_content(operation, rows)}
            case dict():
                return self.changed(operation, content)
        return content


def describe() -> str:
    """Return one line per form."""
    return "\n".join(f"  {name:24}{text}" for name, text in FORMS.items())


def _parsed(rule: str, *, stored: bool) -> Rule:
    head, equals, forms = rule.partition("=")
    operation, _, field = head.strip().rpartition(".")
    if not (equals and field and forms.strip()):
        raise InvalidFormError(f"a rule has the form [operation.]field=form, not {rule!r}")
    changes = []
    for form in forms.split("+"):
        name, _, parameter = form.strip().partition(":")
        if stored and name in SHOWN_ONLY:
            raise InvalidFormError(f"{name!r} applies to responses only")
        try:
            changes.append(_change(name, parameter))
        except (ValueError, KeyError, OSError):
            raise InvalidFormError(
                f"unknown form {form!r} in {rule!r}; known forms: {', '.join(FORMS)}"
            ) from None
    return Rule(operation or "*", field, tuple(changes))


def _change(name: str, parameter: str) -> Change:
    """Return the change of a form; raise an error for an unknown form or parameter."""
    match name, parameter:
        case "null", "":
            return lambda row, field: row.update({field: None})
        case "absent", "":
            return lambda row, field: row.pop(field, None)
        case "renamed", _ if parameter:
            return lambda row, field: row.update({parameter: row.pop(field)})
    convert = _conversion(name, parameter)

    def apply(row: Row, field: str) -> None:
        if row.get(field) is not None:
            row[field] = convert(row[field])

    return apply


def _conversion(name: str, parameter: str) -> Callable[[Any], Any]:
    match name:
        case "zeros" | "cut":
            length = int(parameter)
            padded = name == "zeros"
            return _on_text(lambda text: text.zfill(length) if padded else text[:length])
        case "days":
            shift = timedelta(days=int(parameter))
            return lambda value: _shifted_day(value, shift)
        case "hours":
            shift = timedelta(hours=float(parameter))
            return _on_instant(lambda instant: instant + shift)
        case "times":
            factor = Decimal(parameter)
            return lambda value: Decimal(str(value)) * factor if _is_number(value) else value
        case "naive":
            zone = ZoneInfo(parameter)
            return _on_instant(lambda instant: instant.astimezone(zone).replace(tzinfo=None))
    if parameter:
        raise ValueError(parameter)
    return {
        "trimmed": _on_text(str.strip),
        "padded": _on_text(lambda text: text + " "),
        "lower": _on_text(str.lower),
        "upper": _on_text(str.upper),
        "ascii": _on_text(_ascii),
        "without_zeros": _on_text(lambda text: text.lstrip("0") or "0"),
        "french": _on_text(lambda text: f"{text[8:10]}/{text[5:7]}/{text[:4]}"),
        "volatile": lambda value: f"{value}?signature={next(_SIGNATURES)}",
        "unhyphenated": _on_text(lambda text: text.replace("-", "")),
        "foreign": lambda value: str(uuid.uuid5(uuid.NAMESPACE_OID, str(value))),
        "bit": lambda value: int(value) if isinstance(value, bool) else value,
        "text": _as_text,
        "number": _as_number,
    }[name]


_SIGNATURES = count(1)
_LIGATURES = str.maketrans({"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE"})


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.translate(_LIGATURES))
    return plain.encode("ascii", errors="ignore").decode()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _on_text(convert: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda value: convert(value) if isinstance(value, str) else value


def _on_instant(convert: Callable[[datetime], datetime]) -> Callable[[Any], Any]:
    """Return a conversion of date-times, as values or as ISO text; text stays text."""

    def apply(value: Any) -> Any:
        if isinstance(value, datetime):
            return convert(value)
        if isinstance(value, str) and "T" in value:
            return convert(datetime.fromisoformat(value)).isoformat()
        return value

    return apply


def _shifted_day(value: Any, shift: timedelta) -> Any:
    if isinstance(value, str):
        day = date.fromisoformat(value[:10]) + shift
        return day.isoformat() + value[10:]
    return value + shift if isinstance(value, date) else value


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | Decimal) else value


def _as_number(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value
