"""What the database refuses is said without the data, however it was asked."""

import traceback

import pyarrow as pa
import pytest
from sqlalchemy import Engine, insert, text

from bms_warehouse import loads
from bms_warehouse.errors import WarehouseError
from bms_warehouse.tables import client_invoice, code_name

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
            loads.stage(connection, client_invoice, pa.table({"id_entity": [CANARY]}))
    assert CANARY not in told(refusal.value)


def test_a_broken_connection_may_be_tried_again(warehouse: Engine) -> None:
    with pytest.raises(WarehouseError) as broken, warehouse.begin() as connection:
        connection.execute(text("select pg_terminate_backend(pg_backend_pid())"))
    assert broken.value.retriable
    with warehouse.connect() as connection:
        assert connection.scalar(text("select 1")) == 1
