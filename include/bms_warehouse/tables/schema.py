"""Schema, naming convention and audit columns of all tables."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Text,
    TextClause,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from bms_warehouse.resources import Kind

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

PRIVATE_METADATA = MetaData(schema="bms_private", naming_convention=METADATA.naming_convention)
"""Separate metadata: the restricted schema has other grants and no shared queries."""

TIMESTAMP = DateTime(timezone=True)
"""All times have a time zone and are UTC."""


def column(name: str, kind: Any, comment: str, *more: Any, **given: Any) -> Column[Any]:
    """Return a column that has a value in every row."""
    return Column(name, kind, *more, nullable=False, comment=comment, **given)


def optional(name: str, kind: Any, comment: str, *more: Any, **given: Any) -> Column[Any]:
    """Return a column that may be null."""
    return Column(name, kind, *more, nullable=True, comment=comment, **given)


def field(name: str, kind: TypeEngine[Any], meaning: str, *, key: bool = False) -> Column[Any]:
    """Return a column with the name of the interface's field."""
    return Column(name, kind, primary_key=key, autoincrement=False, comment=meaning)


def audit_columns(*, copied: bool = False) -> list[Column[Any]]:
    """Return the audit columns of a mirrored resource; their names begin with `_`.

    With `copied`, columns have defaults for COPY: version 1, and the settings of the transaction.
    """

    def setting(name: str, kind: str) -> TextClause | None:
        return text(f"current_setting('bms.{name}')::{kind}") if copied else None

    observed_at = setting("observed_at", "timestamptz")
    return [
        optional("_extra", JSONB, "Fields beyond the service's interface."),
        column("_row_hash", LargeBinary, "Digest of the fields, without code labels."),
        column(
            "_version",
            Integer,
            "Version of the row: 1 for the first, plus 1 per change.",
            server_default="1" if copied else None,
        ),
        column(
            "_first_seen_at",
            TIMESTAMP,
            "First read that returned the row.",
            server_default=observed_at,
        ),
        column(
            "_changed_at",
            TIMESTAMP,
            "First read that returned the current version.",
            server_default=observed_at,
        ),
        column(
            "_step_run_id",
            BigInteger,
            "Step run that wrote the current version.",
            server_default=setting("step_run_id", "bigint"),
        ),
    ]


TEXT = Text()
BIGINT = BigInteger()
TYPES: Final[dict[Kind, TypeEngine[Any]]] = {
    "bigint": BIGINT,
    "boolean": Boolean(),
    "date": Date(),
    "json": JSONB(),
    "numeric": Numeric(),
    "text": TEXT,
    "time": TIMESTAMP,
}
"""Type of a column, by its kind."""
