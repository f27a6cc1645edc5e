"""Migration of the warehouse's schema; apart from `database`, because no task needs Alembic."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from bms_warehouse.tables.schema import SCHEMA

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


def migrate(engine: Engine) -> str:
    """Migrate the schema in one transaction and return its revision; idempotent."""
    with engine.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        connection.execute(text(f"create schema if not exists {SCHEMA}"))
        command.upgrade(_config(connection), "head")
    return head()
