"""Conversion of records to rows of the mirror: columns, digests and flags."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Boolean, Column

from bms.field_values import field_value
from bms.records import Record, described
from bms_flows.mirror.decisions import Flags
from bms_flows.mirror.resource import MirroredResource
from bms_flows.runtime.columns import (
    SORTED,
    TypedRecords,
    extra_column,
    row_hashes,
    typed_records,
)
from bms_flows.runtime.digests import content_digest

_WIRE = msgspec.json.Encoder(decimal_format="number")

Extra = Mapping[str, Any]


class ListState(msgspec.Struct, frozen=True, gc=False):
    """What the lists reveal about a row in addition to its fields."""

    digest: bytes | None
    """None if no list contains the row."""
    extra: Extra | None
    flags: Flags
    deleted: bool


class ListItem(msgspec.Struct, gc=False):
    """A new or changed list item."""

    record: Record
    listed: ListState

    @property
    def extra(self) -> Extra:
        """The unknown fields."""
        return self.listed.extra or {}


@dataclass
class DetailItem:
    """A detail, with the list state of the same row."""

    record: Record
    listed: ListState
    extra: Extra


Item = TypeVar("Item", ListItem, DetailItem)


def rename(record: Record, extra: dict[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Move fields with alternative names into the record; return the remaining unknown fields."""
    left = dict(extra)
    types = {name: each.type for name, each in described(type(record)).items()}
    for name in extra.keys() & aliases.keys():
        other = [each for each in types if aliases.get(each, each) == aliases[name]]
        if not other or getattr(record, other[0]) is not None:
            continue
        try:
            setattr(record, other[0], field_value(extra[name], types[other[0]])[0])
        except ValueError:
            continue
        del left[name]
    return left


def as_lines(records: Iterable[Record]) -> list[bytes]:
    """Return each record as a line of JSON."""
    return _WIRE.encode_lines(records).splitlines()


def digest_of(line: bytes, extra: Extra | None, list_digest: bytes) -> bytes:
    """Return a 16-byte digest of a list item's line, its unknown fields and its list state."""
    if extra:
        line += SORTED.encode(extra)
    return content_digest(line + list_digest)


def as_json(item: ListItem | DetailItem) -> bytes:
    """Return a record as JSON, unknown fields included."""
    return _WIRE.encode(msgspec.structs.asdict(item.record) | dict(item.extra))


def listed_rows(
    resource: MirroredResource, items: Sequence[ListItem], zone: str, id_entity: int | None
) -> TypedRecords:
    """Return list items as rows without the columns that only the detail fills."""
    framed, kept = _frame(resource, items, resource.listed, zone, id_entity)
    rows = framed.rows.append_column("_extra", extra_column([each.extra for each in kept]))
    hashes = row_hashes(rows, [*_shared(resource), "_extra"])
    return replace(framed, rows=_completed(rows, hashes, kept, detailed=False))


def detailed_rows(
    resource: MirroredResource, details: Sequence[DetailItem], zone: str, id_entity: int | None
) -> TypedRecords:
    """Return details as rows; on contradiction, the detail precedes its list item."""
    framed, kept = _frame(resource, details, resource.read, zone, id_entity)
    extras = [(each.listed.extra or {}, each.extra) for each in kept]
    listed = framed.rows.append_column("_extra", extra_column([extra for extra, _ in extras]))
    first = row_hashes(listed, [*_shared(resource), "_extra"])
    read = framed.rows.append_column("_extra", extra_column([extra for _, extra in extras]))
    second = row_hashes(read, [*resource.only_read, "_extra"])
    rows = framed.rows.append_column(
        "_extra", extra_column([{**one, **other} for one, other in extras])
    )
    hashes = pc.binary_join_element_wise(first, second, b"")
    return replace(framed, rows=_completed(rows, hashes, kept, detailed=True))


def private_rows(
    resource: MirroredResource, details: Sequence[DetailItem], zone: str
) -> TypedRecords:
    """Return the private columns of details, unknown fields included."""
    if resource.private_table is None:
        raise ValueError(f"{resource.name} has no private fields")
    columns = [each for each in resource.private_table.columns if each.name[0] != "_"]
    framed = typed_records([each.record for each in details], columns, zone)
    extras = [details[index].extra for index in framed.kept]
    rows = framed.rows.append_column("_extra", extra_column(extras))
    hashes = row_hashes(rows, [*(each.name for each in columns), "_extra"])
    return replace(framed, rows=rows.append_column("_row_hash", hashes))


def _frame(
    resource: MirroredResource,
    items: Sequence[Item],
    columns: Mapping[str, Column[Any]],
    zone: str,
    id_entity: int | None,
) -> tuple[TypedRecords, list[Item]]:
    """Return the columns, constants and flags of items, and the items that could be converted."""
    read = [Column(name, column.type) for name, column in columns.items()]
    if items and "deleted" in items[0].record.__struct_fields__:
        read.append(Column("deleted", Boolean()))
    framed = typed_records([each.record for each in items], read, zone)
    names = [columns[name].name if name in columns else name for name in framed.rows.column_names]
    kept = [items[index] for index in framed.kept]
    rows = _with_constants(framed.rows.rename_columns(names), resource, id_entity)
    return replace(framed, rows=_with_flags(rows, resource, kept)), kept


def _completed(
    rows: pa.Table, hashes: pa.Array, items: Sequence[ListItem | DetailItem], *, detailed: bool
) -> pa.Table:
    rows = rows.append_column("_row_hash", hashes)
    digests = pa.array([each.listed.digest for each in items], pa.binary())
    rows = rows.append_column("_list_hash", digests)
    return rows.append_column("_detailed", pa.repeat(detailed, rows.num_rows))


def _with_constants(rows: pa.Table, resource: MirroredResource, id_entity: int | None) -> pa.Table:
    filler = pa.scalar(id_entity, pa.int64())
    for name in resource.constants:
        if name in rows.column_names:
            index = rows.schema.get_field_index(name)
            rows = rows.set_column(index, name, pc.fill_null(rows.column(name), filler))
        else:
            rows = rows.append_column(name, pa.repeat(filler, rows.num_rows))
    return rows


def _with_flags(
    rows: pa.Table, resource: MirroredResource, items: Sequence[ListItem | DetailItem]
) -> pa.Table:
    for index, name in enumerate(resource.flags):
        rows = rows.append_column(
            name, pa.array([each.listed.flags[index] for each in items], pa.bool_())
        )
    deleted = pa.array([each.listed.deleted for each in items], pa.bool_())
    if "deleted" in rows.column_names:
        own = pc.fill_null(rows.column("deleted").combine_chunks(), False)
        deleted = pc.or_(own, deleted)
        rows = rows.drop_columns("deleted")
    rows = rows.append_column("deleted", deleted)
    reason = pc.if_else(deleted, pa.scalar("flagged"), pa.scalar(None, pa.string()))
    return rows.append_column("_removal_reason", reason)


def _shared(resource: MirroredResource) -> list[str]:
    listed = [column.name for column in resource.listed.values()]
    more = [name for name in resource.constants if name not in listed]
    return [*listed, *more, *resource.flags, "deleted"]
