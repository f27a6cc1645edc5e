"""Import rules between packages, and the modules that Airflow's processes load."""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.interpreter import last_line

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
    "include/bms_warehouse": {"bms.endpoints", "bms.records"},  # declarations only
    "include/bms_flows": {"bms", "bms_warehouse"},
    "include/bms_cli": {"bms", "bms_flows", "bms_warehouse", "bms_provider.hooks.bms.BmsHook"},
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
        "bms_flows",
        "bms_provider.assets",
        "bms_provider.compat",
        "bms_provider.notices",
        "bms_provider.notifiers",
        "bms_warehouse.tables",
        "bms_provider.addresses",
        "bms_provider.files",
        "bms_provider.hooks",
        "bms_provider.lineage",
        "bms_provider.operators",
        "bms_provider.policy",
        "bms_provider.pool",
        "bms_provider.flow_context",
    },
    "plugins/bms_provider/triggers": {
        "bms_flows.onboarding.inbox.announcements",
        "bms_flows.onboarding.inbox.discovery",
        "bms_provider.flow_context",
    },
    "dags": {
        "bms_flows.catalog",
        "bms_provider.assets",
        "bms_provider.operators",
        "bms_provider.policy",
        "bms_provider.mirrors",
        "bms_provider.triggers",
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

LIGHT = {
    "bms_flows",
    "bms_flows.catalog",
    "bms_flows.extra",
    "bms_warehouse",
    "bms_warehouse.resources",
}
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


@pytest.mark.bookkeeping
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


@pytest.mark.bookkeeping
def test_the_stages_of_onboarding_import_only_earlier_stages() -> None:
    folder = PROJECT / "include/bms_flows/onboarding"
    above = {file.stem for file in folder.glob("*.py")} - {"__init__", *STAGES}
    assert above == {"creation", "inboxes", "onboarding", "preview"}
    stages = {each.name for each in folder.iterdir() if (each / "__init__.py").exists()}
    assert stages | {"settings", "faults"} == {*STAGES}
    wrong = set()
    for number, stage in enumerate(STAGES):
        files = [*folder.glob(f"{stage}.py"), *(folder / stage).rglob("*.py")]
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
    return json.loads(last_line(program, json.dumps(values)))


IMPORT_ALL = """
import importlib, traceback

class Block:
    blocked = ()

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.blocked:
            raise ImportError(f"{name} is blocked")

def error(modules, blocked):
    # Libraries stay imported, which takes most of the time; the project's modules do not.
    for name in [*sys.modules]:
        if name.partition(".")[0] in given["ours"]:
            del sys.modules[name]
    block.blocked = blocked
    try:
        for name in modules:
            importlib.import_module(name)
    except ImportError:
        return traceback.format_exc()

block = Block()
sys.meta_path.insert(0, block)
found = {package: error(**its) for package, its in given["packages"].items()}
"""
PLAIN = ("bms", "bms_flows", "bms_warehouse", "bms_sandbox", "bms_cli")


@pytest.fixture(scope="module")
def import_errors() -> dict[str, str | None]:
    """The error of each package's modules where only allowed packages can be imported."""
    include = PROJECT / "include"
    cases = {}
    for package in PLAIN:
        modules = [
            ".".join(file.relative_to(include).with_suffix("").parts).removesuffix(".__init__")
            for file in sorted((include / package).rglob("*.py"))
            if "migrations" not in file.parts  # Alembic's own script folder, run by Alembic alone
        ]
        assert package in modules
        below = {name.partition(".")[0] for name in MAY_IMPORT[f"include/{package}"]}
        above = OURS - {package} - below
        cases[package] = {"modules": modules, "blocked": ["airflow", *above]}
    errors: dict[str, str | None] = python(IMPORT_ALL, packages=cases, ours=[*OURS])
    return errors


@pytest.mark.parametrize("package", PLAIN)
def test_include_runs_in_a_plain_python(package: str, import_errors: dict[str, str | None]) -> None:
    """Every module loads where Airflow, the provider and what is above it can't be imported."""
    assert import_errors[package] is None


BASELINE = """
import os, time
import airflow.sdk
from airflow.sdk import (
    DAG, Asset, AssetAlias, BaseAsyncOperator, BaseHook, CronDataIntervalTimetable,
    ObjectStoragePath, Param, RetryDecision, RetryPolicy, dag, get_current_context, task,
)
import airflow.configuration, airflow.sdk.log, airflow.sdk.exceptions

def in_a_child(code, **values):
    reader, writer = os.pipe()
    if os.fork() == 0:
        names = {**globals(), **values}
        exec(code, names)
        os.write(writer, json.dumps(names["found"]).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as result:
        its = json.load(result)
    os.wait()
    return its

imported = time.process_time()
found = [in_a_child(code, **values) for code, values in given["cases"]]
"""
"""What an Airflow process imports anyway; each case runs in a child of its own."""

LOAD = """
import importlib
before = set(sys.modules)
for name in modules:
    importlib.import_module(name)
found = sorted(set(sys.modules) - before)
"""

# DAG processor and tasks parse DAG files with the DAG bag. Every file is parsed in a separate child process.
PARSE = """
import runpy
import airflow.dag_processing.dagbag

def parse(file):
    before, events = set(sys.modules), []

    def watch(event, arguments):
        if event == "open":
            path = str(arguments[0])
            own = path.endswith((".py", ".pyc", ".so", ".pth")) or "/zoneinfo/" in path
            if not own:
                events.append([event, path])
        elif event.startswith(("socket.", "sqlite3.", "subprocess.", "os.posix_spawn")):
            events.append([event, repr(arguments)])

    sys.dont_write_bytecode = True  # a module that was edited since is compiled here
    sys.addaudithook(watch)
    started = time.process_time()
    runpy.run_path(file, run_name="parsed_dag_file")
    return {
        "share": (time.process_time() - started) / imported,
        "events": [*events],
        "modules": sorted(set(sys.modules) - before),
    }

def least(file):  # of two measurements, since other processes share the caches
    return min((in_a_child("found = parse(file)", file=file, parse=parse) for _ in "ab"), key=lambda its: its["share"])

found = {file: least(file) for file in files}
"""

OPERATORS = [
    "bms_provider.hooks.bms",
    *(
        f"bms_provider.operators.{name}"
        for name in ("access", "consultants", "contacts", "employees", "invoices")
    ),
]


@dataclass(frozen=True)
class Loaded:
    """What Airflow's processes load: modules of operators and plugin, and what each DAG file does."""

    operators: list[str]
    plugin: list[str]
    parsed: dict[str, Any]


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    """Loaded in children of one process, because the start of Airflow takes most of the time."""
    cases = [
        (LOAD, {"modules": OPERATORS}),
        (f"import airflow.plugins_manager\n{LOAD}", {"modules": ["bms_provider.plugin"]}),
        (PARSE, {"files": [str(file) for file in DAG_FILES]}),
    ]
    return Loaded(*python(BASELINE, cases=cases))


def packages(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_hook_and_operators_load_little_beyond_airflow_s_own(loaded: Loaded) -> None:
    modules = loaded.operators
    assert packages(modules) & HEAVY == set()
    ours = {name for name in modules if name.startswith("bms.")}
    declared = {name for name in ours if not name.startswith("bms.records")}
    assert declared == {"bms.arguments", "bms.endpoints"}
    assert packages(modules) & OURS == {"bms", "bms_provider"}


def test_the_plugin_imports_no_web_code(loaded: Loaded) -> None:
    """Every process of Airflow imports the plugin, one process per task included."""
    assert loaded.plugin == ["bms_provider.addresses", "bms_provider.plugin"]


@pytest.mark.parametrize("file", DAG_FILES, ids=lambda file: file.name)
def test_a_dag_file_parses_fast_and_touches_nothing(file: Path, loaded: Loaded) -> None:
    """No socket, no database, no file but Python's own (a time zone's is one); none of the libraries that tasks use."""
    its = loaded.parsed[str(file)]
    assert its["events"] == []
    assert packages(its["modules"]) & HEAVY == set()
    below = {name for name in its["modules"] if packages([name]) & (OURS - {"bms_provider"})}
    declarations = {name for name in below if name.startswith("bms.records")}
    assert below <= LIGHT | declarations | {"bms", "bms.arguments", "bms.endpoints"}
    # Of the CPU time that the imports of Airflow take: 0.15 on idle cores, up to 0.26 beside other work.
    assert its["share"] < 0.35


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


@pytest.mark.bookkeeping
def test_the_provider_and_the_dags_import_public_names_of_airflow() -> None:
    found: dict[str, set[str]] = {}
    for file in [*DAG_FILES, *(PROJECT / "plugins").rglob("*.py")]:
        for name in imported(file):
            internal = name.startswith("airflow.sdk.definitions") or "._" in name
            public = any(name == each or name.startswith(f"{each}.") for each in PUBLIC)
            if name.partition(".")[0] == "airflow" and (internal or not public):
                found.setdefault(str(file.relative_to(PROJECT)), set()).add(name)
    assert found == NOT_PUBLIC
