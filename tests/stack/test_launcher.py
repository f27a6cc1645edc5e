"""Starts of the stack that fail before anything starts."""

import socket
from pathlib import Path

import pytest

from stack.launcher import free_port, running
from stack.processes import StackError


def test_port_in_use_fails_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=str(port)):
            free_port(port)


def test_unreadable_preset_fails_before_anything_starts(tmp_path: Path) -> None:
    broken = '{"conn_type": "postgres", "password": "hunter2-hunter2"'
    environ = {"AIRFLOW_CONN_BMS_WAREHOUSE": broken, "BMS_LOCAL_DIR": str(tmp_path / "local")}
    refused = pytest.raises(StackError, match="AIRFLOW_CONN_BMS_WAREHOUSE is no connection")
    with refused as caught, running(environ):
        pass
    assert "hunter2" not in str(caught.value)
    assert not (tmp_path / "local").exists()
