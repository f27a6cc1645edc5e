"""Shared fixtures: a real PostgreSQL with one empty warehouse per test.

The suite uses every core. Tests of a file run in one process. Tests of a folder that share an Airflow run
in one process and start first, because they take longest. The summary prints the figures of proofs.
"""

import atexit
import gc
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import psutil
import psycopg
import pytest
from sqlalchemy import Engine

from bms_sandbox.serve import Sandbox
from tests.certificates import self_signed
from tests.support.patience import LONG_S

# No deadline, because a busy machine would exceed it. The suite uses the same examples every time, so
# that a failure means a change; `make prove` generates random and more examples.
hypothesis.settings.register_profile(
    "random",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    max_examples=1000,
)
hypothesis.settings.register_profile(
    "repeatable",
    hypothesis.settings.get_profile("random"),
    max_examples=100,
    derandomize=True,
)
hypothesis.settings.load_profile("repeatable")

PROJECT = Path(__file__).parent.parent

# Airflow reads this once, when it is imported, and writes its configuration there.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="bms-airflow-home-")
atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
AIRFLOW = PROJECT / "tests" / "e2e"
TOGETHER = (AIRFLOW, PROJECT / "tests" / "dags")
"""Folders whose files share an Airflow."""
MEMORY = Path("/dev/shm")  # noqa: S108 - Linux keeps its files in memory


def pytest_configure(config: pytest.Config) -> None:
    """Handle SIGTERM like Ctrl-C, so that fixtures stop the servers they started.

    The xdist controller keeps the default handler: its workers detect its end and need more time to
    stop than the controller would give them.
    """
    if config.getoption("dist", "no") == "no" or hasattr(config, "workerinput"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest tests first."""
    items.sort(key=lambda item: not {*TOGETHER} & {*item.path.parents})


def pytest_collection_finish() -> None:
    """Exclude what was imported and collected from garbage collection: a seventh of the suite's CPU time."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Run tests that share an expensive fixture in one process.

    Applies to `--dist loadscope`, the suite's mode; cells of a grid share nothing and use `--dist load`.
    """
    from xdist.scheduler import LoadScopeScheduling

    if config.getoption("dist") != "loadscope":
        return None

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = Path(nodeid.split("::", 1)[0])
            return str(path.parent if PROJECT / path.parent in TOGETHER else path)

    return Scheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests of all processes recorded."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "figure" and report.when == "call":
                    terminalreporter.write_line(value)


@pytest.fixture
def sandbox(service: Sandbox) -> Sandbox:
    """The sandbox that a folder's `service` runs, reset to its initial state."""
    service.reset()
    service.reset_counts()
    return service


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return a function that adds a line to the summary: a count or a ratio of a proof."""
    return lambda line: record_property("figure", line)


@pytest.fixture(scope="session", autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Stop child processes that would outlive the session."""
    from stack.processes import kill

    yield
    kill(psutil.Process().children(recursive=True))


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's root."""
    return PROJECT


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URI of an embedded PostgreSQL, for the whole session.

    Or of the server that `BMS_TEST_POSTGRES` names: mutation tests run thousands of sessions.
    """
    from stack.postgres import serving

    if given := os.environ.get("BMS_TEST_POSTGRES"):
        yield given
        return

    # In memory if there is space: a database has 490 files. Not under pytest's own folder, whose old
    # ones a neighbouring run clears away.
    spacious = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30
    folder = Path(tempfile.mkdtemp(prefix="bms-tests-", dir=MEMORY if spacious else None))
    try:
        # Not durable: it makes a database for each test.
        with serving(folder, f"tests-{os.getpid()}", LONG_S, durable=False) as (server, _):
            yield server.url("postgres")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_session(postgres: str) -> Iterator[psycopg.Connection]:
    """A session of the server that makes and drops databases."""
    with psycopg.connect(postgres, autocommit=True) as session:
        yield session


@pytest.fixture(scope="session")
def migrated(postgres: str, postgres_session: psycopg.Connection) -> str:
    """Name of a template database with the current schema."""
    from bms_warehouse import database, migration

    if postgres_session.execute(
        "select 1 from pg_database where datname = 'bms_template'"
    ).fetchone():
        return "bms_template"
    postgres_session.execute("create database bms_template")
    template = database.connect(_named(postgres, "bms_template"))
    migration.migrate(template)
    template.dispose()
    return "bms_template"


@pytest.fixture
def warehouse_uri(
    postgres: str, postgres_session: psycopg.Connection, migrated: str
) -> Iterator[str]:
    """URI of an empty warehouse of the test's own."""
    name = f"bms_{uuid.uuid4().hex}"
    # Without syncing, copied files cost a fifth of copied pages.
    postgres_session.execute(
        f"create database {name} template {migrated} strategy file_copy".encode()
    )
    yield _named(postgres, name)
    postgres_session.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def warehouse(warehouse_uri: str) -> Iterator[Engine]:
    """An empty warehouse of the test's own."""
    from bms_warehouse import database

    engine = database.connect(warehouse_uri)
    yield engine
    engine.dispose()


def _named(uri: str, database_name: str) -> str:
    from sqlalchemy import make_url

    return make_url(uri).set(database=database_name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """URL of an S3 server in this process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 with its key, which no system trusts."""
    return self_signed(tmp_path_factory.mktemp("tls") / "server.pem")
