"""Declaration of a resource: the record's fields with type, meaning, privacy and alternative names.

A list item declares the fields that a list returns; the record of the detail inherits from it and
adds those that only the detail returns. From the two follow the columns of the warehouse with their
comments, the restricted table, the fields that may go to XCom, and the dtypes of DataFrames.

Keys are required, and so are the totals of an invoice. Every other field may be null or absent,
both None here: the interface does not show which fields are optional. Amounts are exact (`Decimal`
from the digits in the response). Dates and timestamps stay text (`bms.dates` parses them), since
the interface does not show their formats. `bms.decoding` converts mistyped values that have only
one interpretation.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    TypeAlias,
    get_args,
    get_origin,
)

import msgspec

Kind = Literal["integer", "boolean", "amount", "day", "timestamp", "text", "nested"]
Privacy = Literal["public", "personal", "restricted"]

_UNHYPHENATED: Final = re.compile(
    "([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})"
)
Guid = Annotated[str, msgspec.Meta(pattern=r"\A[^\x00]{1,200}\Z")]
"""The text of a key, as PostgreSQL can index it."""
DateText = Annotated[str, msgspec.Meta(description="a date or timestamp")]
"""A date as text; unlike a code, it is never converted from a number."""

Text: TypeAlias = str | None
Number: TypeAlias = int | None
Amount: TypeAlias = Decimal | None
Flag: TypeAlias = bool | None
Day: TypeAlias = DateText | None
Time: TypeAlias = DateText | None
"""Names of the fields end in `_on`."""


KINDS: Final[Mapping[type, Kind]] = {
    Decimal: "amount",
    bool: "boolean",
    int: "integer",
    str: "text",
}


def canonical_guid(text: str) -> str:
    """Return a GUID in lower case and, if it is a UUID, with hyphens: services may write one GUID differently."""
    low = text.lower()
    found = _UNHYPHENATED.fullmatch(low)
    return "-".join(found.groups()) if found else low


@dataclass(frozen=True)
class Field:
    """The declaration of a field inside `Annotated`."""

    meaning: str
    """Comment of the column."""
    privacy: Privacy = "personal"
    """`public` may go to XCom, `personal` to the warehouse, `restricted` to a restricted table."""
    column: str = ""
    """Name of the column, if another record names the field otherwise."""
    aliases: tuple[str, ...] = ()
    """Alternative names of the field in responses."""
    code: bool = False
    """Whether the field has one of the service's codes, whose values the interface does not show."""
    category: bool = False
    """Whether the field repeats few values; true for codes and their labels."""
    label_of: str | None = None
    """The field with the code that this field names in the requested language."""
    verbatim: bool = False
    """Whether the warehouse stores a date as text: it need not be a date."""


@dataclass(frozen=True, kw_only=True)
class Described(Field):
    """A field as its record declares it."""

    name: str
    type: Any
    """Type without the declaration, for decoding."""
    required: bool

    @property
    def kind(self) -> Kind:
        """What the values are, whatever their type in JSON."""
        accepted = get_args(self.type) or (self.type,)
        if DateText in accepted:
            return "timestamp" if self.name.endswith("_on") else "day"
        return next((kind for known, kind in KINDS.items() if known in accepted), "nested")


public: Final = partial(Field, privacy="public")
restricted: Final = partial(Field, privacy="restricted")


class Record(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One record; its repr shows only type and key, since most other fields are personal."""

    KEY: ClassVar[str]
    """Name of the identifying field."""

    @classmethod
    def amounts(cls) -> tuple[str, ...]:
        """Return the names of the decimal fields; a mistyped amount makes the record invalid."""
        return tuple(each.name for each in described(cls).values() if each.kind == "amount")

    @property
    def key(self) -> int | str:
        """The value of the identifying field."""
        value: int | str = getattr(self, self.KEY)
        return value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.KEY}={self.key!r})"

    def __rich_repr__(self) -> list[tuple[str, int | str]]:
        return [(self.KEY, self.key)]


@cache
def described(record: type[Record]) -> Mapping[str, Described]:
    """Return the fields of a record by name, in the order of the interface."""
    return MappingProxyType({f.name: _described(f) for f in msgspec.structs.fields(record)})


def _described(field: msgspec.structs.FieldInfo) -> Described:
    type_, given = _split(field.type)
    own = {
        "column": given.column or field.name,
        "category": given.category or given.code or given.label_of is not None,
    }
    return Described(name=field.name, type=type_, required=field.required, **{**vars(given), **own})


def _split(type_: Any) -> tuple[Any, Field]:
    """Return a field's type and its declaration."""
    if get_origin(type_) is not Annotated:
        raise TypeError(f"declare the field with its meaning: Annotated[{type_}, Field('...')]")
    plain, *annotations = get_args(type_)
    given = next(each for each in annotations if isinstance(each, Field))
    others = tuple(each for each in annotations if each is not given)
    return (Annotated[plain, *others] if others else plain), given


def public_fields(record: type[Record]) -> frozenset[str]:
    """Return the fields without personal data.

    Airflow stores XCom values as plain text and shows them: only these fields may go there. A field
    is personal unless declared otherwise, so that a new one never leaks.
    """
    return frozenset(name for name, each in described(record).items() if each.privacy == "public")


def labels(record: type[Record]) -> Mapping[str, str]:
    """Return the fields that name a code in the requested language, with the code's field."""
    return {name: each.label_of for name, each in described(record).items() if each.label_of}
