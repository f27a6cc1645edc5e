"""The one test that brings the whole stack up; everything about a running stack is asked here."""

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from bms_provider import pool
from stack.launcher import Running, free_port, running
from stack.place import CHECKOUT, Place
from stack.processes import StackError, marked

FOREIGN = ("AIRFLOW", "BMS_")

# The first test waits for the whole start.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def environ() -> Iterator[dict[str, str]]:
    """Return a user's environment with the stack's files in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        yield {**own, "BMS_LOCAL_DIR": folder}


@pytest.fixture(scope="module")
def up(environ: dict[str, str]) -> Iterator[Running]:
    place = Place.of(environ)
    with running(environ) as found:
        yield found
    assert marked(place.mark) == []
    left = {path.name for path in place.local.iterdir()}
    assert left == {
        "airflow",
        "data",
        "durations.json",
        "logs",
        "migrated.json",
        "postgres",
        "secrets",
    }
    assert not list(place.postgres.glob(".s.PGSQL*"))


def test_announcement_is_private_and_leads_to_all_of_it(up: Running) -> None:
    path = up.place.announcement
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told = json.loads(path.read_text())
    assert set(told) == {"url", "user", "password", "warehouse", "data_root"}
    assert told["data_root"] == f"file://{up.place.local}/data"
    with psycopg.connect(told["warehouse"]) as connection:
        assert connection.execute("SELECT to_regclass('bms.client_invoice')").fetchone() != (None,)


def test_every_dag_file_is_listed_without_import_errors(up: Running) -> None:
    files = {path.name for path in (CHECKOUT / "dags").glob("*.py")}
    assert {dag["relative_fileloc"] for dag in up.api.dags()} == files
    assert up.api.import_errors() == []


def test_all_listening_sockets_are_on_loopback(up: Running) -> None:
    listening = []
    for process in marked(up.place.mark):
        with suppress(psutil.NoSuchProcess):  # a DAG file's parser ends when it has read it
            listening += [
                connection.laddr.ip
                for connection in process.net_connections(kind="inet")
                if connection.status == psutil.CONN_LISTEN
            ]
    assert set(listening) == {"127.0.0.1"}
    assert len(listening) >= 2  # Airflow's page and the sandbox


def test_service_connection_stands_with_an_explicit_port_and_its_secret_masked(up: Running) -> None:
    connection = up.api._send("GET", "/api/v2/connections/bms_default")
    assert connection["conn_type"] == "bms"
    assert connection["host"].endswith(f":{connection['port']}")
    assert connection["password"] == "***"


def test_the_pool_of_the_service_stands_and_a_person_s_size_stays(up: Running) -> None:
    def slots() -> int:
        return int(up.api._send("GET", f"/api/v2/pools/{pool.NAME}")["slots"])

    assert slots() == pool.SLOTS
    up.api.provide_pool(pool.NAME, 5, "another size")
    assert slots() == pool.SLOTS


def test_second_start_is_refused_and_told_where_the_first_is(
    up: Running, environ: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "stack", "up"]
    second = subprocess.run(  # noqa: S603 - our own command
        command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, check=False
    )
    assert second.returncode == 1
    assert f"process {os.getpid()}" in second.stdout
    assert up.url in second.stdout
    assert up.place.announcement.exists()
    assert up.api.health()["scheduler"]["status"] == "healthy"


def command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a task's, which has ended meanwhile
        return []


def test_no_secret_reaches_a_log_or_a_command_line(up: Running) -> None:
    keys = up.place.keys()
    secrets = {keys.password, keys.fernet, keys.jwt, keys.api, keys.sandbox_secret}
    told = [path.read_text(errors="replace") for path in up.place.logs.rglob("*.log")]
    told += [" ".join(command_line(process)) for process in marked(up.place.mark)]
    assert [text for text in told if any(secret in text for secret in secrets)] == []


def test_folders_with_secrets_are_closed_to_others(up: Running) -> None:
    for folder in (up.place.secrets, up.place.airflow_home, up.place.logs, up.place.postgres):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_taken_port_is_refused_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=str(port)):
            free_port(port)


def test_unreadable_preset_is_refused_before_anything_starts(tmp_path: Path) -> None:
    given = {"AIRFLOW_CONN_BMS_WAREHOUSE": "{", "BMS_LOCAL_DIR": str(tmp_path / "local")}
    with pytest.raises(StackError, match="AIRFLOW_CONN_BMS_WAREHOUSE"), running(given):
        pass
    assert not (tmp_path / "local").exists()
