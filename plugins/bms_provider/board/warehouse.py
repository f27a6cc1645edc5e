"""The warehouse as the board reads it: one engine for the process, nothing written, nothing slow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from fastapi import Depends, HTTPException, status
from sqlalchemy import Connection, Engine, exc, make_url, text

from bms_provider.flow_context import WAREHOUSE_CONN_ID, warehouse_uri
from bms_warehouse import database

LIMIT_MS = 5_000
"""A page that takes longer is given up: a person waits for it."""
PATIENCE_S = 5
"""How long a page waits for one of the board's sessions, and for the server to open one."""

_open: dict[str, Engine] = {}
"""The engine in use, by its URI."""


def close() -> None:
    """Close what is open; the next page connects anew."""
    while _open:
        _open.popitem()[1].dispose()


def _engine(uri: str) -> Engine:
    if uri not in _open:
        close()  # Airflow's connection was changed
        url = make_url(uri)
        patient = url.set(query={"connect_timeout": str(PATIENCE_S), **url.query})
        engine = database.connect(
            patient.render_as_string(hide_password=False),
            pool_size=2,
            max_overflow=4,
            pool_pre_ping=True,
            pool_timeout=PATIENCE_S,
        )
        _open[uri] = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
    return _open[uri]


def reading() -> Iterator[Connection]:
    """Yield a connection on which nothing can be written, at one moment of the warehouse."""
    with _session() as connection:
        connection.execute(text(f"set local statement_timeout = {LIMIT_MS}"))
        yield connection


def _session() -> Connection:
    """Return a session; raise 503, with what to do, where none can be had."""
    try:
        uri = warehouse_uri(BaseHook.get_connection(WAREHOUSE_CONN_ID))
    except AirflowNotFoundException:
        raise HTTPException(
            status.HTTP_503_SERVICE_UNAVAILABLE,
            f"The board knows no warehouse. Make the connection {WAREHOUSE_CONN_ID}, type postgres.",
        ) from None
    try:
        return _engine(uri).connect()
    except exc.TimeoutError:
        raise HTTPException(
            status.HTTP_503_SERVICE_UNAVAILABLE,
            "Too many pages are asked for at once. Ask again in a moment.",
        ) from None


WarehouseDep = Annotated[Connection, Depends(reading)]
