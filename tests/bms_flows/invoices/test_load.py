"""Loader of invoices: its batches, its way of writing, and its database session."""

from datetime import date, datetime

import pyarrow as pa
import pytest
from sqlalchemy import Connection, Engine

from bms_flows.invoices import load as load_module
from bms_flows.invoices.load import Loader
from bms_warehouse import loads
from bms_warehouse.database import clock
from bms_warehouse.history import Stamp
from bms_warehouse.loads import driver
from tests.support.sql import fetch, scalar


def last_asked(engine: Engine, connection: Connection) -> datetime:
    """Return when a session was last asked something."""
    pid = driver(connection).info.backend_pid
    return scalar(engine, "select query_start from pg_stat_activity where pid = :pid", pid=pid)


def test_a_load_without_changes_keeps_its_session_active(
    warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that asks nothing in a transaction for ten minutes is ended; years take longer to read."""
    monkeypatch.setattr(load_module, "IDLE_S", 0)
    with warehouse.begin() as connection:
        loader = Loader(connection, Stamp(1, clock(connection)), "FR", "FR")
        before = last_asked(warehouse, connection)
        loader.add(loads.copy_buffer(pa.table({"id_invoice": pa.array([], pa.int64())})))
        assert last_asked(warehouse, connection) > before


def invoices(*numbers: int, new: bool = True, digest: bytes = b"a") -> loads.CopyBuffer:
    """Return invoices of one day; `new` as the comparison found it."""
    count = len(numbers)
    columns = {
        "id_entity": pa.array([1] * count, pa.int64()),
        "id_invoice": pa.array(numbers, pa.int64()),
        "_row_hash": pa.array([digest] * count, pa.binary()),
        "_day": pa.array([date(2026, 3, 1)] * count, pa.date32()),
    }
    return loads.copy_buffer(pa.table(columns), new=new)


def load(engine: Engine, *buffers: loads.CopyBuffer, step: int = 1, read: str = "FR") -> Loader:
    with engine.begin() as connection:
        loader = Loader(connection, Stamp(step, clock(connection)), read, "FR")
        for each in buffers:
            loader.add(each)
        loader.merge()
    return loader


def stored(engine: Engine) -> list[tuple[int, int, int]]:
    """Return number, version and step of each invoice."""
    query = "select id_invoice, _version, _step_run_id from bms.client_invoice order by 1"
    return [tuple(row) for row in fetch(engine, query)]


@pytest.mark.parametrize("read", ["FR", "EN"])
def test_new_rows_are_written_in_each_language(warehouse: Engine, read: str) -> None:
    """In another language than the one shown, known code names are replaced before the merge."""
    assert load(warehouse, invoices(1, 2), invoices(3), read=read).inserted == 3
    assert stored(warehouse) == [(1, 1, 1), (2, 1, 1), (3, 1, 1)]


def test_rows_that_exist_under_another_day_are_merged_with_new_rows(warehouse: Engine) -> None:
    load(warehouse, invoices(1, 2))
    again = load(warehouse, invoices(3), invoices(1, 2, 4, digest=b"b"), invoices(5), step=2)
    assert (again.inserted, again.changed, again.unchanged) == (3, 2, 0)
    assert stored(warehouse) == [(1, 2, 2), (2, 2, 2), (3, 1, 2), (4, 1, 2), (5, 1, 2)]


def test_new_and_changed_rows_are_counted_once(warehouse: Engine) -> None:
    load(warehouse, invoices(1, 2))
    changed = invoices(1, 2, new=False, digest=b"b")
    again = load(warehouse, invoices(3), changed, invoices(4, 5), step=2)
    assert (again.inserted, again.changed, again.unchanged) == (3, 2, 0)
