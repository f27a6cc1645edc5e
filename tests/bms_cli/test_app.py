"""The command `bms`: exit codes, text and JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_cli.app import main
from bms_flows.catalog import WITH_TARGET
from bms_flows.monitoring import alarms
from bms_warehouse import migration
from tests.support.interpreter import last_line
from tests.support.sql import execute
from tests.support.steps import add_step

NOWHERE = "postgresql://user:pass-word-1@127.0.0.1:1/none"
COMMANDS = {
    "migrate": (),
    "health": (),
    "status": (),
    "rebuild": ("--data-root", "file:///tmp"),
    "erase": ("contact", "1", "--data-root", "file:///tmp"),
    "service": (),
}


@pytest.fixture
def result(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    def run(*arguments: str) -> tuple[int, Any]:
        code = main([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_migrate_creates_the_schema_and_check_compares_it(
    warehouse: Engine, warehouse_uri: str, result: Callable[..., tuple[int, Any]]
) -> None:
    execute(warehouse, "drop schema bms cascade; drop schema bms_private cascade")
    head = migration.head()
    check = ("migrate", "--check", "--url", warehouse_uri)
    assert result(*check) == (1, {"revision": None, "required": head})
    assert result("migrate", "--url", warehouse_uri) == (0, {"revision": head, "required": head})
    assert result(*check)[0] == 0


def test_health_says_which_flows_never_ran_and_what_that_means(
    warehouse: Engine, warehouse_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = [flow.dag_id for flow in WITH_TARGET]
    assert main(["health", "--url", warehouse_uri]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Health: {len(flows)} never ran, ")
    assert f"Never ran: {', '.join(flows)}." in shown
    assert "raises an alarm once other flows have run for longer than its limit" in shown
    assert "airflow dags unpause" in shown
    today = datetime.now(UTC).date()
    add_step(warehouse, flow=flows[0], step=WITH_TARGET[0].last_step, window_end=today)
    assert main(["health", "--url", warehouse_uri]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Health: 1 healthy, {len(flows) - 1} never ran, ")
    assert f"Never ran: {', '.join(flows[1:])}." in shown
    with warehouse.begin() as connection:
        alarms.raise_(connection, "failed", flows[1], detail="…", flow=flows[1])
    assert main(["health", "--url", warehouse_uri]) == 1
    shown = capsys.readouterr().out
    assert f"Never ran: {', '.join(flows[2:])}." in shown
    assert "up for retry" in shown


def test_erase_reports_an_unknown_record_as_json(
    warehouse_uri: str, tmp_path: Path, result: Callable[..., tuple[int, Any]]
) -> None:
    code, found = result(
        *("erase", "contact", "1", "--url", warehouse_uri, "--data-root", str(tmp_path))
    )
    assert code == 3
    assert (found["files"], found["drops"], found["erased"]) == ([], [], False)
    assert set(found["rows"].values()) == {0}


def test_erase_rejects_an_unknown_resource(warehouse_uri: str, tmp_path: Path) -> None:
    given = ["erase", "invoice", "1", "--url", warehouse_uri, "--data-root", str(tmp_path)]
    assert main(given) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unreachable_warehouse_is_an_error_without_the_password(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([command, *COMMANDS[command], "--url", NOWHERE])
    shown = capsys.readouterr()
    assert code == 2
    assert "no connection to PostgreSQL" in shown.out + shown.err
    assert "pass-word-1" not in shown.out + shown.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_url_is_a_usage_error(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BMS_WAREHOUSE_URL", raising=False)
    assert main([command, *COMMANDS[command]]) == 2


@pytest.mark.parametrize("address", ["nope://data", "http://[data"])
def test_an_unusable_data_root_is_an_invalid_setting(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--url", NOWHERE, "--data-root", address]) == 2
    assert "BMS_DATA_ROOT can't be used: " in capsys.readouterr().err


def test_the_module_runs_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bms_cli", "--help"], capture_output=True, text=True, check=True
    )
    assert set(COMMANDS) <= set(done.stdout.split())


def test_help_imports_no_flow_and_no_database() -> None:
    """So that the command answers at once; the heavy imports take seconds."""
    program = (
        "import sys\nfrom bms_cli.app import main\n"
        "assert main(['--help']) == 0\n"
        "heavy = {'aiohttp', 'alembic', 'airflow', 'fsspec', 'pandas', 'pyarrow', 'sqlalchemy', 'upath'}\n"
        "print('loaded:', sorted(heavy & sys.modules.keys()))\n"
    )
    assert last_line(program) == "loaded: []"


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("bms_flows.monitoring.status", {"aiohttp", "alembic", "numpy", "pandas", "pyarrow"}),
        ("bms_flows.inquiry.invoices", {"aiohttp", "alembic", "pandas"}),
    ],
)
def test_commands_on_call_import_no_client(module: str, heavy: set[str]) -> None:
    program = f"import sys, {module}\nprint('loaded:', sorted({heavy} & sys.modules.keys()))\n"
    assert last_line(program) == "loaded: []"


def test_a_closed_pipe_ends_the_output_and_neither_the_command_nor_its_exit_code(
    warehouse_uri: str,
) -> None:
    """As in `bms health --notify | head`, which sends its messages after the output."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "bms_cli", "health", "--url", warehouse_uri]
    ended = subprocess.run(  # noqa: S603
        command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_interrupt_while_modules_are_imported_ends_without_a_traceback() -> None:
    interrupted = """
import sys
from bms_cli import __main__
class Interrupt:
    def find_spec(self, name, *_):
        if name == "bms_cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.exit(__main__.main())
"""
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", interrupted], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (130, "")
