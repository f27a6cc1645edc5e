"""What a resource is for the mirror: its tables, its records, which field is which column."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
from sqlalchemy import Column, Table

from bms.records import Record
from bms.responses import Detail
from bms_flows.mirror.responses import only, without
from bms_flows.runtime.list_reader import FetchPage


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource mirrored from a list and from details."""

    table: Table
    versions: Table
    item: type[Record]
    detail: type[Record]
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names under which a field comes too; the first is the list's own where it differs."""
    flags: tuple[str, ...] = ()
    """Columns that say whether a filtered list has the row."""
    constants: tuple[str, ...] = ()
    """Columns with one value for a whole list, as the entity asked for."""
    private: "Private | None" = None
    """What of the detail is kept apart."""

    @property
    def name(self) -> str:
        """The resource by its table's name, as quarantine and files know it."""
        return self.table.name

    @property
    def key(self) -> str:
        """The column that identifies a row."""
        return self.item.KEY

    @cached_property
    def listed(self) -> dict[str, Column[Any]]:
        """The list's columns, by the record's fields."""
        return self._columns(self.item)

    @cached_property
    def read(self) -> dict[str, Column[Any]]:
        """The detail's columns, by the record's fields."""
        return self._columns(self.detail)

    @cached_property
    def only_read(self) -> list[str]:
        """Columns that only the detail fills, in their order."""
        listed = {column.name for column in self.listed.values()} | {*self.constants}
        return [column.name for column in self.read.values() if column.name not in listed]

    def public(self, body: bytes) -> bytes:
        """Return an answer as it may be kept with the others: without what is kept apart."""
        return without(body, self.private.fields) if self.private else body

    def public_detail(self, body: bytes) -> bytes:
        """Return a detail as it may be kept: with something kept apart, nothing unknown is left.

        Nobody can tell whether an unknown field may be shown.
        """
        if self.private is None:
            return body
        return only(body, frozenset(self.detail.__struct_fields__) - self.private.fields)

    def unknown(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return a list item's unknown fields, but for what is kept apart wherever it comes."""
        apart = self.private.fields if self.private else ()
        return {name: value for name, value in extra.items() if name not in apart}

    def _columns(self, record: type[Record]) -> dict[str, Column[Any]]:
        names = [each.name for each in msgspec.structs.fields(record)]
        columns = {name: self.aliases.get(name, name) for name in names}
        return {
            name: self.table.columns[column]
            for name, column in columns.items()
            if column in self.table.columns and column != "deleted"
        }


@dataclass(frozen=True, kw_only=True)
class Private:
    """Fields of a detail that are kept in tables of their own, or not at all."""

    table: Table
    versions: Table
    fields: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a run reads a resource: its lists and its details."""

    rows: FetchPage
    """The list of all rows that the run is asked for."""
    members: Mapping[str, FetchPage] = field(default_factory=dict)
    """By flag's column, the list that has the rows it is true for."""
    deleted: FetchPage | None = None
    """The list of deleted rows, for a service that leaves them out of the other."""
    detail: Callable[[Any], Awaitable[Detail[Any]]]
    page_size: int = 100
    given: Mapping[str, bool] = field(default_factory=dict)
    """What is true of every row of the list, by its being there: a flag, or `deleted`."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Values of the resource's `constants`."""
    whole: bool = True
    """Whether the list has all rows: only then is a row that it lacks gone."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run is asked for beside its source."""

    details: bool = True
    """Whether details are read; without, only those that confirm that a row is gone."""
    full: bool = False
    """Whether the detail of every row is read anew."""
    accept_gone: bool = False
    """Whether rows are marked as gone however many they are; a person found it right."""
    private: bool = False
    """Whether what is kept apart is kept."""
