"""What every mirrored resource has beside the interface's fields, and the table of its versions."""

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
    """Return the columns that we add to a resource mirrored from a list and details."""
    return [
        *audit_columns(),
        Column(
            "_list_hash",
            LargeBinary,
            nullable=True,
            comment="Digest of the list item that the row agrees with; empty where no list had it.",
        ),
        Column(
            "_detailed",
            Boolean,
            nullable=False,
            comment="Whether its detail was read since its list item changed; else its fields are older.",
        ),
        Column(
            "_removal_reason",
            TEXT,
            nullable=True,
            comment="flagged: the service says deleted; missing: it no longer has it; else empty.",
        ),
    ]


def removal_checks() -> list[CheckConstraint]:
    """Return what holds between `deleted` and `_removal_reason`."""
    return [
        CheckConstraint("_removal_reason in ('flagged', 'missing')", name="removal_reason"),
        CheckConstraint("deleted = (_removal_reason is not null)", name="deleted"),
    ]


def versions_of(table: Table, metadata: MetaData, comment: str) -> Table:
    """Return the table of every state in which a row of `table` was seen."""
    key = [column.name for column in table.primary_key]
    return Table(
        f"{table.name}_version",
        metadata,
        *[Column(c.name, c.type, nullable=c.nullable, comment=c.comment) for c in table.columns],
        observed_at(),
        PrimaryKeyConstraint(*key, "_version"),
        comment=comment,
    )
