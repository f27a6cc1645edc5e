"""Upgrade of a warehouse of release 0.1.0 with data in every table, by all later migrations and one more."""

import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Column, Engine, Identity, MetaData, Table, select, text
from sqlalchemy.dialects.postgresql import Range

from bms_warehouse import migration
from bms_warehouse.errors import WarehouseError
from tests.support.databases import new_database
from tests.support.sql import execute, scalar

RELEASED = "0001"
CODES = {"_removal_reason": "flagged"}
STATES = {
    "contract": "known",
    "creation": "ready",
    "creation_plan": "made",
    "dropped_file": "open",
    "reconciliation": "pending",
    "step_run": "running",
}
VALUES: dict[str, Any] = {
    "ARRAY": ["é"],
    "BIGINT": 1,
    "BOOLEAN": True,
    "BYTEA": b"\0\xff",
    "DATE": date(2026, 2, 28),
    "DATERANGE": Range(date(2026, 2, 28), date(2026, 3, 1)),
    "DOUBLE_PRECISION": 0.1,
    "INTEGER": 1,
    "JSONB": {"é": [1, None]},
    "NUMERIC": Decimal("1234567890.10"),
    "TEXT": "Œuvre | 'x'",
    "TIMESTAMP": datetime(2026, 3, 29, 0, 30, tzinfo=UTC),
}
LATER = """
from alembic import op

revision, down_revision = "later", "{head}"


def upgrade():
    op.execute("alter table bms.client_invoice add column later text not null default 'none'")
    op.execute("alter table bms.alarm alter column size type bigint")
    op.execute("update bms.alarm set size = size / {divisor}")
"""


@pytest.fixture
def released(postgres: str) -> Iterator[Engine]:
    """A warehouse with the schema of the release and a row in every table."""
    with new_database(postgres) as engine:
        with engine.begin() as connection:
            connection.execute(text("create schema bms"))
            command.upgrade(migration._config(connection), RELEASED)
            for table in tables(engine, connection):
                connection.execute(table.insert().values(row(table)))
        yield engine


def tables(engine: Engine, connection: Any = None) -> list[Table]:
    """Return the tables that the warehouse has, referenced tables first."""
    found = MetaData()
    for schema in ("bms", "bms_private"):
        found.reflect(connection or engine, schema=schema)
    return [table for table in found.sorted_tables if table.name != migration.VERSION_TABLE]


def row(table: Table) -> dict[str, Any]:
    """Return a value for each column; the first row of a table has the number 1, as references say."""
    return {
        column.name: STATES[table.name]
        if column.name == "state"
        else CODES.get(column.name, VALUES[kind(column)])
        for column in table.columns
        if not isinstance(column.server_default, Identity)
    }


def kind(column: Column[Any]) -> str:
    return column.type.__visit_name__


def rows(engine: Engine, known: list[Table]) -> dict[str, list[tuple[Any, ...]]]:
    with engine.connect() as connection:
        return {
            str(table): [tuple(each) for each in connection.execute(select(table))]
            for table in known
        }


def test_invoices_without_a_day_get_one_that_their_load_read(released: Engine) -> None:
    execute(released, "update bms.client_invoice set _day = null")
    execute(released, "update bms.step_run set window_end = '2026-03-05'")
    migration.migrate(released)
    assert scalar(released, "select _day from bms.client_invoice") == date(2026, 3, 5), (
        "it was created later"
    )


def test_a_later_migration_keeps_every_row_of_the_release(
    released: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tables(released)
    before = rows(released, known)
    assert len(known) > 25
    assert {len(found) for found in before.values()} == {1}
    folder = shutil.copytree(migration.MIGRATIONS, tmp_path / "migrations")
    head = migration.head()
    monkeypatch.setattr(migration, "MIGRATIONS", folder)
    failing = folder / "versions/failing.py"
    failing.write_text(LATER.format(head=head, divisor=0))
    with pytest.raises(WarehouseError, match="22012"):
        migration.migrate(released)
    assert (migration.current(released), rows(released, known)) == (RELEASED, before)

    failing.unlink()
    (folder / "versions/later.py").write_text(LATER.format(head=head, divisor=1))
    assert migration.migrate(released) == migration.current(released) == "later"
    assert rows(released, known) == before
    assert scalar(released, "select later from bms.client_invoice") == "none"
