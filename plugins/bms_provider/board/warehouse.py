"""The warehouse as the board reads it: one engine for the process, nothing written, nothing slow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from airflow.sdk import BaseHook
from fastapi import Depends
from sqlalchemy import Connection, Engine, text

from bms_provider.workplace import WAREHOUSE_CONN_ID, warehouse_uri
from bms_warehouse import database

LIMIT_MS = 5_000
"""A page that takes longer is given up: a person waits for it."""


_open: dict[str, Engine] = {}
"""The engine in use, by its URI."""


def close() -> None:
    """Close what is open; the next page connects anew."""
    while _open:
        _open.popitem()[1].dispose()


def _engine(uri: str) -> Engine:
    if uri not in _open:
        close()  # Airflow's connection was changed
        engine = database.connect(
            uri, pool_size=2, max_overflow=4, pool_pre_ping=True, pool_timeout=5
        )
        _open[uri] = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
    return _open[uri]


def reading() -> Iterator[Connection]:
    """Yield a connection on which nothing can be written, at one moment of the warehouse."""
    uri = warehouse_uri(BaseHook.get_connection(WAREHOUSE_CONN_ID))
    with _engine(uri).connect() as connection:
        connection.execute(text(f"set local statement_timeout = {LIMIT_MS}"))
        yield connection


WarehouseDep = Annotated[Connection, Depends(reading)]
