"""A warehouse is filled from one service; another one is refused until an operator confirms it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, func, select

from bms_cli.app import main
from bms_flows.runtime import service_identity
from bms_flows.runtime.service_identity import ServiceIdentity, ServiceMismatch, require
from bms_warehouse.tables import service_identity as table
from tests.support.sql import execute, fetch

SANDBOX = ServiceIdentity("localhost", "demo-application")
REAL = ServiceIdentity("bms.example.com", "acme")


def fill(warehouse: Engine) -> None:
    """Enter a contact as a sync leaves it."""
    execute(
        warehouse,
        """insert into bms.contact (id, deleted, _detailed, _assigned, _row_hash, _version,
                    _first_seen_at, _changed_at, _step_run_id)
                values (1, false, false, false, '', 1, now(), now(), 1)""",
    )


@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        ("https://BMS.example.com", "bms.example.com"),
        ("https://bms.example.com:443/", "bms.example.com"),
        ("http://bms.example.com:80", "bms.example.com"),
        ("bms.example.com", "bms.example.com"),
        ("https://bms.example.com:8443/test/", "bms.example.com:8443/test"),
        ("http://127.0.0.1:40001", "localhost"),
        ("http://localhost:40002/api", "localhost/api"),
        ("http://[::1]:40003", "localhost"),
    ],
)
def test_an_identity_is_host_path_and_application(base_url: str, host: str) -> None:
    assert ServiceIdentity.of(base_url, "acme") == ServiceIdentity(host, "acme")


def test_the_first_flow_stores_the_service_and_the_next_flows_pass(warehouse: Engine) -> None:
    require(warehouse, REAL)
    fill(warehouse)
    require(warehouse, REAL)
    with warehouse.connect() as connection:
        assert service_identity.current(connection) == REAL
        assert connection.scalar(select(func.count()).select_from(table)) == 1


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (REAL, "the connection names bms.example.com"),
        (ServiceIdentity("localhost", "s3cret-id"), "another application id"),
    ],
)
def test_a_filled_warehouse_refuses_another_service_and_names_the_command(
    warehouse: Engine, other: ServiceIdentity, difference: str
) -> None:
    require(warehouse, SANDBOX)
    fill(warehouse)
    with pytest.raises(ServiceMismatch, match=difference) as refused:
        require(warehouse, other)
    assert not refused.value.retriable
    message = str(refused.value)
    assert f"bms service --confirm {other.host}" in message
    assert "s3cret-id" not in message
    with warehouse.connect() as connection:
        assert service_identity.current(connection) == SANDBOX


def test_an_empty_warehouse_takes_the_corrected_connection(warehouse: Engine) -> None:
    require(warehouse, SANDBOX)
    require(warehouse, REAL)
    fill(warehouse)
    with pytest.raises(ServiceMismatch):
        require(warehouse, SANDBOX)


def test_of_two_services_at_once_an_empty_warehouse_stores_one_after_the_other(
    warehouse: Engine,
) -> None:
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(require, warehouse, each) for each in (SANDBOX, REAL) * 20]:
            done.result()
    with warehouse.connect() as connection:
        ids = connection.scalars(select(table.c.id).order_by(table.c.id)).all()
    assert ids == list(range(1, len(ids) + 1))


def test_the_command_confirms_a_change(
    warehouse: Engine, warehouse_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    require(warehouse, SANDBOX)
    fill(warehouse)
    given = ["--url", warehouse_uri, "--confirm", "https://bms.example.com/", "acme"]
    for _ in range(2):
        assert main(["service", *given]) == 0
    assert "filled from bms.example.com, application acme" in capsys.readouterr().out
    require(warehouse, REAL)
    with pytest.raises(ServiceMismatch, match=r"holds the data of bms\.example\.com"):
        require(warehouse, SANDBOX)
    query = f"select id, confirmed from {table.fullname} order by 1"
    assert fetch(warehouse, query) == [(1, False), (2, True)]


def test_the_command_shows_the_service(
    warehouse: Engine, warehouse_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "--url", warehouse_uri]) == 0
    assert "no service yet" in capsys.readouterr().out
    require(warehouse, REAL)
    assert main(["service", "--url", warehouse_uri]) == 0
    assert "bms.example.com" in capsys.readouterr().out
