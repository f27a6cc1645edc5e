"""Conversion of records to rows of the mirror: columns, digests and flags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Boolean, Column

from bms.field_values import field_value
from bms.records import Record, described
from bms_flows.mirror.decisions import Flags
from bms_flows.mirror.resource import MirroredResource
from bms_flows.runtime.columns import InvalidCell, row_hashes, typed_records
from bms_flows.runtime.digests import content_digest

_WIRE = msgspec.json.Encoder(decimal_format="number")
_SORTED = msgspec.json.Encoder(decimal_format="number", order="sorted")

Extra = Mapping[str, Any]


@dataclass
class ListItem:
    """A new or changed list item, with its flags and deletion state."""

    record: Record
    digest: bytes
    extra: Extra | None
    flags: Flags
    deleted: bool


@dataclass
class DetailItem:
    """A detail, with the list state of the same row."""

    record: Record
    extra: Extra
    list_extra: Extra | None
    list_hash: bytes | None
    flags: Flags
    deleted: bool


@dataclass(frozen=True)
class RowBatch:
    """Rows for staging, and the cells that made other rows unstorable."""

    rows: pa.Table
    kept: Sequence[int]
    bad: Sequence[InvalidCell] = field(default_factory=list)


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


def digest_of(record: Record, extra: Extra | None, list_digest: bytes) -> bytes:
    """Return a 16-byte digest of a list item, its unknown fields and its list state."""
    line = _WIRE.encode(record)
    if extra:
        line += _SORTED.encode(extra)
    return content_digest(line + list_digest)


def as_json(record: Record, extra: Extra | None) -> bytes:
    """Return a record as JSON, unknown fields included."""
    return _WIRE.encode(msgspec.structs.asdict(record) | dict(extra or {}))


def listed_rows(
    resource: MirroredResource, items: Sequence[ListItem], zone: str, constants: Mapping[str, Any]
) -> RowBatch:
    """Return list items as rows without the columns that only the detail fills."""
    framed = _frame([item.record for item in items], resource.listed, zone)
    kept = [items[index] for index in framed.kept]
    rows = _with_constants(framed.rows, resource, constants)
    rows = _with_flags(rows, resource, kept)
    extras = [item.extra for item in kept]
    rows = rows.append_column("_extra", _jsons(extras))
    first = row_hashes(rows, [*_shared(resource), "_extra"])
    rows = rows.append_column("_row_hash", first)
    rows = rows.append_column("_list_hash", pa.array([item.digest for item in kept], pa.binary()))
    rows = rows.append_column("_detailed", pa.repeat(False, rows.num_rows))
    return RowBatch(rows, framed.kept, framed.bad)


def detailed_rows(
    resource: MirroredResource,
    details: Sequence[DetailItem],
    zone: str,
    constants: Mapping[str, Any],
) -> RowBatch:
    """Return details as rows; on contradiction, the detail precedes its list item."""
    framed = _frame([each.record for each in details], resource.read, zone)
    kept = [details[index] for index in framed.kept]
    rows = _with_constants(framed.rows, resource, constants)
    rows = _with_flags(rows, resource, kept)
    listed = rows.append_column("_extra", _jsons([each.list_extra for each in kept]))
    first = row_hashes(listed, [*_shared(resource), "_extra"])
    read = rows.append_column("_extra", _jsons([each.extra for each in kept]))
    second = row_hashes(read, [*resource.only_read, "_extra"])
    both = [{**(each.list_extra or {}), **each.extra} for each in kept]
    rows = rows.append_column("_extra", _jsons(both))
    rows = rows.append_column("_row_hash", pc.binary_join_element_wise(first, second, b""))
    rows = rows.append_column(
        "_list_hash", pa.array([each.list_hash for each in kept], pa.binary())
    )
    rows = rows.append_column("_detailed", pa.repeat(True, rows.num_rows))
    return RowBatch(rows, framed.kept, framed.bad)


def private_rows(
    resource: MirroredResource, details: Sequence[DetailItem], zone: str
) -> tuple[pa.Table, Sequence[InvalidCell]]:
    """Return the private columns of details, unknown fields included."""
    private = resource.private
    if private is None:
        raise ValueError(f"{resource.name} has no private fields")
    columns = {name: column for name, column in private.table.columns.items() if name[0] != "_"}
    framed = _frame([each.record for each in details], columns, zone)
    extras = [details[index].extra for index in framed.kept]
    rows = framed.rows.append_column("_extra", _jsons(extras))
    first = row_hashes(rows, [*columns, "_extra"])
    return rows.append_column("_row_hash", first), framed.bad


def _frame(records: list[Record], columns: Mapping[str, Column[Any]], zone: str) -> RowBatch:
    read = [Column(name, column.type) for name, column in columns.items()]
    if records and "deleted" in records[0].__struct_fields__:
        read.append(Column("deleted", Boolean()))
    framed = typed_records(records, read, zone)
    names = [columns[name].name if name in columns else name for name in framed.rows.column_names]
    return RowBatch(framed.rows.rename_columns(names), framed.kept, framed.bad)


def _with_constants(
    rows: pa.Table, resource: MirroredResource, constants: Mapping[str, Any]
) -> pa.Table:
    for name in resource.constants:
        filler = pa.scalar(constants[name], pa.int64())
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
        rows = rows.append_column(name, pa.array([each.flags[index] for each in items], pa.bool_()))
    deleted = pa.array([each.deleted for each in items], pa.bool_())
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


def _jsons(extras: Sequence[Extra | None]) -> pa.Array:
    return pa.array([_SORTED.encode(e).decode() if e else None for e in extras], pa.string())
