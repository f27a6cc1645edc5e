"""Columns of our own in mirrored resources, and their version tables."""

from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
)

from bms_warehouse.tables.schema import TEXT, audit_columns, observed_at


def mirror_columns() -> list[Column[Any]]:
    """Return our columns of a resource that is mirrored from a list and details."""
    return [
        *audit_columns(),
        Column(
            "_list_hash",
            LargeBinary,
            nullable=True,
            comment="Digest of the list item that the row matches; null if no list contained the record.",
        ),
        Column(
            "_detailed",
            Boolean,
            nullable=False,
            comment="Whether the detail was read since the list item changed; if not, its fields are older.",
        ),
        Column(
            "_removal_reason",
            TEXT,
            nullable=True,
            comment="flagged: deleted by the service's flag; missing: no longer in the service; null: present.",
        ),
    ]


def removal_checks() -> list[CheckConstraint]:
    """Return the constraints between `deleted` and `_removal_reason`."""
    return [
        CheckConstraint("_removal_reason in ('flagged', 'missing')", name="removal_reason"),
        CheckConstraint("deleted = (_removal_reason is not null)", name="deleted"),
    ]


def versions_of(table: Table, metadata: MetaData, comment: str) -> Table:
    """Return the table with the history of `table`."""
    key = [column.name for column in table.primary_key]
    return Table(
        f"{table.name}_version",
        metadata,
        *[Column(c.name, c.type, nullable=c.nullable, comment=c.comment) for c in table.columns],
        observed_at(),
        PrimaryKeyConstraint(*key, "_version"),
        comment=comment,
    )
