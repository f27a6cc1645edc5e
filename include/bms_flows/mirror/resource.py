"""Descriptions of mirrored resources: tables, records, columns, and where a run reads them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import msgspec
from sqlalchemy import Column, Table

from bms.records import Record
from bms.responses import Detail, FindRows, Page
from bms_flows.mirror.responses import only, without
from bms_flows.runtime.list_reader import LARGE_PAGE
from bms_warehouse.resources import ResourceDescription


class FetchRows(Protocol):
    """Fetches one page of a list without decoding known rows."""

    def __call__(
        self, number: int, size: int, *, find: FindRows | None = None
    ) -> Awaitable[Page[Any]]:
        """Return page `number`, from 1, of `size` rows; `find` returns known rows."""
        ...


@dataclass(frozen=True, kw_only=True)
class MirroredResource:
    """A resource that is mirrored from a list and, if it has any, from details."""

    described: ResourceDescription
    table: Table
    item: type[Record]
    detail: type[Record]
    """Record of the detail; the list's own if the service has no detail."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Column of each field whose name differs from its column, alternative names included."""
    flags: tuple[str, ...] = ()
    """Columns that record whether a filtered list contains the row."""
    constants: tuple[str, ...] = ()
    """Columns with one value for the whole list, such as the requested entity."""
    private_fields: frozenset[str] = frozenset()
    """Fields of the detail that are stored in a separate table, or not at all."""
    private_table: Table | None = None

    @property
    def name(self) -> str:
        """The table's name, which also names the resource in quarantine and in folders."""
        return self.table.name

    @property
    def tables(self) -> list[Table]:
        """The tables that the mirror may fill."""
        return [each for each in (self.table, self.private_table) if each is not None]

    @property
    def key(self) -> str:
        """The column that identifies a row."""
        return self.item.KEY

    @cached_property
    def listed(self) -> dict[str, Column[Any]]:
        """Columns of the list, by field of the record."""
        return self._columns(self.item)

    @cached_property
    def read(self) -> dict[str, Column[Any]]:
        """Columns of the detail, by field of the record."""
        return self._columns(self.detail)

    @cached_property
    def only_read(self) -> list[str]:
        """Columns that only the detail fills, in order."""
        listed = {column.name for column in self.listed.values()} | {*self.constants}
        return [column.name for column in self.read.values() if column.name not in listed]

    def public(self, body: bytes) -> bytes:
        """Return a response without private fields."""
        return without(body, self.private_fields) if self.private_fields else body

    def public_detail(self, body: bytes) -> bytes:
        """Return a detail without private fields.

        If the resource has private fields, unknown fields are removed too: they may be private.
        """
        if not self.private_fields:
            return body
        return only(body, frozenset(self.detail.__struct_fields__) - self.private_fields)

    def unknown(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return the unknown fields of a list item without private fields."""
        return {name: v for name, v in extra.items() if name not in self.private_fields}

    def _columns(self, record: type[Record]) -> dict[str, Column[Any]]:
        names = [each.name for each in msgspec.structs.fields(record)]
        columns = {name: self.aliases.get(name, name) for name in names}
        return {
            name: self.table.columns[column]
            for name, column in columns.items()
            if column in self.table.columns and column != "deleted"
        }


@dataclass(frozen=True, kw_only=True)
class MirrorSource:
    """Lists and details from which a run reads a resource."""

    rows: FetchRows
    """Main list: all rows that the run covers."""
    members: Mapping[str, FetchRows] = field(default_factory=dict)
    """By flag column, the filtered list of the rows for which the flag is true."""
    deleted: FetchRows | None = None
    """List of deleted rows, in case the main list omits them."""
    detail: Callable[[Any], Awaitable[Detail[Any]]] | None
    """Request for one record; None if the service only lists them."""
    page_size: int = 100
    """Rows per page of a short list, and where the service refuses larger pages."""
    largest_page: int = LARGE_PAGE
    """Rows per page of a long list, if the service gives as many."""
    implied: Mapping[str, bool] = field(default_factory=dict)
    """Flags, or `deleted`, that are true for every row of the main list."""
    id_entity: int | None = None
    """The entity of the lists, if each entity has its own: the value of the resource's `constants`."""
    preceding: frozenset[int] = frozenset()
    """Entities that take precedence: a row that one of their lists contains belongs to that entity."""
    whole: bool = True
    """Whether the main list is unrestricted: only then can a run detect removed rows."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run."""

    details: bool = True
    """Whether details are read; if not, only those of missing rows, to confirm the removal."""
    full: bool = False
    """Whether the detail of every row is read again."""
    accept_gone: bool = False
    """Whether an operator has accepted more removals than the settings allow."""
    accepted_by: str | None = None
    """That operator."""
    private: bool = False
    """Whether private fields are stored."""
