"""What every test may stand on: a real PostgreSQL with a warehouse of the test's own."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's root."""
    return PROJECT


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URI of an embedded PostgreSQL, for the whole session."""
    from stack.postgres import Postgres
    from stack.processes import Children, until

    # Not under pytest's own folder, whose old ones a neighbouring run clears away.
    folder = Path(tempfile.mkdtemp(prefix="bms-tests-"))
    mark = f"tests-{os.getpid()}"
    children = Children(mark, folder)
    server = Postgres(folder / "data", mark)
    try:
        assert server.initialise(children).process.wait(timeout=60) == 0
        server.adopt()
        server.start(children)
        assert until(server.ready, 60)
        yield server.url("postgres")
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def migrated(postgres: str) -> str:
    """Name of a template database that stands at the newest migration."""
    from bms_warehouse import database

    engine = database.connect(postgres, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("create database bms_template"))
    engine.dispose()
    template = database.connect(_named(postgres, "bms_template"))
    database.migrate(template)
    template.dispose()
    return "bms_template"


@pytest.fixture
def warehouse_uri(postgres: str, migrated: str) -> Iterator[str]:
    """URI of an empty warehouse of the test's own."""
    from bms_warehouse import database

    name = f"bms_{uuid.uuid4().hex}"
    server = database.connect(postgres, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"create database {name} template {migrated}"))
    yield _named(postgres, name)
    with server.connect() as connection:
        connection.execute(text(f"drop database {name} with (force)"))
    server.dispose()


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
