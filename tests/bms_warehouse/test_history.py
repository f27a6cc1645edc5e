"""Invoices as the warehouse held them at the end of a day, and the history that readers see."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from bms_warehouse import loads
from bms_warehouse.history import Stamp
from bms_warehouse.tables import client_invoice as table
from tests.bms_warehouse.test_loads import rows, stage

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def merge(connection: Connection, day: int, *numbers: int, digest: bytes) -> None:
    stage(connection, rows(*numbers, digest=digest, subject=digest.decode()))
    at = NOON + timedelta(days=day)
    loads.merge(connection, table, Stamp(day, at))


@pytest.fixture
def months(warehouse: Engine) -> Engine:
    """Invoice 1 changes on day 2, invoice 2 is missing on day 3, invoice 3 comes on day 3."""
    with warehouse.begin() as connection:
        merge(connection, 1, 1, 2, digest=b"a")
        merge(connection, 2, 1, digest=b"b")
        loads.mark_missing(
            connection,
            table,
            Stamp(3, NOON + timedelta(days=3)),
            where="id_invoice = 2",
            given={},
        )
        merge(connection, 3, 3, digest=b"c")
    return warehouse


@pytest.mark.parametrize(
    ("day", "known"),
    [
        (1, []),
        (2, [(1, "a"), (2, "a")]),
        (3, [(1, "b"), (2, "a")]),
        (4, [(1, "b"), (3, "c")]),
        (9, [(1, "b"), (3, "c")]),
    ],
)
def test_invoices_as_of_a_day(months: Engine, day: int, known: list[tuple[int, str]]) -> None:
    query = text(
        "select id_invoice, invoice_subject from bms.client_invoice_as_of(:day) order by 1"
    )
    with months.connect() as connection:
        found = connection.execute(query, {"day": f"2026-03-0{day}"}).all()
    assert [tuple(row) for row in found] == known
