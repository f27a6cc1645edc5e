import psycopg
import pytest

from stack.connections import WAREHOUSE, embedded_warehouse, warehouse_url
from stack.processes import StackError


def parsed(preset: str) -> dict[str, object]:
    """Return the fields that libpq parses from the converted URI."""
    url = warehouse_url({WAREHOUSE: preset})
    assert url is not None
    return dict(psycopg.conninfo.conninfo_to_dict(url))


def test_without_a_preset_there_is_no_uri() -> None:
    assert warehouse_url({}) is None
    assert warehouse_url({WAREHOUSE: "  "}) is None


def test_a_uri_gives_the_same_database() -> None:
    uri = (
        "postgresql://loader:p%40ss%2Fw%3Ard@db.example:6432/bms?sslmode=require&cursor=dictcursor"
    )
    assert parsed(uri) == {
        "host": "db.example",
        "port": "6432",
        "user": "loader",
        "password": "p@ss/w:rd",
        "dbname": "bms",
        "sslmode": "require",
    }


def test_embedded_connection_gives_its_socket() -> None:
    found = parsed(embedded_warehouse("/a folder/with ünicode", 5432, "bms"))
    assert found == {
        "host": "/a folder/with ünicode",
        "port": "5432",
        "user": "postgres",
        "dbname": "bms",
    }


def test_another_database_is_refused_without_its_password() -> None:
    with pytest.raises(StackError, match=WAREHOUSE) as caught:
        warehouse_url({WAREHOUSE: "mysql://me:hunter2-hunter2@host/bms"})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
