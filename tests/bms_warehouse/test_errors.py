"""What the database refuses is said without the data, however it was asked."""

import traceback

import pyarrow as pa
import pytest
from sqlalchemy import Engine, insert, text

from bms_flows.runtime import step_log
from bms_flows.runtime.step_log import Step
from bms_warehouse import database, loads
from bms_warehouse.errors import WarehouseError
from bms_warehouse.loads import driver
from bms_warehouse.tables import client_invoice, code_name
from stack.processes import until

CANARY = "Zoé Canari"


def told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_a_refused_statement_names_kind_and_place_only(warehouse: Engine) -> None:
    row = {"resource": CANARY, "field": "f", "code": "c", "language": "FR", "seen_at": "2026-01-01"}
    with pytest.raises(WarehouseError) as refusal, warehouse.begin() as connection:
        connection.execute(insert(code_name), [row])
    assert CANARY not in told(refusal.value)
    assert str(refusal.value) == "NotNullViolation (23502) at bms.code_name.name"
    assert not refusal.value.retriable


def test_a_refused_value_is_not_quoted(warehouse: Engine) -> None:
    with pytest.raises(WarehouseError) as refusal, warehouse.begin() as connection:
        connection.execute(text("select cast(:given as bigint)"), {"given": CANARY})
    assert CANARY not in told(refusal.value)


def test_a_refused_copy_is_not_quoted(warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        loads.create_staging(connection, client_invoice)
        with pytest.raises(WarehouseError) as refusal:
            loads.stage(connection, client_invoice, loads.sheet(pa.table({"id_entity": [CANARY]})))
    assert CANARY not in told(refusal.value)


def test_a_warehouse_that_is_not_migrated_says_what_to_run(postgres: str) -> None:
    empty = database.connect(postgres)
    with pytest.raises(WarehouseError, match="python -m bms_warehouse migrate") as refusal:
        step_log.begin(empty, Step("contact_sync", "manual__1", "sync"))
    empty.dispose()
    assert not refusal.value.retriable


def test_a_server_that_takes_no_connection_says_what_to_look_at(warehouse: Engine) -> None:
    gone = database.connect(warehouse.url.set(database="gone").render_as_string(False))
    with pytest.raises(WarehouseError, match="user, password and database right"), gone.connect():
        pytest.fail("there is no such database")
    gone.dispose()


def test_a_broken_connection_may_be_tried_again(warehouse: Engine) -> None:
    with pytest.raises(WarehouseError) as broken, warehouse.begin() as connection:
        connection.execute(text("select pg_terminate_backend(pg_backend_pid())"))
    assert broken.value.retriable
    with warehouse.connect() as connection:
        assert connection.scalar(text("select 1")) == 1


def test_a_full_disk_says_where_to_make_room(warehouse: Engine) -> None:
    full = "do $$ begin raise exception 'no room' using errcode = 'disk_full'; end $$"
    with pytest.raises(WarehouseError, match="PostgreSQL's disk") as told, warehouse.begin() as one:
        one.execute(text(full))
    assert told.value.retriable


def test_a_session_that_stood_still_in_a_transaction_may_be_tried_again(warehouse: Engine) -> None:
    with warehouse.connect() as connection:
        connection.execute(text("set idle_in_transaction_session_timeout = '1ms'"))
        pid = {"pid": driver(connection).info.backend_pid}
        there = text("select count(*) from pg_stat_activity where pid = :pid")
        with warehouse.connect().execution_options(isolation_level="AUTOCOMMIT") as other:
            assert until(lambda: not other.scalar(there, pid), 10)
        with pytest.raises(WarehouseError, match="25P03") as told:
            connection.execute(text("select 1"))
    assert told.value.retriable
