"""Staging of rows: a background thread converts them to columns and copies them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
from sqlalchemy import Connection, Table

from bms_flows.mirror.resource import MirroredResource
from bms_flows.mirror.rows import (
    DetailItem,
    ListItem,
    as_json,
    detailed_rows,
    listed_rows,
    private_rows,
)
from bms_flows.runtime.background import BackgroundWriter
from bms_flows.runtime.columns import TypedRecords
from bms_flows.runtime.coverage import Key
from bms_warehouse import loads, mirrors


class UnstorableRow(NamedTuple):
    """A row that the mirror cannot store because a value does not fit its column."""

    key: Key
    part: str
    """Unstorable part: `detail` or `private`; empty for the row itself."""
    code: str
    field: str | None
    raw: bytes


@dataclass
class Staging:
    """Staging tables of a run; a later state of a row replaces an earlier one.

    The thread uses `connection`: callers must `finish` before they use the connection.
    """

    connection: Connection
    resource: MirroredResource
    zone: str
    id_entity: int | None
    private_table: Table | None
    """Table of the private fields, if this run stores them."""
    writer: BackgroundWriter
    staged: set[Key] = field(default_factory=set)
    contradicted: set[Key] = field(default_factory=set)
    """Rows whose details have other values than their staged list items."""
    unstorable: list[UnstorableRow] = field(default_factory=list)

    async def listed(self, items: Sequence[ListItem]) -> None:
        """Stage list items without the columns that only the detail fills."""
        await self.writer.put(self._listed, items)

    async def detailed(self, items: Sequence[DetailItem]) -> None:
        """Stage details; they replace staged list items of the same rows."""
        await self.writer.put(self._detailed, items)

    async def finish(self) -> None:
        """Wait until all rows are staged; raise the errors of the thread."""
        await self.writer.done()

    def withdraw(self, keys: Collection[Key]) -> Mapping[Key, bytes]:
        """Remove rows from the staging tables; return the hashes of their list items."""
        staged = self.staged.intersection(keys)
        if not staged:
            return {}
        listed = mirrors.unstage(self.connection, self.resource.table, list(staged))
        self.connection.commit()
        self.staged -= staged
        return listed

    def _listed(self, items: Sequence[ListItem]) -> None:
        self._copy(listed_rows(self.resource, items, self.zone, self.id_entity), items, "")

    def _detailed(self, items: Sequence[DetailItem]) -> None:
        if self.resource.private_fields:
            if self.private_table is not None:
                framed = private_rows(self.resource, items, self.zone)
                self.unstorable += [
                    UnstorableRow(
                        items[cell.index].record.key, "private", cell.code, cell.field, b"{}"
                    )
                    for cell in framed.bad
                ]
                loads.stage(self.connection, self.private_table, loads.copy_buffer(framed.rows))
            for each in items:
                each.extra = {}  # unknown fields may be private
        framed = detailed_rows(self.resource, items, self.zone, self.id_entity)
        self._copy(framed, items, "detail")

    def _copy(
        self, framed: TypedRecords, items: Sequence[ListItem | DetailItem], part: str
    ) -> None:
        for cell in framed.bad:
            item = items[cell.index]
            raw = as_json(item)
            self.unstorable.append(UnstorableRow(item.record.key, part, cell.code, cell.field, raw))
        rows: pa.Table = framed.rows
        keys = [items[index].record.key for index in framed.kept]
        listed = self.withdraw(keys)
        if part:
            hashes = zip(keys, rows.column("_row_hash").to_pylist(), strict=True)
            read = {key: each[: mirrors.LISTED] for key, each in hashes}
            self.contradicted |= {key for key, each in listed.items() if read[key] != each}
        loads.stage(self.connection, self.resource.table, loads.copy_buffer(rows))
        self.connection.commit()
        self.staged.update(keys)


@contextmanager
def staging_tables(
    connection: Connection,
    resource: MirroredResource,
    zone: str,
    id_entity: int | None,
    *,
    private: bool,
) -> Iterator[Staging]:
    """Create staging tables on `connection` for the block; with `private`, also for private fields."""
    private_table = resource.private_table if private else None
    for table in resource.tables if private else [resource.table]:
        loads.create_staging(connection, table)
    connection.commit()
    with BackgroundWriter(waiting=1) as writer:
        yield Staging(connection, resource, zone, id_entity, private_table, writer)
