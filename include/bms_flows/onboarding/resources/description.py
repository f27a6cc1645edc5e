"""Description of a resource that drops create: fields, headers, key and required fields."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
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


SHARED: Final[Mapping[str, tuple[str, str]]] = {
    "last_name": ("Nom | Nom de famille | Surname", "Lefèvre"),
    "first_name": ("Prénom | Given name", "Aurélie"),
    "address": ("Adresse | Street", "12 rue de l'Église"),
    "postal_code": ("Code postal | CP | Zip code", "01000"),
    "city": ("Ville | Town", "Bourg-en-Bresse"),
    "country": ("Pays", "FR"),
    "phone_number": ("Téléphone | Téléphone fixe | Tél | Phone", ""),
    "phone_mobile_number": (
        "Mobile | Portable | Téléphone mobile | GSM | Mobile phone",
        "+33 6 00 00 00 01",
    ),
    "email": (
        "E-mail | Adresse e-mail | Adresse de messagerie | Courriel | Mail | E-mail address",
        "",
    ),
    "notes": ("Notes | Commentaires | Remarks", ""),
    "id_client": ("Id client | N° client | Client", ""),
}
"""Headers and example of the columns that several resources have."""
HOLDS: Final[Mapping[str, Holds]] = {
    "email": "email",
    "phone": "phone",
    "fax": "phone",
    "postal_code": "postal_code",
    "last_name": "name",
    "first_name": "name",
}
"""What a text holds whose name contains one of these."""


class Columns:
    """Makes the columns of a drop: kind and field of the detail come from the record.

    A field that the service never returns, or an element of an array, has a `kind` of its own.
    """

    def __init__(self, record: type[Record]) -> None:
        fields = described(record).values()
        self._fields = {name: each for each in fields for name in (each.name, *each.aliases)}

    def __call__(
        self,
        name: str,
        headers: str | None = None,
        example: str = "",
        *,
        kind: ColumnKind | None = None,
        **given: Any,
    ) -> Field:
        """Return a column with headers separated by ` | `; those of `SHARED`, and its example, by default.

        Unless `path` says otherwise, it is a field of the body's first level. The name of a text shows
        what it holds (`HOLDS`).
        """
        if headers is None:
            headers, shared = SHARED[name]
            example = example or shared
        returned = self._fields.get(name)
        if returned is None and kind is None:
            raise TypeError(f"{name}: the record has no such field; give its kind")
        kind = kind or KINDS[returned.kind if returned else ""]
        holds = (held for part, held in HOLDS.items() if part in name and kind == "text")
        given = {
            "holds": next(holds, None),
            "path": (name,),
            "detail_field": returned.name if returned else None,
            "kind": kind,
            **given,
        }
        return Field(name=name, aliases=tuple(headers.split(" | ")), example=example, **given)

    def array(
        self, array: str, title: str, parts: Sequence[tuple[str, ColumnKind, str, str]], times: int
    ) -> Iterator[Field]:
        """Return the columns of the first objects of an array: `skill1_id` of `skills`, and so on.

        Each part of an object has a name, a kind, what headers call it after the numbered title, and an
        example.
        """
        returned = self._fields.get(array)
        for n in range(1, times + 1):
            for part, kind, labels, example in parts:
                yield self(
                    f"{array.removesuffix('s')}{n}_{part}",
                    " | ".join(f"{title} {n} {each}".strip() for each in labels.split(" | ")),
                    example=example if n == 1 else "",
                    path=(array, n - 1, part),
                    kind=kind,
                    detail_field=returned.name if returned else None,
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
