"""Fixtures: the board mounted as in Airflow, with Airflow's metadata, users and tokens."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import Browser
from sqlalchemy import Engine

from bms_provider.board.flows import FLOWS
from tests import services
from tests.support.drops import add_drop
from tests.support.steps import add_step

Visit = Callable[..., TestClient]

SECRET = "made up for the tests, and long enough for HS512: " * 2
ANONYMOUS = ""
"""A user without an id, such as FAB's anonymous user, who has the role that `[fab] auth_role_public` names."""
ROLES = {"viewer": "VIEWER", "user": "USER", "admin": "ADMIN", ANONYMOUS: "ADMIN", "nobody": None}


@pytest.fixture(scope="session")
def airflow_metadata() -> None:
    """Airflow's database with the project's DAGs."""
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session

    initdb()
    with create_session() as session:
        session.add(DagBundleModel(name="dags-folder"))
        session.flush()
        for flow in FLOWS:
            session.add(DagModel(dag_id=flow, bundle_name="dags-folder", fileloc=f"{flow}.py"))


@pytest.fixture
def visit(
    airflow_metadata: None,  # noqa: ARG001
    warehouse_connection: None,  # noqa: ARG001
    data_root: Path,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Visit]:
    """Return a client of a user, `visit("viewer")`, or without a token; Airflow is at /airflow."""
    from airflow.api_fastapi.app import init_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    from bms_provider.board import warehouse as board_warehouse
    from bms_provider.board.inbox import READER
    from bms_provider.board.page import settings
    from bms_provider.plugin import BmsPlugin

    settings.cache_clear()

    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", SECRET)
    monkeypatch.setenv(
        "AIRFLOW__CORE__AUTH_MANAGER", "tests.bms_provider.board.rights.RightsPerDag"
    )
    airflow = FastAPI(root_path="/airflow")
    manager = init_auth_manager()
    for each in BmsPlugin.fastapi_apps:
        airflow.mount(each["url_prefix"], each["app"])
    visitors = []

    def visitor(name: str | None = None) -> TestClient:
        client = TestClient(
            airflow,
            base_url="http://testserver/airflow",
            follow_redirects=False,
            raise_server_exceptions=False,
        )
        if name is not None:
            user = SimpleAuthManagerUser(username=name, role=ROLES.get(name))
            client.cookies.set("_token", manager.generate_jwt(user))
        visitors.append(client)
        return client

    yield visitor
    for client in visitors:
        client.close()
    board_warehouse.close()
    READER.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with services.browser() as found:
        yield found


@pytest.fixture
def report(data_root: Path, warehouse: Engine) -> int:
    """Store a concluded drop and a load of invoices, with their reports; return the drop's number."""
    ended = {"state": "applied", "finished_at": datetime.now(UTC)}
    add_drop(warehouse, path="Canari.csv", report="reports/employees/000001", **ended)
    counts = {"rows_read": 2, "inserted": 2, "requests": 3, "id_entity": 1}
    raw = {"raw": "raw/client_invoice/2026-01-02/step-1"}
    load = {"flow": "invoice_extraction", "step": "extract", "details": raw}
    add_step(warehouse, dag_run_id="manual__1", **load, **counts)
    told = {"drop": 1, "report": "reports/employees/000001", "created": 1}
    concluded = {"flow": "employee_onboarding", "step": "conclude", "details": told}
    add_step(warehouse, dag_run_id="manual__1", **concluded, rows_read=1, inserted=1)
    for folder, name in (
        ("client_invoice/2026-01-02/step-1", "totals.csv"),
        ("employees/000001", "rejected.csv"),
    ):
        file = data_root / "reports" / folder / name
        file.parent.mkdir(parents=True)
        file.write_text(f"{name} of {folder}")
    (data_root / "secret.csv").write_text("no report")
    return 1
