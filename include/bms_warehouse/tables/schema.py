"""Schema, naming convention and audit columns of all tables."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    DefaultClause,
    Double,
    Float,
    ForeignKey,
    Identity,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, DATERANGE, JSONB
from sqlalchemy.types import TypeEngine

from bms_warehouse.resources import ColumnKind

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


TEXT = Text()
BIGINT = BigInteger()
TYPES: Final[dict[ColumnKind, TypeEngine[Any]]] = {
    "bigint": BIGINT,
    "boolean": Boolean(),
    "date": Date(),
    "json": JSONB(),
    "numeric": Numeric(),
    "text": TEXT,
    "time": TIMESTAMP,
}
"""Type of a column, by its kind."""
_OWN_TYPES: Final[Mapping[str, TypeEngine[Any]]] = {
    **{f"{kind}": each for kind, each in TYPES.items()},
    "bytes": LargeBinary(),
    "daterange": DATERANGE(),
    "double": Double(),
    "float": Float(),
    "identity": BigInteger(),
    "integer": Integer(),
    "json_or_null": JSONB(none_as_null=True),
    "text[]": ARRAY(TEXT),
}
_LINE = re.compile(
    r"(?P<name>\w+) (?P<kind>[\w\[\]]+)(?P<optional>\?)?(?P<key> key)?"
    r"( -> (?P<table>\w+)( (?P<deleted>cascade|set null))?)?( = (?P<default>\S+))? -- (?P<comment>.+)"
)


def columns(declared: str) -> Iterator[Column[Any]]:
    """Yield the columns of lines `name kind[?] [key] [-> table [cascade]] [= default] -- comment`.

    A line that is indented further continues the comment. `?` allows null. `->` refers to the id of a row;
    the word after the table is what its deletion does.
    """
    for line in re.sub(r"\n {12}", " ", declared).strip().splitlines():
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"no column: {line.strip()}")
        identity = found["kind"] == "identity"
        more: list[Any] = [Identity(always=True)] if identity else []
        if found["table"]:
            more.append(ForeignKey(f"{SCHEMA}.{found['table']}.id", ondelete=found["deleted"]))
        yield Column(
            found["name"],
            _OWN_TYPES[found["kind"]],
            *more,
            primary_key=bool(found["key"]) or identity,
            autoincrement="auto" if identity else False,
            nullable=bool(found["optional"]),
            server_default=found["default"],
            comment=found["comment"],
        )


def one_of(states: Iterable[str]) -> CheckConstraint:
    """Return the constraint that the column `state` has one of these values."""
    return CheckConstraint(f"state in ({', '.join(map(repr, states))})", name="state")


def field(name: str, kind: TypeEngine[Any], meaning: str, *, key: bool = False) -> Column[Any]:
    """Return a column with the name of the interface's field."""
    return Column(name, kind, primary_key=key, autoincrement=False, comment=meaning)


def audit_columns(*, copied: bool = False) -> list[Column[Any]]:
    """Return the audit columns of a mirrored resource; their names begin with `_`.

    With `copied`, columns have defaults for COPY: version 1, and the settings of the transaction.
    """
    found = list(
        columns("""
        _extra json? -- Fields beyond the service's interface.
        _row_hash bytes -- Digest of the fields, without code labels.
        _version integer -- Version of the row: 1 for the first, plus 1 per change.
        _first_seen_at time -- First read that returned the row.
        _changed_at time -- First read that returned the current version.
        _step_run_id bigint -- Step run that wrote the current version.
        """)
    )
    if copied:
        observed_at = text("current_setting('bms.observed_at')::timestamptz")
        step_run_id = text("current_setting('bms.step_run_id')::bigint")
        defaults = (None, None, "1", observed_at, observed_at, step_run_id)
        for each, default in zip(found, defaults, strict=True):
            each.server_default = DefaultClause(default) if default is not None else None
    return found
