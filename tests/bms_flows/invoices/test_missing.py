"""Invoices that the service no longer returns: marked once and excluded from current rows."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from bms_flows.audit import warehouse as audited
from bms_flows.invoices import history
from bms_flows.invoices.units import Unit
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import Window
from bms_warehouse import loads
from bms_warehouse.history import Stamp
from bms_warehouse.queries import trends
from bms_warehouse.tables import client_invoice
from tests.support.sql import execute

DAY = date(2026, 3, 3)
WINDOW = Window(DAY, DAY)
LATER = datetime(2030, 1, 1, tzinfo=UTC)


def mark(connection: Connection, ids: list[int], at: datetime) -> int:
    return loads.mark_missing(
        connection,
        client_invoice,
        Stamp(77, at),
        where="id_invoice = any(%(ids)s)",
        given={"ids": ids},
    )


@pytest.fixture
def ids(warehouse: Engine, extract: Callable[..., Any]) -> list[int]:
    """The ids of a day's invoices; the first one is marked as missing."""
    extract(DAY.isoformat(), DAY.isoformat())
    with warehouse.begin() as connection:
        found = [*connection.scalars(text("select id_invoice from bms.client_invoice order by 1"))]
        assert mark(connection, found[:1], LATER) == 1
    return found


def test_an_invoice_that_is_marked_already_keeps_its_mark(
    warehouse: Engine, ids: list[int]
) -> None:
    with warehouse.begin() as connection:
        assert mark(connection, ids[:2], LATER.replace(year=2031)) == 1
        marks = connection.execute(
            text(
                """select id_invoice, extract(year from _missing_since)::int, _version
                from bms.client_invoice where _missing_since is not null order by 1"""
            )
        ).all()
    assert marks == [(ids[0], 2030, 2), (ids[1], 2031, 2)]


def test_audit_currencies_and_board_leave_out_missing_invoices(
    warehouse: Engine, ids: list[int]
) -> None:
    same = "update bms.client_invoice set canceled = false, currency = 'EUR', total_excl_vat = 1"
    execute(warehouse, same)
    with warehouse.connect() as connection:
        compared = audited.invoices(connection, 1, WINDOW).keys()
        known = history.load_history(
            connection, Unit(1, (WINDOW,)), [DAY], FlowSettings().time_zone, ()
        )
        (shown,) = trends.amounts_per_day(connection, DAY)
    assert compared == {*ids[1:]}
    assert known.stored_currencies["EUR"][DAY] == shown["amount"] == len(ids) - 1
