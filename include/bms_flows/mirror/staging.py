"""Rows on their way into the staging tables: turned to columns and copied by a thread of their own."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
from sqlalchemy import Connection

from bms_flows.mirror.resource import Private, Resource
from bms_flows.mirror.rows import (
    Detailed,
    Framed,
    Listed,
    as_it_came,
    detailed_rows,
    listed_rows,
    private_rows,
)
from bms_flows.runtime.background import BackgroundWriter
from bms_flows.runtime.coverage import Key
from bms_warehouse import loads, mirrors


class Unfit(NamedTuple):
    """A cell that doesn't fit its column, and the row it kept from being loaded."""

    key: Key
    part: str
    """Empty for the row itself; else what of it can't be loaded: its detail, what is private."""
    code: str
    field: str | None
    raw: bytes


@dataclass
class Staging:
    """The staging tables of a run; a row that comes again takes the place of its earlier state.

    While the thread works, nobody else may use `connection`: `settle` first.
    """

    connection: Connection
    resource: Resource
    zone: str
    constants: Mapping[str, Any]
    private: Private | None
    """What is kept apart, where this run keeps it."""
    lane: BackgroundWriter
    staged: set[Key] = field(default_factory=set)
    unfit: list[Unfit] = field(default_factory=list)

    async def listed(self, items: Sequence[Listed]) -> None:
        """Stage list items; what only the detail has stays open."""
        await self.lane.put(self._listed, items)

    async def detailed(self, items: Sequence[Detailed]) -> None:
        """Stage details, in the place of what is staged of the same rows."""
        await self.lane.put(self._detailed, items)

    async def settle(self) -> None:
        """Wait until all is staged; raise what went wrong."""
        await self.lane.done()

    def withdraw(self, keys: Collection[Key]) -> None:
        """Take rows out again."""
        again = self.staged.intersection(keys)
        if again:
            mirrors.unstage(self.connection, self.resource.table, list(again))
            self.connection.commit()
            self.staged -= again

    def _listed(self, items: Sequence[Listed]) -> None:
        framed = listed_rows(self.resource, items, self.zone, self.constants)
        for cell in framed.bad:
            item = items[cell.index]
            raw = as_it_came(item.record, item.extra)
            self.unfit.append(Unfit(item.record.key, "", cell.code, cell.field, raw))
        self._copy(framed)

    def _detailed(self, items: Sequence[Detailed]) -> None:
        if self.resource.private:
            if self.private:
                self._copy_private(self.private, items)
            for each in items:
                each.extra = {}  # nobody can tell whether an unknown field may be shown
        framed = detailed_rows(self.resource, items, self.zone, self.constants)
        for cell in framed.bad:
            item = items[cell.index]
            raw = as_it_came(item.record, item.extra)
            self.unfit.append(Unfit(item.record.key, "detail", cell.code, cell.field, raw))
        self._copy(framed)

    def _copy_private(self, private: Private, items: Sequence[Detailed]) -> None:
        rows, bad = private_rows(self.resource, items, self.zone)
        self.unfit += [
            Unfit(items[cell.index].record.key, "private", cell.code, cell.field, b"{}")
            for cell in bad
        ]
        loads.stage(self.connection, private.table, loads.copy_buffer(rows))

    def _copy(self, framed: Framed) -> None:
        rows: pa.Table = framed.rows
        keys = rows.column(self.resource.key).to_pylist()
        self.withdraw(keys)
        loads.stage(self.connection, self.resource.table, loads.copy_buffer(rows))
        self.connection.commit()
        self.staged.update(keys)


@contextmanager
def staging_tables(
    connection: Connection,
    resource: Resource,
    zone: str,
    constants: Mapping[str, Any],
    private: Private | None,
) -> Iterator[Staging]:
    """Yield empty staging tables on `connection` for the block."""
    for table in (resource.table, *([private.table] if private else ())):
        loads.create_staging(connection, table)
    connection.commit()
    with BackgroundWriter(waiting=1) as lane:
        yield Staging(connection, resource, zone, constants, private, lane)
