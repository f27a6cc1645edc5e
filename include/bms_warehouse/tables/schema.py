"""What every table of the warehouse shares: its schema, its way of naming, its audit columns."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

SCHEMA = "bms"

METADATA = MetaData(
    schema=SCHEMA,
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    },
)

TIMESTAMP = DateTime(timezone=True)
"""Times are UTC with zone, everywhere."""


def field(name: str, kind: TypeEngine[Any], meaning: str, *, key: bool = False) -> Column[Any]:
    """Return the column that carries a field of the interface under the interface's own name."""
    return Column(name, kind, primary_key=key, autoincrement=False, comment=meaning)


def audit_columns() -> list[Column[Any]]:
    """Return the columns that we add to every mirrored resource; their names begin with `_`."""
    return [
        Column(
            "_extra", JSONB, nullable=True, comment="Fields the service sent beyond its interface."
        ),
        Column(
            "_row_hash",
            LargeBinary,
            nullable=False,
            comment="Digest of the fields' values; names kept per language stand outside of it.",
        ),
        Column(
            "_version",
            Integer,
            nullable=False,
            comment="How often the row was seen anew: 1 at first sight, one more at each change.",
        ),
        Column(
            "_first_seen_at",
            TIMESTAMP,
            nullable=False,
            comment="When a read first returned the row.",
        ),
        Column(
            "_changed_at",
            TIMESTAMP,
            nullable=False,
            comment="When a read first returned the row as it stands now.",
        ),
        Column(
            "_step_run_id",
            BigInteger,
            nullable=False,
            comment="The step in bms.step_run that wrote the row as it stands now.",
        ),
    ]


def observed_at() -> Column[Any]:
    """Return the column that dates a version."""
    return Column(
        "_observed_at", TIMESTAMP, nullable=False, comment="When this version was first seen."
    )


TEXT = Text()
BIGINT = BigInteger()
