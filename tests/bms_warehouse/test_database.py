"""The schema: what the migrations make is what the tables say, and everything is explained."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, text

from bms_warehouse import database
from bms_warehouse.tables import METADATA


def test_migrations_make_what_the_tables_say(warehouse: Engine) -> None:
    with warehouse.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_schemas": True,
                "compare_server_default": True,
                "include_name": lambda name, kind, _: (
                    name == "bms" if kind == "schema" else name != database.VERSION_TABLE
                ),
                "version_table_schema": "bms",
            },
        )
        assert compare_metadata(context, METADATA) == []


def test_migrating_again_changes_nothing(warehouse: Engine) -> None:
    assert database.migrate(warehouse) == database.current(warehouse) == database.head()


def test_every_table_and_column_is_explained(warehouse: Engine) -> None:
    with warehouse.connect() as connection:
        silent = connection.scalars(
            text(
                """
                select c.relname || coalesce('.' || a.attname, '')
                from pg_class c
                left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not attisdropped
                where c.relnamespace = 'bms'::regnamespace and c.relkind in ('r', 'v', 'p')
                  and (obj_description(c.oid) is null or col_description(c.oid, a.attnum) is null)
                """
            )
        ).all()
    assert silent == []


def test_sessions_speak_utc(warehouse: Engine) -> None:
    with warehouse.connect() as connection:
        assert connection.scalar(text("show timezone")) == "UTC"


def test_a_session_whose_machine_is_gone_ends_within_minutes(warehouse: Engine) -> None:
    query = text("select name, reset_val from pg_settings where name like 'tcp_keepalives_%'")
    with warehouse.connect() as connection:
        found = {name: int(value) for name, value in connection.execute(query)}
    idle, between, times = (found[f"tcp_keepalives_{n}"] for n in ("idle", "interval", "count"))
    assert 0 < idle + between * times <= 120
