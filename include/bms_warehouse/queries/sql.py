"""Statements of the queries, from the `.sql` files beside the modules that run them."""

import re
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Connection, Executable, RowMapping, TextClause, text


def statements(file: str) -> Mapping[str, TextClause]:
    """Return the statements of `<file>.sql`, by the names that lines `-- name: …` give them."""
    content = Path(__file__).with_name(f"{file}.sql").read_text()
    _, *parts = re.split(r"^-- name: (\w+)$", content, flags=re.MULTILINE)
    return {name: text(each) for name, each in zip(parts[::2], parts[1::2], strict=True)}


def fetch(connection: Connection, statement: Executable, **given: object) -> list[RowMapping]:
    """Execute a statement with its parameters, and return all its rows."""
    return [*connection.execute(statement, given).mappings()]
