"""Description of a resource that drops create: fields, headers, key and required fields."""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from bms.records import Record, described

ColumnKind = Literal["text", "integer", "decimal", "boolean", "date", "integers"]
"""Type of a field; `integers` are whole numbers separated by `|`."""

Holds = Literal["code", "email", "name", "number", "percent", "phone", "postal_code"]
"""What texts of a field are: how they are checked and compared."""

Value = str | int | Decimal | bool | date | tuple[int, ...]
"""Value of a cell, by the kind of its field."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column of a drop: its name, type, headers and position in the creation body.

    `path` leads through objects (names) and arrays (indexes); it is empty for a column that is not
    sent but determines the value of another field. `detail_field` is the field's name in the
    detail, None if the service never returns the field. `aliases` are further headers; templates
    show the first. `holds` selects how texts are checked and compared; a percentage is read as
    displayed, 80 for "80 %"; a `number` is a text with digits.
    """

    name: str
    kind: ColumnKind
    path: tuple[str | int, ...]
    aliases: tuple[str, ...]
    example: str = ""
    detail_field: str | None = None
    holds: Holds | None = None

    @property
    def label(self) -> str:
        """The header in templates."""
        return self.aliases[0] if self.aliases else self.name


KINDS: Final[Mapping[str, ColumnKind]] = {
    "text": "text",
    "integer": "integer",
    "amount": "decimal",
    "boolean": "boolean",
    "day": "date",
    "nested": "integers",
}
"""Kind of a column by that of the record's field."""


HOLDS: Final[Mapping[str, Holds]] = {
    "email": "email",
    "phone": "phone",
    "fax": "phone",
    "postal_code": "postal_code",
    "last_name": "name",
    "first_name": "name",
}
"""What a text holds whose name contains one of these."""
_COLUMNS: Final = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))


def columns(resource: str, record: type[Record]) -> tuple[Field, ...]:
    """Return the columns of a resource, as `columns.toml` lists them, with what its record declares."""
    fields = described(record).values()
    returned = {name: each for each in fields for name in (each.name, *each.aliases)}
    return tuple(
        _column(column, given, returned.get(source))
        for source, entry in _COLUMNS[resource].items()
        for column, given in (_of_array(source, **entry) if "parts" in entry else [(source, entry)])
    )


def _of_array(
    array: str, title: str, times: int, parts: Sequence[tuple[str, ColumnKind, str, str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of the first objects of an array: `skill1_id` of `skills`, and so on.

    Each part of an object has a name, a kind, what headers call it after the numbered title, and an
    example.
    """
    for n in range(1, times + 1):
        for part, kind, labels, example in parts:
            headers = " | ".join(f"{title} {n} {each}".strip() for each in labels.split(" | "))
            given = {"headers": headers, "kind": kind, "path": (array, n - 1, part)}
            yield f"{array.removesuffix('s')}{n}_{part}", {**given, "example": example * (n == 1)}


def _column(name: str, entry: Mapping[str, Any], returned: Any) -> Field:
    """Return a column; `returned` is the record's field, None if the service never returns it.

    Without `path` it is a field of the body's first level, with `sent = false` none. The name of a text
    shows what it holds (`HOLDS`).
    """
    given = entry if "headers" in entry else {**_COLUMNS["shared"][name], **entry}
    sent = given.get("sent", True)
    if returned is None and "kind" not in given:
        raise TypeError(f"{name}: the record has no such field; give its kind")
    kind = given.get("kind") or KINDS[returned.kind]
    holds = (held for part, held in HOLDS.items() if part in name and kind == "text" and sent)
    return Field(
        name=name,
        kind=kind,
        path=tuple(given.get("path", [name] * sent)),
        aliases=tuple(given["headers"].split(" | ")),
        example=given.get("example", ""),
        detail_field=returned.name if returned else None,
        holds=given.get("holds") or next(holds, None),
    )


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource that drops create.

    `inbox` is the folder's name under `inbox/` and `reports/`. `required` fields apply unless the
    rules file overrides them. `key` fields identify a record before the service assigns an id.
    The first filled field of `label_fields` identifies a row to HR users. `arrays` maps the arrays
    of the body to the key of their objects. `region` is the country of phone numbers without a
    prefix. `in_order` are pairs of dates or years, the earlier one first. `always_compared`: compare a row
    with its record at every drop of the row.
    """

    name: str
    inbox: str
    title: str
    fields: tuple[Field, ...]
    required: tuple[str, ...]
    key: tuple[str, ...]
    label_fields: tuple[str, ...]
    arrays: Mapping[str, str] = field(default_factory=dict)
    region: str = "FR"
    in_order: tuple[tuple[str, str], ...] = ()
    always_compared: bool = False

    def row_label(self, values: Mapping[str, Any]) -> str:
        """Return the value that identifies a row to HR users."""
        return next((str(values[name]) for name in self.label_fields if values.get(name)), "")

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The fields by name."""
        return {field.name: field for field in self.fields}

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The fields with one of the service's codes that the service returns."""
        own = (each for each in self.fields if each.holds != "postal_code" and each.detail_field)
        return tuple(
            each.name for each in own if each.name.endswith("_code") and len(each.path) == 1
        )

    @cached_property
    def by_header(self) -> Mapping[str, Field]:
        """The fields by each of their headers, normalized by `normalize_header`."""
        return {
            normalize_header(header): field
            for field in self.fields
            for header in (field.name, *field.aliases)
        }


def normalize_header(header: str) -> str:
    """Return a header without case, accents, spaces and punctuation: "N° de Sécu" is "nodesecu"."""
    plain = unicodedata.normalize("NFKD", header.replace("°", "o").casefold())
    return re.sub(r"[^a-z0-9]", "", plain.replace("œ", "oe").replace("æ", "ae"))
