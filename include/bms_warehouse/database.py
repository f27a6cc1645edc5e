"""Warehouse engine and the database's clock."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import psycopg
from sqlalchemy import (
    Connection,
    DateTime,
    Engine,
    Table,
    create_engine,
    event,
    func,
    make_url,
    text,
)
from sqlalchemy.dialects.postgresql import insert

from bms_warehouse.errors import Cursor, EncodingUnsupported, PoolerFound, unwrapped

SESSION = {
    # In `public`, where PostgreSQL 14 lets all users create, a reader's operator would run as the owner.
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO",
    # Otherwise the literal '\x00' is a NUL character, and a null in an array the text "NULL".
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    # At another level, a transaction that has waited for a lock sees the state from before its wait.
    "default_transaction_isolation": r"read\ committed",
    # An intent that a crash of PostgreSQL loses would permit a second POST of its row.
    "synchronous_commit": "on",
    # The session of a dead machine ends within two minutes and releases its locks; by the system's
    # default this takes two hours, or a quarter of one if a response is on its way.
    "tcp_keepalives_idle": 60,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 6,
    "tcp_user_timeout": "2min",
    # A session that holds the lock of a mirror is idle while the run reads lists of the service.
    "idle_session_timeout": "0",
    # The session of a suspended process ends in the middle of its transaction.
    "idle_in_transaction_session_timeout": "10min",
}
PEER = {
    "keepalives_idle": "60",
    "keepalives_interval": "10",
    "keepalives_count": "6",
    "tcp_user_timeout": "120000",
}
"""Parameters of libpq, unless the URI has others: the client notices a dead server as soon as the server notices a dead client."""
MARK = "bms.session"
"""Custom setting that holds a random value for each engine."""


def connect(uri: str, **options: object) -> Engine:
    """Return an engine for a libpq URI (`postgresql://…`), over psycopg.

    Sessions use UTC, UTF-8, standard strings, "read committed" and commits that survive a crash,
    whatever the settings of role, database and environment. Errors are `WarehouseError` and contain
    no row data; a connection pooler is refused with `PoolerFound`, a server before version 14 with
    `ServerTooOld`, a database that does not store UTF-8 with `EncodingUnsupported`.
    """
    url, mark = make_url(uri), secrets.token_hex(8)
    url = url.set(drivername="postgresql+psycopg", query={**PEER, **url.query})
    given = url.query.get("options", ())
    settings = [f"-c {name}={value}" for name, value in (SESSION | {MARK: mark}).items()]
    engine = create_engine(
        url,
        connect_args={
            "options": " ".join([*([given] if isinstance(given, str) else given), *settings]),
            "application_name": "bms",
            # COPY sends UTF-8. As a startup parameter it also overrides PGCLIENTENCODING.
            "client_encoding": "UTF8",
            "cursor_factory": Cursor,
        },
        hide_parameters=True,
        **options,
    )
    event.listen(engine, "handle_error", unwrapped)
    event.listen(engine, "connect", partial(_check_session, mark))
    return engine


def _check_session(mark: str, driver: psycopg.Connection, _record: object) -> None:
    """Raise `PoolerFound` if the session was not opened with the settings of this engine.

    A pooler opens the sessions of the server itself, so that no custom setting of a client reaches it.
    Raise `EncodingUnsupported` for a database whose encoding is not UTF-8.
    """
    before, driver.autocommit = driver.autocommit, True
    [(found,)] = driver.execute(f"select current_setting('{MARK}', true)").fetchall()
    driver.autocommit = before
    if found != mark:
        driver.close()
        raise PoolerFound
    encoding = driver.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        driver.close()
        raise EncodingUnsupported(f"{encoding}")


def read_meanwhile(connection: Connection) -> None:
    """Allow the transaction to be idle for two hours, for reads of files or of the service."""
    connection.execute(text("set local idle_in_transaction_session_timeout = '2h'"))


NOW: Final = func.clock_timestamp(type_=DateTime(timezone=True))
"""The database's time in a statement."""


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


def upsert(
    connection: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    unless_equal: str = "",
    **computed: Any,
) -> None:
    """Insert rows of the same columns, or update the rows that have their primary keys.

    A row that has the new value of the column `unless_equal` stays. A column in `computed` is updated
    to its expression there, not to the new value.
    """
    if not rows:
        return
    statement, key = insert(table), table.primary_key.columns.keys()
    renewed = {name: statement.excluded[name] for name in rows[0] if name not in key}
    new, old = statement.excluded.get(unless_equal), table.c.get(unless_equal)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=key,
            set_=renewed | computed,
            where=None if old is None else old.is_distinct_from(new),
        ),
        rows,
    )
