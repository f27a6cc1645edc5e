"""Warehouse connections of the board: one engine per process, with short timeouts; pages only read."""

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from fastapi import HTTPException, status
from sqlalchemy import Connection, Engine, exc, make_url, text

from bms_provider.flow_context import WAREHOUSE_CONN_ID, warehouse_uri
from bms_warehouse import database

LIMIT_MS = 5_000
"""Timeout of a statement."""
CONNECT_TIMEOUT_S = 5
"""Timeout for a free connection of the pool, and for a new connection to the server."""

_engines: dict[str, Engine] = {}
"""The current engine by its URI; at most one."""


def close() -> None:
    """Close the engine; the next request opens another."""
    while _engines:
        _engines.popitem()[1].dispose()


def _engine(uri: str) -> Engine:
    if uri not in _engines:
        close()  # a user changed Airflow's connection
        url = make_url(uri)
        url = url.set(query={"connect_timeout": str(CONNECT_TIMEOUT_S), **url.query})
        engine = database.connect(
            url.render_as_string(hide_password=False),
            pool_size=2,
            max_overflow=4,
            pool_pre_ping=True,
            pool_timeout=CONNECT_TIMEOUT_S,
        )
        _engines[uri] = engine
    return _engines[uri]


@contextmanager
def reading() -> Iterator[Connection]:
    """Yield a read-only connection whose queries all see the same snapshot; raise 503 with the remedy if there is none."""
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        session = writing().execution_options(**options).connect()
    except exc.TimeoutError:
        raise HTTPException(
            status.HTTP_503_SERVICE_UNAVAILABLE,
            "The board is busy with other requests. Reload the page in a moment.",
        ) from None
    with session as connection:
        connection.execute(text(f"set local statement_timeout = {LIMIT_MS}"))
        yield connection


def writing() -> Engine:
    """Return an engine that may write."""
    return _engine(warehouse_address())


def warehouse_address() -> str:
    """Return the URI of the warehouse; raise 503 with the remedy if there is no connection."""
    try:
        return warehouse_uri(BaseHook.get_connection(WAREHOUSE_CONN_ID))
    except AirflowNotFoundException:
        raise HTTPException(
            status.HTTP_503_SERVICE_UNAVAILABLE,
            f"The board has no warehouse. Create the connection {WAREHOUSE_CONN_ID}, type postgres.",
        ) from None
