"""One statement on a warehouse, in a transaction of its own."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, text


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
