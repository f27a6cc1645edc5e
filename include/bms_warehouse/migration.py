"""Migration of the warehouse's schema; apart from `database`, because no task needs Alembic."""

import logging
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from bms_warehouse.tables.schema import SCHEMA

LOG = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).with_name("migrations")
VERSION_TABLE = "schema_version"
_MIGRATION_LOCK = 0x626D73  # "bms"; serializes migrations


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
    """Return the revision of the warehouse, None before the first migration."""
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": VERSION_TABLE, "version_table_schema": SCHEMA},
        )
        return context.get_current_revision()


def _log_warning(message: psycopg.errors.Diagnostic) -> None:
    if message.severity_nonlocalized == "WARNING":
        LOG.warning("%s", message.message_primary)


def migrate(engine: Engine) -> str:
    """Migrate the schema in one transaction and return its revision; idempotent."""
    with engine.begin() as connection:
        migrate_within(connection)
    return head()


def migrate_within(connection: Connection) -> None:
    """Migrate the schema in the caller's transaction; the log shows the warnings of the migrations."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the only driver that `connect` takes
    driver.add_notice_handler(_log_warning)
    connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
    connection.execute(text(f"create schema if not exists {SCHEMA}"))
    command.upgrade(_config(connection), "head")
