"""One statement on a warehouse, in a transaction of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Table, insert, text


def scalar(engine: Engine, query: str, **values: Any) -> Any:
    """Return the first value of a query."""
    with engine.connect() as connection:
        return connection.scalar(text(query), values)


def scalars(engine: Engine, query: str, **values: Any) -> Sequence[Any]:
    """Return the first column of a query."""
    with engine.connect() as connection:
        return connection.scalars(text(query), values).all()


def fetch(engine: Engine, query: str, **values: Any) -> list[Any]:
    """Return all rows of a query."""
    with engine.connect() as connection:
        return [*connection.execute(text(query), values)]


def execute(engine: Engine, statement: str, **values: Any) -> None:
    """Execute a statement and commit it."""
    with engine.begin() as connection:
        connection.execute(text(statement), values)


def insert_row(where: Engine | Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert a row, in the transaction of a connection if one is given."""
    if isinstance(where, Connection):
        where.execute(insert(table).values(values))
    else:
        with where.begin() as connection:
            connection.execute(insert(table).values(values))
