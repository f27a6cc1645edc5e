"""Databases of a test's own, beside the warehouse of the fixture."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, text

from bms_warehouse import database


@contextmanager
def new_database(postgres: str, options: str = "", user: str | None = None) -> Iterator[Engine]:
    """Create an empty database for the block; yield an engine of it, for a user."""
    server = database.connect(postgres, isolation_level="AUTOCOMMIT")
    name = f"bms_{uuid.uuid4().hex}"
    url = server.url.set(database=name, username=user)
    with server.connect() as connection:
        connection.execute(text(f"create database {name} {options}"))
        engine = database.connect(url.render_as_string(hide_password=False))
        try:
            yield engine
        finally:
            engine.dispose()
            connection.execute(text(f"drop database {name} with (force)"))
    server.dispose()
