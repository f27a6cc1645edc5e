"""Staging of rows: latest states and unstorable rows."""

from contextlib import AbstractContextManager

import pytest
from sqlalchemy import Connection, Engine, text

from bms.records import Contact, ContactItem
from bms_flows.mirror.resources import CONTACTS
from bms_flows.mirror.rows import DetailItem, ListItem, ListState
from bms_flows.mirror.staging import Staging, staging_tables
from bms_warehouse.errors import WarehouseError

LISTED = ListState(b"digest", None, (False,), deleted=False)


def listed(key: int, city: str) -> ListItem:
    return ListItem(ContactItem(id=key, city=city), LISTED)


def detailed(key: int, city: str) -> DetailItem:
    return DetailItem(Contact(id=key, city=city), LISTED, {})


def staging(connection: Connection) -> AbstractContextManager[Staging]:
    return staging_tables(connection, CONTACTS, "Europe/Paris", None, private=False)


def rows(connection: Connection) -> list[tuple[int, str, bool]]:
    found = connection.execute(
        text("select id, city, _detailed from pg_temp.contact_staging order by id")
    )
    return [tuple(row) for row in found]


async def test_a_later_state_of_a_row_replaces_its_staged_state(warehouse: Engine) -> None:
    with warehouse.connect() as connection, staging(connection) as stage:
        await stage.listed([listed(1, "Paris"), listed(2, "Lyon"), listed(3, "Brest")])
        await stage.listed([listed(2, "Nantes")])
        await stage.detailed([detailed(3, "Quimper")])
        await stage.finish()
        assert stage.staged == {1, 2, 3}
        assert rows(connection) == [(1, "Paris", False), (2, "Nantes", False), (3, "Quimper", True)]


async def test_rows_are_withdrawn(warehouse: Engine) -> None:
    with warehouse.connect() as connection, staging(connection) as stage:
        await stage.listed([listed(1, "Paris"), listed(2, "Lyon")])
        await stage.finish()
        stage.withdraw({2, 7})
        assert stage.staged == {1}
        assert rows(connection) == [(1, "Paris", False)]


async def test_an_unstorable_row_is_reported_and_the_others_are_staged(warehouse: Engine) -> None:
    with warehouse.connect() as connection, staging(connection) as stage:
        await stage.listed([listed(1, "a\0b"), listed(2, "Lyon")])
        await stage.detailed([detailed(2, "a\0b")])
        await stage.finish()
        assert [(each.key, each.part, each.code, each.field) for each in stage.unstorable] == [
            (1, "", "bad_text", "city"),
            (2, "detail", "bad_text", "city"),
        ]
        assert rows(connection) == [(2, "Lyon", False)]


async def test_errors_of_the_thread_are_raised(warehouse: Engine) -> None:
    with warehouse.connect() as connection, staging(connection) as stage:
        connection.execute(text("drop table pg_temp.contact_staging"))
        await stage.listed([listed(1, "Paris")])
        with pytest.raises(WarehouseError):
            await stage.finish()
