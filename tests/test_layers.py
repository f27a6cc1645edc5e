"""Import rules between packages, and the modules that Airflow's processes load."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parent.parent
DAG_FILES = sorted((PROJECT / "dags").glob("*.py"))

OURS = {
    "bms",
    "bms_cli",
    "bms_flows",
    "bms_warehouse",
    "bms_sandbox",
    "bms_provider",
    "stack",
    "dags",
}
MAY_IMPORT = {
    "include/bms": set(),
    "include/bms_sandbox": set(),  # two independent readings of one interface, or neither proves the other
    "include/bms_warehouse": set(),
    "include/bms_flows": {"bms", "bms_warehouse"},
    "include/bms_cli": {"bms", "bms_flows", "bms_warehouse"},
    "plugins/bms_provider/board": {
        "bms_flows",
        "bms_provider.addresses",
        "bms_provider.board",
        "bms_provider.files",
        "bms_provider.flow_context",
        "bms_warehouse",
    },
    "plugins/bms_provider/example_dags": {
        "bms_provider.assets",
        "bms.paging",
        "bms_provider.files",
        "bms_provider.hooks",
        "bms_provider.operators",
    },
    "plugins/bms_provider/hooks": {
        "bms",
        "bms_provider.hooks",
        "bms_provider.pool",
        "bms_provider.provider_info",
    },
    "plugins/bms_provider/operators": {
        "bms",
        "bms_provider.compat",
        "bms_flows.catalog",
        "bms_flows.runtime.storage",
        "bms_provider.addresses",
        "bms_provider.files",
        "bms_provider.hooks",
        "bms_provider.lineage",
        "bms_provider.operators",
        "bms_provider.policy",
        "bms_provider.pool",
        "bms_provider.flow_context",
    },
    "plugins/bms_provider/tasks": {
        "bms",
        "bms_flows",
        "bms_provider.assets",
        "bms_provider.compat",
        "bms_provider.hooks",
        "bms_provider.lineage",
        "bms_provider.notices",
        "bms_provider.policy",
        "bms_provider.pool",
        "bms_provider.tasks",
        "bms_provider.flow_context",
        "bms_warehouse",
    },
    "plugins/bms_provider/triggers": {
        "bms_flows.onboarding.inbox.announcements",
        "bms_flows.onboarding.inbox.discovery",
        "bms_provider.flow_context",
    },
    "dags": {
        "bms_flows.catalog",
        "bms_provider.assets",
        "bms_provider.drop_tasks",
        "bms_provider.operators",
        "bms_provider.policy",
        "bms_provider.tasks",
        "bms_provider.triggers",
        "bms_provider.mirror_flow",
    },
}
"""Allowed project packages besides the package itself; imports inside functions count."""

HEAVY = {
    "aiohttp",
    "alembic",
    "fastapi",
    "fsspec",
    "numpy",
    "openpyxl",
    "pandas",
    "psycopg",
    "psycopg2",
    "pyarrow",
    "requests",
    "s3fs",
    "sqlalchemy",
    "upath",
    "uvicorn",
}
"""Packages that DAG files, hook and operators must not import at module level."""

LIGHT = {"bms_flows", "bms_flows.catalog", "bms_warehouse", "bms_warehouse.resources"}
"""Modules of flows and warehouse that a DAG file may load."""


def imported(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_an_arrow_goes_one_way(folder: str) -> None:
    allowed = {*MAY_IMPORT[folder]}
    if folder.startswith("include/"):
        allowed.add(Path(folder).name)
    files = list((PROJECT / folder).rglob("*.py"))
    assert files
    wrong = {
        (str(file.relative_to(PROJECT)), name)
        for file in files
        for name in imported(file)
        if name.partition(".")[0] in OURS
        and not any(name == each or name.startswith(f"{each}.") for each in allowed)
    }
    assert wrong == set()


ONBOARDING = "bms_flows.onboarding"
STAGES = (
    "settings",
    "faults",
    "resources",
    "reading",
    "inbox",
    "ledger",
    "planning",
    "sending",
    "reporting",
)
"""Sub-packages of onboarding in import order; the modules above them are the orchestration."""


def test_the_stages_of_onboarding_import_only_earlier_stages() -> None:
    folder = PROJECT / "include/bms_flows/onboarding"
    above = {file.stem for file in folder.glob("*.py")} - {"__init__", "settings"}
    assert above == {"context", "dispatch", "execution", "proposal", "run", "steps"}
    stages = {each.name for each in folder.iterdir() if (each / "__init__.py").exists()}
    assert stages | {"settings"} == {*STAGES}
    wrong = set()
    for number, stage in enumerate(STAGES):
        files = [folder / f"{stage}.py"] if stage == "settings" else (folder / stage).rglob("*.py")
        earlier = {f"{ONBOARDING}.{each}" for each in STAGES[: number + 1]}
        wrong |= {
            (str(file.relative_to(folder)), name)
            for file in files
            for name in imported(file)
            if name.startswith(f"{ONBOARDING}.")
            and not any(name == each or name.startswith(f"{each}.") for each in earlier)
        }
    assert wrong == set()


def python(code: str, **values: Any) -> Any:
    """Run code in a fresh interpreter with `given` at hand; return what it puts into `found`."""
    program = (
        "import json, sys\ngiven = json.loads(sys.argv[1])\nfound = None\n"
        f"{code}\nprint()\nprint(json.dumps(found))"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", program, json.dumps(values)],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


IMPORT_ALL = """
import importlib

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in given["blocked"]:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
for name in given["modules"]:
    importlib.import_module(name)
"""


@pytest.mark.parametrize("package", ["bms", "bms_flows", "bms_warehouse", "bms_sandbox", "bms_cli"])
def test_include_runs_in_a_plain_python(package: str) -> None:
    """Every module loads where Airflow, the provider and what is above it can't be imported."""
    above = OURS - {package} - MAY_IMPORT[f"include/{package}"]
    include = PROJECT / "include"
    modules = [
        ".".join(file.relative_to(include).with_suffix("").parts).removesuffix(".__init__")
        for file in sorted((include / package).rglob("*.py"))
        if "migrations" not in file.parts  # Alembic's own script folder, run by Alembic alone
    ]
    assert package in modules
    python(IMPORT_ALL, modules=modules, blocked=["airflow", *above])


BASELINE = """
import time
import airflow.sdk
from airflow.sdk import (
    DAG, Asset, AssetAlias, BaseAsyncOperator, BaseHook, CronDataIntervalTimetable,
    ObjectStoragePath, Param, RetryDecision, RetryPolicy, dag, get_current_context, task,
)
import airflow.configuration, airflow.sdk.log, airflow.sdk.exceptions
before = set(sys.modules)
"""

LOAD = """
import importlib
for name in given["modules"]:
    importlib.import_module(name)
found = sorted(set(sys.modules) - before)
"""


def packages(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_provider_package_imports_nothing() -> None:
    code = (
        "before = set(sys.modules)\nimport bms_provider\nfound = sorted(set(sys.modules) - before)"
    )
    assert python(code) == ["bms_provider"]


def test_hook_and_operators_load_little_beyond_airflow_s_own() -> None:
    names = [
        "bms_provider.hooks.bms",
        *(
            f"bms_provider.operators.{name}"
            for name in ("access", "consultants", "contacts", "employees", "invoices")
        ),
    ]
    loaded = python(BASELINE + LOAD, modules=names)
    assert packages(loaded) & HEAVY == set()
    assert {name for name in loaded if name.startswith("bms.")} == {"bms.endpoints", "bms.personal"}
    assert packages(loaded) & OURS == {"bms", "bms_provider"}


def test_the_plugin_imports_no_web_code() -> None:
    """Every process of Airflow imports the plugin, one process per task included."""
    loaded = python(
        "import airflow.plugins_manager\n" + BASELINE + LOAD, modules=["bms_provider.plugin"]
    )
    assert loaded == ["bms_provider.addresses", "bms_provider.plugin"]


# DAG processor and tasks parse DAG files with this module. Every file is parsed in a separate child process.
PARSER = f"""{BASELINE}
import airflow.dag_processing.dagbag
"""

PARSE = """
import os, runpy

def parse(file):
    before, events = set(sys.modules), []

    def watch(event, arguments):
        if event == "open":
            path = str(arguments[0])
            if not path.endswith((".py", ".pyc", ".so", ".pth")):
                events.append([event, path])
        elif event.startswith(("socket.", "sqlite3.", "subprocess.", "os.posix_spawn")):
            events.append([event, repr(arguments)])

    sys.addaudithook(watch)
    started = time.process_time()
    runpy.run_path(file, run_name="parsed_dag_file")
    return {
        "seconds": time.process_time() - started,
        "events": [*events],
        "modules": sorted(set(sys.modules) - before),
    }

def parse_in_a_child(file):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, json.dumps(parse(file)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as result:
        parsed = json.load(result)
    os.wait()
    return parsed

found = {file: parse_in_a_child(file) for file in given["files"]}
"""


@pytest.fixture(scope="module")
def parsed() -> dict[str, Any]:
    """What each DAG file did while it was parsed, by path."""
    files: dict[str, Any] = python(PARSER + PARSE, files=[str(file) for file in DAG_FILES])
    return files


@pytest.mark.parametrize("file", DAG_FILES, ids=lambda file: file.name)
def test_a_dag_file_parses_fast_and_touches_nothing(file: Path, parsed: dict[str, Any]) -> None:
    """No socket, no database, no file but Python's own; none of the libraries that tasks use."""
    its = parsed[str(file)]
    assert its["events"] == []
    assert packages(its["modules"]) & HEAVY == set()
    below = {name for name in its["modules"] if packages([name]) & (OURS - {"bms_provider"})}
    operators = {"bms", "bms.endpoints", "bms.personal"}
    assert below <= LIGHT | operators
    assert its["seconds"] < 0.3  # CPU time, so that a busy machine does not count


def test_a_dag_file_with_forbidden_effects_is_detected(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(
        "import pandas, socket\nsocket.socket().close()\nopen('/etc/hostname').close()\n"
    )
    its = python(BASELINE + PARSE, files=[str(file)])[str(file)]
    assert {event for event, _ in its["events"]} >= {"socket.__new__", "open"}
    assert "pandas" in packages(its["modules"])


PUBLIC = (
    "airflow.sdk",
    "airflow.providers",
    "airflow.plugins_manager.AirflowPlugin",
    "airflow.triggers.base.BaseEventTrigger",
    "airflow.triggers.base.TriggerEvent",
)
"""Names that Airflow's documentation calls public. `airflow.sdk` is the package and its modules
`exceptions`, `log`, `observability` and `types`."""

NOT_PUBLIC = {
    "plugins/bms_provider/board/access.py": {
        "airflow.api_fastapi.app.get_auth_manager",
        "airflow.api_fastapi.core_api.security.GetUserDep",
    },
    "plugins/bms_provider/compat.py": {"airflow.__version__"},
    "plugins/bms_provider/flow_context.py": {"airflow.configuration.AIRFLOW_HOME"},
}
"""Names without a public counterpart, each in one file."""


def test_the_provider_and_the_dags_import_public_names_of_airflow() -> None:
    found: dict[str, set[str]] = {}
    for file in [*DAG_FILES, *(PROJECT / "plugins").rglob("*.py")]:
        for name in imported(file):
            internal = name.startswith("airflow.sdk.definitions") or "._" in name
            public = any(name == each or name.startswith(f"{each}.") for each in PUBLIC)
            if name.partition(".")[0] == "airflow" and (internal or not public):
                found.setdefault(str(file.relative_to(PROJECT)), set()).add(name)
    assert found == NOT_PUBLIC
