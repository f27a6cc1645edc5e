import json

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


@pytest.mark.parametrize(
    "preset",
    [
        "postgresql://loader:p%40ss%2Fw%3Ard@db.example:6432/bms?sslmode=require&cursor=dictcursor",
        json.dumps(
            {
                "conn_type": "postgres",
                "host": "db.example",
                "port": "6432",
                "login": "loader",
                "password": "p@ss/w:rd",
                "schema": "bms",
                "extra": {"sslmode": "require", "iam": False},
            }
        ),
    ],
    ids=["uri", "json"],
)
def test_every_form_that_airflow_accepts_gives_the_same_database(preset: str) -> None:
    assert parsed(preset) == {
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


@pytest.mark.parametrize(
    "preset",
    [
        '{"conn_type": "postgres", "password": "hunter2-hunter2"',
        "mysql://me:hunter2-hunter2@host/bms",
    ],
    ids=["broken-json", "other-database"],
)
def test_error_for_an_unreadable_preset_contains_no_password(preset: str) -> None:
    with pytest.raises(StackError, match=WAREHOUSE) as caught:
        warehouse_url({WAREHOUSE: preset})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
