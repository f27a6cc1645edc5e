"""Tables of mirrored resources, made from their descriptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Boolean, CheckConstraint, Column, Table

from bms_warehouse import resources
from bms_warehouse.resources import ResourceDescription
from bms_warehouse.tables.history import with_history
from bms_warehouse.tables.schema import (
    METADATA,
    PRIVATE_METADATA,
    TYPES,
    audit_columns,
    columns,
    field,
)

list_digest = Table(
    "list_digest",
    METADATA,
    *columns("""
        resource text key -- Mirrored resource.
        id_entity bigint key -- Entity; 0 if the resource has one list.
        digest bytes -- Digest of the rows, the code, and the fields that are left out.
        rows bytes -- Of each row, the digest as received, the `_list_hash`, and the key.
    """),
    comment="Cache of the mirrors: a row of a list with these bytes is not decoded again. May be "
    "emptied.",
)


@dataclass(frozen=True)
class MirrorTables:
    """Tables of a mirrored resource, each with its history; `private` only for private columns."""

    current: Table
    private: Table | None = None


def mirror_tables(resource: ResourceDescription) -> MirrorTables:
    """Declare the tables of a mirrored resource."""
    without = ", without restricted data" if resource.private_columns else ""
    current = Table(
        resource.name,
        METADATA,
        *_fields(resource.columns),
        *_own_columns(resource),
        *_removal_checks(),
        comment=f"Latest state of every {resource.name} that a read returned{without}; rows are "
        "never deleted.",
    )
    with_history(current)
    if not resource.private_columns:
        return MirrorTables(current)
    private = Table(
        f"{resource.name}_private",
        PRIVATE_METADATA,
        *_fields([resource.columns[0], *resource.private_columns]),
        *audit_columns(),
        comment=f"Restricted data of {resource.plural}; filled with {resource.details_level}=full only.",
    )
    with_history(private)
    return MirrorTables(current, private)


def _fields(columns: Sequence[resources.Column]) -> list[Column[Any]]:
    """Return the columns of the fields; the first is the key."""
    return [
        field(name, TYPES[kind], meaning, key=name == columns[0][0])
        for name, kind, meaning in columns
    ]


def _own_columns(resource: ResourceDescription) -> list[Column[Any]]:
    """Return our columns of a resource that is mirrored from a list and details."""
    name = resource.name
    entity = f"_entity bigint -- Entity whose list returned the {name} last (query parameter)."
    return [
        *columns(
            f"deleted boolean -- Whether the {name} is removed; _removal_reason gives the reason."
        ),
        *audit_columns(),
        *columns("""
        _list_hash bytes? -- Digest of the list item that the row matches; null if no list contained
            the record.
        _detailed boolean -- Whether the detail was read since the list item changed; if not, its
            fields are older.
        _removal_reason text? -- flagged: deleted by the service's flag; missing: no longer in the
            service; null: present.
        """),
        *(columns(entity) if resource.per_entity else ()),
        *(
            Column(flag.name, Boolean, nullable=flag.nullable, comment=flag.meaning)
            for flag in resource.flags
        ),
    ]


def _removal_checks() -> list[CheckConstraint]:
    """Return the constraints between `deleted` and `_removal_reason`."""
    return [
        CheckConstraint("_removal_reason in ('flagged', 'missing')", name="removal_reason"),
        CheckConstraint("deleted = (_removal_reason is not null)", name="deleted"),
    ]


MIRROR_TABLES: Final = {each.name: mirror_tables(each) for each in resources.RESOURCES}
"""Tables of each mirrored resource, by its name."""
