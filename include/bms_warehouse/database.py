"""Warehouse engine and the database's clock."""

from datetime import datetime

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text

from bms_warehouse.errors import Cursor, unwrapped

SESSION = {
    "timezone": "UTC",
    # The session of a dead machine ends within two minutes and releases its locks; by the system's
    # default this takes two hours.
    "tcp_keepalives_idle": 60,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 6,
    # The session of a suspended process ends in the middle of its transaction.
    "idle_in_transaction_session_timeout": "10min",
}


def connect(uri: str, **options: object) -> Engine:
    """Return an engine for a libpq URI (`postgresql://…`), over psycopg.

    Sessions use UTC. Errors are `WarehouseError` and contain no row data.
    """
    url = make_url(uri).set(drivername="postgresql+psycopg")
    engine = create_engine(
        url,
        connect_args={
            "options": " ".join(f"-c {name}={value}" for name, value in SESSION.items()),
            "application_name": "bms",
            "cursor_factory": Cursor,
        },
        hide_parameters=True,
        **options,
    )
    event.listen(engine, "handle_error", unwrapped)
    return engine


def read_meanwhile(connection: Connection) -> None:
    """Allow the transaction to be idle for two hours, for reads of files or of the service."""
    connection.execute(text("set local idle_in_transaction_session_timeout = '2h'"))


def clock(connection: Connection) -> datetime:
    """Return the database's time, which all workers share.

    The query bypasses SQLAlchemy, which takes three times the processor time; each create asks once.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the only driver that `connect` takes
    [(now,)] = driver.execute("select clock_timestamp()").fetchall()
    return now  # type: ignore[no-any-return]  # the statement returns one time


def now(engine: Engine) -> datetime:
    """Return the database's time."""
    with engine.connect() as connection:
        return clock(connection)
