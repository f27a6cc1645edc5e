"""Schema of the warehouse: migrations produce the declared tables, with comments."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from sqlalchemy import Engine, table, text
from sqlalchemy.schema import SetColumnComment

from bms_warehouse import database, loads, migration
from bms_warehouse.resources import RESOURCES
from bms_warehouse.tables import METADATA, PRIVATE_METADATA, VIEWS

CATALOG = text("""
    with ours as (
        select oid as id, oid::regclass::text as name, obj_description(oid) as comment from pg_class
        where relnamespace::regnamespace::text in ('bms', 'bms_private') and relkind in ('r', 'v')
            and relname not in ('schema_version', 'client_invoice_current')
    )
    select name || ': ' || comment from ours
    union all
    select format('%s.%s %s%s%s%s: %s', name, attname, format_type(atttypid, atttypmod),
        case when attnotnull then ' not null' end,
        ' default ' || pg_get_expr(adbin, adrelid), ' identity ' || nullif(attidentity::text, ''),
        col_description(id, attnum))
    from ours join pg_attribute on attrelid = id and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    union all
    select format('%s %s %s', name, conname, pg_get_constraintdef(pg_constraint.oid))
    from ours join pg_constraint on conrelid = id and contype <> 'n'
    union all
    select pg_get_indexdef(indexrelid) from ours join pg_index on indrelid = id
    union all
    select name || ': ' || pg_get_viewdef(id) from ours join pg_class on oid = id and relkind = 'v'
""")


@pytest.fixture
def declared(postgres: str) -> Iterator[Engine]:
    """A database with the tables as `bms_warehouse.tables` declares them."""
    server = database.connect(postgres, isolation_level="AUTOCOMMIT")
    name = f"bms_{uuid.uuid4().hex}"
    with server.connect() as connection:
        connection.execute(text(f"create database {name}"))
    engine = database.connect(server.url.set(database=name).render_as_string(False))
    with engine.begin() as connection:
        for metadata in (METADATA, PRIVATE_METADATA):
            connection.execute(text(f"create schema {metadata.schema}"))
            metadata.create_all(connection)
        for view in VIEWS.tables.values():
            connection.execute(text(f"create view {view} as {view.info['query']}"))
            connection.execute(text(f"comment on view {view} is '{view.comment}'"))
            for column in view.columns:
                connection.execute(SetColumnComment(column))
    yield engine
    engine.dispose()
    with server.connect() as connection:
        connection.execute(text(f"drop database {name}"))
    server.dispose()


def catalog(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return set(connection.scalars(CATALOG))


def test_migrations_produce_the_declared_tables(warehouse: Engine, declared: Engine) -> None:
    produced, expected = catalog(warehouse), catalog(declared)
    assert len(expected) > 500
    extra, lacking = sorted(produced - expected), sorted(expected - produced)
    assert not extra, "\n".join(["not in tables/, but in the migrations:", *extra])
    assert not lacking, "\n".join(["in tables/, but not in the migrations:", *lacking])


def test_analysts_read_every_mirror_and_its_history(warehouse: Engine) -> None:
    query = text("select has_table_privilege('bms_analyst', :name, 'select')")
    names = [f"bms.{each.name}{end}" for each in RESOURCES for end in ("", "_version")]
    with warehouse.connect() as connection:
        hidden = [name for name in names if not connection.scalar(query, {"name": name})]
    assert not hidden, "grant these to bms_analyst in the migration"


def test_repeated_migration_changes_nothing(warehouse: Engine) -> None:
    assert migration.migrate(warehouse) == migration.current(warehouse) == migration.head()


def test_every_table_view_and_column_has_a_comment(warehouse: Engine) -> None:
    with warehouse.connect() as connection:
        uncommented = connection.scalars(
            text(
                """
                select c.relname || coalesce('.' || a.attname, '')
                from pg_class c
                left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not attisdropped
                where c.relnamespace::regnamespace::text in ('bms', 'bms_private') and c.relkind in ('r', 'v', 'p')
                  and (obj_description(c.oid) is null or col_description(c.oid, a.attnum) is null)
                """
            )
        ).all()
    assert uncommented == []


def test_sessions_use_utc(warehouse: Engine) -> None:
    with warehouse.connect() as connection:
        assert connection.scalar(text("show timezone")) == "UTC"


def test_a_session_of_a_dead_machine_ends_within_two_minutes(warehouse: Engine) -> None:
    query = text("select name, reset_val from pg_settings where name like 'tcp_keepalives_%'")
    with warehouse.connect() as connection:
        settings = {name: int(value) for name, value in connection.execute(query)}
    idle, interval, count = (settings[f"tcp_keepalives_{n}"] for n in ("idle", "interval", "count"))
    assert 0 < idle + interval * count <= 120


def test_settings_of_database_and_environment_change_no_row(
    warehouse: Engine, warehouse_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "client_encoding": "latin1",
        "datestyle": "German",
        "default_transaction_isolation": "repeatable read",
        "idle_session_timeout": "1ms",
    }
    row = {"field": "Œuvre", "value": datetime(2026, 3, 29, 0, 30, tzinfo=UTC)}
    with warehouse.begin() as connection:
        connection.execute(text("create table t (field text, value timestamptz)"))
        for name, value in settings.items():
            statement = f"alter database {warehouse.url.database} set {name} = '{value}'"
            connection.execute(text(statement))
    monkeypatch.setenv("PGCLIENTENCODING", "latin1")
    engine = database.connect(warehouse_uri)
    with engine.begin() as connection:
        rows = loads.copy_buffer(pa.Table.from_pylist([row]))
        loads.append(connection, table("t"), [rows], step_run_id=1, observed_at=row["value"])
        assert connection.scalar(text("select value from t")) == row["value"]
        assert connection.scalar(text("show transaction_isolation")) == "read committed"
    engine.dispose()
    with warehouse.connect() as connection:
        assert connection.scalar(text("select field from t")) == row["field"]


def test_a_migration_warns_if_it_may_not_create_the_readers(
    postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"bms_{uuid.uuid4().hex}"
    server = database.connect(postgres, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"create role {name} login"))
        connection.execute(text(f"create database {name} owner {name}"))
        connection.execute(text(f"alter role bms_analyst rename to {name}_analyst"))
        engine = database.connect(
            server.url.set(database=name, username=name).render_as_string(hide_password=False)
        )
        try:
            migration.migrate(engine)
        finally:
            engine.dispose()
            connection.execute(text(f"alter role {name}_analyst rename to bms_analyst"))
            connection.execute(text(f"drop database {name}"))
            connection.execute(text(f"drop role {name}"))
    server.dispose()
    assert "may not create the roles bms_analyst" in caplog.text
    assert len(caplog.records) == 1
