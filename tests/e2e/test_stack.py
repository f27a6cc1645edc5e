"""Tests of the stack itself: its files, sockets, connection and pool, and that its logs hold no secret."""

import json
import os
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict

import psutil
import psycopg

from bms_provider import pool
from stack.launcher import Running
from stack.paths import CHECKOUT
from stack.processes import find_tagged, until
from tests.e2e.conftest import own_environment
from tests.support.patience import LONG_S

# The first test includes the start of the stack.


def test_stack_file_is_private_and_its_details_are_valid(stack: Running) -> None:
    path = stack.paths.stack_file
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    details = json.loads(path.read_text())
    assert set(details) == {"url", "user", "password", "warehouse", "data_root"}
    assert details["data_root"] == f"file://{stack.paths.local}/data"
    with psycopg.connect(details["warehouse"]) as connection:
        assert connection.execute("SELECT to_regclass('bms.client_invoice')").fetchone() != (None,)


def test_every_dag_file_is_listed_without_import_errors(stack: Running) -> None:
    files = {path.name for path in (CHECKOUT / "dags").glob("*.py")}
    assert {dag["relative_fileloc"] for dag in stack.api.dags()} == files
    assert stack.api.import_errors() == []


def test_all_listening_sockets_are_on_loopback(stack: Running) -> None:
    listening = []
    for process in find_tagged(stack.paths.process_tag):
        with suppress(psutil.NoSuchProcess):  # the process that parses a DAG file is short-lived
            listening += [
                connection.laddr.ip
                for connection in process.net_connections(kind="inet")
                if connection.status == psutil.CONN_LISTEN
            ]
    assert set(listening) == {"127.0.0.1"}
    assert len(listening) >= 2  # the api-server and the sandbox


def test_service_connection_exists_with_a_port_and_a_masked_secret(stack: Running) -> None:
    connection = stack.api._send("GET", "/api/v2/connections/bms_default")
    assert connection["conn_type"] == "bms"
    assert connection["host"].endswith(f":{connection['port']}")
    assert connection["password"] == "***"


def test_pool_exists_and_its_size_is_not_overwritten(stack: Running) -> None:
    def slots() -> int:
        return int(stack.api._send("GET", f"/api/v2/pools/{pool.NAME}")["slots"])

    assert slots() == pool.SLOTS
    stack.api.ensure_pool(pool.NAME, 5, "another size")
    assert slots() == pool.SLOTS


def test_second_start_fails_with_the_address_of_the_first(stack: Running) -> None:
    environ = {**own_environment(), "BMS_LOCAL_DIR": str(stack.paths.local)}
    command = [sys.executable, "-m", "stack", "up"]
    second = subprocess.run(  # noqa: S603 - our own command
        command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, check=False
    )
    assert second.returncode == 1
    assert f"process {os.getpid()}" in second.stdout
    assert stack.url in second.stdout
    assert stack.paths.stack_file.exists()
    # On a busy machine a health request may time out.
    assert until(lambda: stack.api.health().get("scheduler", {}).get("status") == "healthy", LONG_S)


def command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # the process of a task that has ended
        return []


def test_no_secret_reaches_a_log_or_a_command_line(stack: Running) -> None:
    secrets = stack.paths.load_secrets()
    values = set(asdict(secrets).values()) - {secrets.sandbox_client}
    texts = [path.read_text(errors="replace") for path in stack.paths.logs.rglob("*.log")]
    texts += [" ".join(command_line(process)) for process in find_tagged(stack.paths.process_tag)]
    assert [text for text in texts if any(value in text for value in values)] == []
