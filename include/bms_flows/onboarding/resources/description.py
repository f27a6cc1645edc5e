"""What a resource is for creation: its fields, its key, how a drop may name its columns."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

Kind = Literal["text", "integer", "decimal", "boolean", "date", "integers"]
"""What a cell is read as; `integers` are whole numbers separated by `|`."""

Value = str | int | Decimal | bool | date | tuple[int, ...]
"""What a cell becomes, by its field's kind."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column of a drop: its name, what it holds, where it goes in the creation body.

    `path` leads through objects (names) and arrays (places from 0); empty for a column that is
    not sent but helps to find another one's value. `detail_field` is its name in the detail, None
    where the service never gives it back. `aliases` are headers beside the name, the first of
    them the one that templates show. What a text `holds` says when two of them are the same;
    a number that `holds` a percentage is read as it is shown, 80 for "80 %".
    """

    name: str
    kind: Kind
    path: tuple[str | int, ...]
    aliases: tuple[str, ...]
    example: str = ""
    personal: bool = True
    detail_field: str | None = None
    holds: Literal["email", "phone", "percent"] | None = None

    @property
    def label(self) -> str:
        """The header that templates show."""
        return self.aliases[0] if self.aliases else self.name


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource that drops create: fields, what is required unless the settings file says otherwise.

    `inbox` is the folder's name under `inbox/` and `reports/`; `key` are the fields that tell two
    records apart before the service has given an id, and the first filled one of `told_by` tells
    a person which row is meant. `arrays` are the body's arrays of objects, each with the member
    that says which object it is. `region` is the country of phone numbers without a prefix.
    `watched`: wherever a row's record is known, the two are compared, however often it is dropped.
    `advice` stands in the inbox's instructions.
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
    always_compared: bool = False
    advice: str = ""

    def row_label(self, values: Mapping[str, Any]) -> str:
        """Return what tells a person which row is meant."""
        return next((str(values[name]) for name in self.label_fields if values.get(name)), "")

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The fields by their names."""
        return {field.name: field for field in self.fields}

    @cached_property
    def by_header(self) -> Mapping[str, Field]:
        """The fields by every header they may stand under, as `normalize_header` writes it."""
        return {
            normalize_header(header): field
            for field in self.fields
            for header in (field.name, *field.aliases)
        }


def normalize_header(header: str) -> str:
    """Return a header without case, accents, spaces and signs: "N° de Sécu" is "nodesecu"."""
    plain = unicodedata.normalize("NFKD", header.replace("°", "o").casefold())
    return re.sub(r"[^a-z0-9]", "", plain.replace("œ", "oe").replace("æ", "ae"))
