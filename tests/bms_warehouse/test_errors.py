"""Errors of the database contain no row data."""

import os
import traceback
from socket import SHUT_RDWR, socket
from typing import Any

import psycopg
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
from tests.support.patience import LONG_S
from tests.support.sql import scalar

CANARY = "Zoé Canari"


def traceback_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_a_statement_error_contains_only_type_and_column(warehouse: Engine) -> None:
    row = {"resource": CANARY, "field": "f", "code": "c", "language": "FR", "seen_at": "2026-01-01"}
    with pytest.raises(WarehouseError) as refusal, warehouse.begin() as connection:
        connection.execute(insert(code_name), [row])
    assert CANARY not in traceback_of(refusal.value)
    assert str(refusal.value) == "NotNullViolation (23502) at bms.code_name.name"
    assert not refusal.value.retriable


def test_a_value_that_the_driver_refuses_is_no_lost_connection(warehouse: Engine) -> None:
    with pytest.raises(WarehouseError, match="DataError: psycopg refused") as refusal:
        scalar(warehouse, "select cast(:given as text)", given=f"{CANARY}\0")
    assert CANARY not in traceback_of(refusal.value)
    assert (refusal.value.retriable, refusal.value.retry_for_hours) == (False, False)


def test_an_error_does_not_quote_copied_rows(warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        loads.create_staging(connection, client_invoice)
        with pytest.raises(WarehouseError) as refusal:
            loads.stage(
                connection, client_invoice, loads.copy_buffer(pa.table({"id_entity": [CANARY]}))
            )
    assert CANARY not in traceback_of(refusal.value)


def test_an_error_of_an_unmigrated_warehouse_names_the_command(postgres: str) -> None:
    empty = database.connect(postgres)
    with pytest.raises(WarehouseError, match="bms migrate") as refusal:
        step_log.begin(empty, Step("contact_sync", "manual__1", "sync"))
    empty.dispose()
    assert not refusal.value.retriable


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ({"database": "absent"}, "the database does not exist"),
        ({"username": "absent"}, "check user and password"),
        ({"host": "127.0.0.1", "port": 9, "query": {}}, "check host and port"),
        ({"host": "absent.invalid", "query": {}}, "the host is unknown"),
        ({"query": {"host": "/", "port": "9"}}, "the configured address"),
    ],
    ids=["database", "user", "port", "host", "socket"],
)
def test_a_connection_error_names_what_to_check(
    warehouse: Engine, wrong: dict[str, Any], advice: str
) -> None:
    absent = database.connect(warehouse.url.set(**wrong).render_as_string(False))
    with pytest.raises(WarehouseError, match=advice) as refusal, absent.connect():
        pytest.fail("a connection opened")
    assert "absent" not in str(refusal.value)
    absent.dispose()


@pytest.mark.parametrize(
    ("refusal", "advice"),
    [
        ("the database system is in recovery mode", "recovers from a crash"),
        ("the database system is shutting down", "starts, stops or"),
        ("sorry, too many clients already", "raise max_connections"),
        ('too many connections for role "a-canary"', "raise max_connections"),
        ("remaining connection slots are reserved for roles with …", "raise max_connections"),
        ("could not write init file", "free space"),
        ('could not open file "base/1/2601": Read-only file system', "disk fails or became"),
        ('permission denied for database "a-canary"', "grant the user CONNECT"),
        ('role "a-canary" is not permitted to log in', "may not log in"),
        ('pg_hba.conf rejects connection for host "::1"', "pg_hba.conf permits no login"),
        ("server does not support SSL, but SSL was required", "check sslmode"),
        ('root certificate file "/a-canary/root.crt" does not exist', "sslrootcert"),
    ],
)
def test_a_server_that_takes_no_session_does_not_point_at_the_password(
    refusal: str, advice: str
) -> None:
    refused = WarehouseError(psycopg.OperationalError(f"connection failed: FATAL:  {refusal}"))
    assert advice in str(refused)
    assert not any(word in str(refused) for word in ("password", "a-canary"))
    assert refused.retriable


def test_a_missing_privilege_names_the_owner(warehouse: Engine) -> None:
    refused = pytest.raises(WarehouseError, match=r"names it\): connect as the owner")
    with warehouse.connect() as connection:
        connection.execute(text("create role stranger"))
        connection.execute(text("set local role stranger"))
        with refused as refusal:
            connection.execute(text("create schema denied"))
    assert not refusal.value.retriable


def test_a_connection_that_ends_without_a_reason_is_lost_and_retriable(warehouse: Engine) -> None:
    """Not a matter of address, user or password, which were right when it opened."""
    with warehouse.connect() as connection:
        connection.execute(text("select 1"))
        with socket(fileno=os.dup(driver(connection).fileno())) as wire:
            wire.shutdown(SHUT_RDWR)
        with pytest.raises(WarehouseError, match="connection to PostgreSQL was lost") as failure:
            connection.execute(text("select 1"))
    assert failure.value.retriable


def test_an_idle_transaction_timeout_is_retriable(warehouse: Engine) -> None:
    with warehouse.connect() as connection:
        connection.execute(text("set idle_in_transaction_session_timeout = '1ms'"))
        pid = {"pid": driver(connection).info.backend_pid}
        there = text("select count(*) from pg_stat_activity where pid = :pid")
        with warehouse.connect().execution_options(isolation_level="AUTOCOMMIT") as other:
            assert until(lambda: not other.scalar(there, pid), LONG_S)
        # Whether the code arrives before the end of the connection depends on PostgreSQL's version.
        with pytest.raises(WarehouseError, match=r"25P03|was lost") as failure:
            connection.execute(text("select 1"))
    assert failure.value.retriable


@pytest.mark.parametrize(
    ("setting", "statement", "told", "retriable"),
    [
        ("", "select cast(:canary as bigint)", "InvalidTextRepresentation", False),
        # During a switchover, the address may lead to the former primary for a moment.
        ("transaction read only", "create table public.t (n int)", "connect to the primary", True),
        ("local statement_timeout = '1ms'", "select pg_sleep(1)", "_timeout of the role", True),
        ("", "do 'begin raise using errcode = ''disk_full''; end'", "PostgreSQL's disk", True),
        ("", "do 'begin raise using errcode = ''25P04''; end'", "transaction_timeout", True),
        ("", "do 'begin raise using errcode = ''io_error''; end'", "disk fails", True),
        # A disk that became read-only has the code of a missing privilege.
        (
            "",
            "do $$begin raise 'could not open file \"base/1/2\": Read-only file system' using errcode = '42501'; end$$",
            "disk fails",
            True,
        ),
        ("", "select pg_terminate_backend(pg_backend_pid())", "57P01|was lost", True),
    ],
    ids=[
        *("bound value", "standby", "timeout", "full disk", "transaction timeout"),
        *("failed disk", "read-only disk", "ended session"),
    ],
)
def test_a_refused_statement_names_the_cause_without_a_value(
    warehouse: Engine, setting: str, statement: str, told: str, retriable: bool
) -> None:
    with warehouse.connect() as connection:
        if setting:
            connection.execute(text(f"set {setting}"))
        with pytest.raises(WarehouseError, match=told) as failure:
            connection.execute(text(statement), {"canary": CANARY})
    assert CANARY not in traceback_of(failure.value)
    assert failure.value.retriable is retriable
    assert scalar(warehouse, "select 1") == 1
