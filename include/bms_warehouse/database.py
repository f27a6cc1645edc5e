"""The way to the warehouse: an engine from a URI, and the schema brought up to date."""

from datetime import datetime
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    event,
    make_url,
    text,
)

from bms_warehouse.errors import Cursor, unwrapped
from bms_warehouse.tables.schema import SCHEMA

MIGRATIONS = Path(__file__).with_name("migrations")
VERSION_TABLE = "schema_version"
SESSION = {
    "timezone": "UTC",
    # A session whose machine is gone ends within two minutes, and what it holds is free: locks of
    # rows, the hold on a mirror. By the system's own settings that takes two hours.
    "tcp_keepalives_idle": 60,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 6,
    # So does one whose process stands still in the middle of a transaction.
    "idle_in_transaction_session_timeout": "10min",
}
_MIGRATION_LOCK = 0x626D73  # "bms": one migration at a time, whoever starts it


def connect(uri: str, **options: object) -> Engine:
    """Return an engine for a libpq URI (`postgresql://…`), over psycopg.

    Sessions speak UTC, so that what is read back is what was written; errors are
    `WarehouseError` and quote no row.
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
    """Let the transaction ask nothing for two hours, while files or the service are read."""
    connection.execute(text("set local idle_in_transaction_session_timeout = '2h'"))


def clock(connection: Connection) -> datetime:
    """Return the database's time: the one that all workers share, whatever their own clocks say.

    The driver asks by itself, at a third of the processor time: this is asked for each create.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the only driver that `connect` takes
    [(now,)] = driver.execute("select clock_timestamp()").fetchall()
    return now  # type: ignore[no-any-return]  # of a statement that returns one


def now(engine: Engine) -> datetime:
    """Return the database's time."""
    with engine.connect() as connection:
        return clock(connection)


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """Return the revision that this code needs."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    if revision is None:
        raise RuntimeError(f"no migration found in {MIGRATIONS}")
    return revision


def current(engine: Engine) -> str | None:
    """Return the revision that the warehouse stands at, None before the first migration."""
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": VERSION_TABLE, "version_table_schema": SCHEMA},
        )
        return context.get_current_revision()


def migrate(engine: Engine) -> str:
    """Bring the schema up to date in one transaction and return its revision; safe to repeat."""
    with engine.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        connection.execute(text(f"create schema if not exists {SCHEMA}"))
        command.upgrade(_config(connection), "head")
    return head()
