"""Tests of the whole running stack, which starts once for this module."""

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import psutil
import psycopg
import pytest

from bms_provider import pool
from stack.launcher import Running, free_port, running
from stack.paths import CHECKOUT, StackPaths
from stack.processes import StackError, find_tagged, until

FOREIGN = ("AIRFLOW", "BMS_")

# The first test includes the start of the stack.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def environ() -> Iterator[dict[str, str]]:
    """Return a user's environment with the stack's files in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        yield {**own, "BMS_LOCAL_DIR": folder}


@pytest.fixture(scope="module")
def up(environ: dict[str, str]) -> Iterator[Running]:
    paths = StackPaths.from_environ(environ)
    with running(environ) as found:
        yield found
    assert find_tagged(paths.process_tag) == []
    assert {path.name for path in paths.local.iterdir()} == {
        "airflow",
        "data",
        "durations.json",
        "logs",
        "migrated.json",
        "postgres",
        "secrets",
    }
    assert not list(paths.postgres.glob(".s.PGSQL*"))


def test_stack_file_is_private_and_its_details_are_valid(up: Running) -> None:
    path = up.paths.stack_file
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    details = json.loads(path.read_text())
    assert set(details) == {"url", "user", "password", "warehouse", "data_root"}
    assert details["data_root"] == f"file://{up.paths.local}/data"
    with psycopg.connect(details["warehouse"]) as connection:
        assert connection.execute("SELECT to_regclass('bms.client_invoice')").fetchone() != (None,)


def test_every_dag_file_is_listed_without_import_errors(up: Running) -> None:
    files = {path.name for path in (CHECKOUT / "dags").glob("*.py")}
    assert {dag["relative_fileloc"] for dag in up.api.dags()} == files
    assert up.api.import_errors() == []


def test_all_listening_sockets_are_on_loopback(up: Running) -> None:
    listening = []
    for process in find_tagged(up.paths.process_tag):
        with suppress(psutil.NoSuchProcess):  # the process that parses a DAG file is short-lived
            listening += [
                connection.laddr.ip
                for connection in process.net_connections(kind="inet")
                if connection.status == psutil.CONN_LISTEN
            ]
    assert set(listening) == {"127.0.0.1"}
    assert len(listening) >= 2  # the api-server and the sandbox


def test_service_connection_exists_with_a_port_and_a_masked_secret(up: Running) -> None:
    connection = up.api._send("GET", "/api/v2/connections/bms_default")
    assert connection["conn_type"] == "bms"
    assert connection["host"].endswith(f":{connection['port']}")
    assert connection["password"] == "***"


def test_pool_exists_and_its_size_is_not_overwritten(up: Running) -> None:
    def slots() -> int:
        return int(up.api._send("GET", f"/api/v2/pools/{pool.NAME}")["slots"])

    assert slots() == pool.SLOTS
    up.api.ensure_pool(pool.NAME, 5, "another size")
    assert slots() == pool.SLOTS


def test_second_start_fails_with_the_address_of_the_first(
    up: Running, environ: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "stack", "up"]
    second = subprocess.run(  # noqa: S603 - our own command
        command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, check=False
    )
    assert second.returncode == 1
    assert f"process {os.getpid()}" in second.stdout
    assert up.url in second.stdout
    assert up.paths.stack_file.exists()
    # On a busy machine a health request may time out.
    assert until(lambda: up.api.health().get("scheduler", {}).get("status") == "healthy", 30)


def command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # the process of a task that has ended
        return []


def test_no_secret_reaches_a_log_or_a_command_line(up: Running) -> None:
    secrets = up.paths.load_secrets()
    values = set(asdict(secrets).values()) - {secrets.sandbox_client}
    texts = [path.read_text(errors="replace") for path in up.paths.logs.rglob("*.log")]
    texts += [" ".join(command_line(process)) for process in find_tagged(up.paths.process_tag)]
    assert [text for text in texts if any(value in text for value in values)] == []


def test_folders_with_secrets_are_private(up: Running) -> None:
    for folder in (up.paths.secrets, up.paths.airflow_home, up.paths.logs, up.paths.postgres):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_port_in_use_fails_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=str(port)):
            free_port(port)


def test_unreadable_preset_fails_before_anything_starts(tmp_path: Path) -> None:
    environ = {"AIRFLOW_CONN_BMS_WAREHOUSE": "{", "BMS_LOCAL_DIR": str(tmp_path / "local")}
    with pytest.raises(StackError, match="AIRFLOW_CONN_BMS_WAREHOUSE"), running(environ):
        pass
    assert not (tmp_path / "local").exists()
