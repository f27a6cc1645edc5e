"""The board as Airflow mounts it: Airflow's own metadata, users and tokens, a warehouse of the test's own."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine, make_url

from bms_provider.board.flows import FLOWS
from tests.bms_provider.conftest import Connect

os.environ["AIRFLOW__API_AUTH__JWT_SECRET"] = (
    "made up for the tests, and long enough for HS512: " * 2
)

Visit = Callable[..., TestClient]


@pytest.fixture(scope="session")
def airflow_metadata() -> None:
    """Airflow's database as it knows our DAGs."""
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
    airflow_metadata: None,  # noqa: ARG001 - what stands while the board answers
    warehouse: Engine,
    connect: Connect,
    data_root: Path,  # noqa: ARG001
) -> Iterator[Visit]:
    """Visit the board, mounted below Airflow at /airflow: `visit(role="VIEWER")`, or without a role."""
    from airflow.api_fastapi.app import init_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    from bms_plugin import BmsPlugin
    from bms_provider.board import warehouse as board_warehouse

    url = make_url(warehouse.url)
    host = url.query["host"]
    connect(
        "bms_warehouse",
        conn_type="postgres",
        host=host if isinstance(host, str) else host[0],
        login=url.username,
        schema=url.database,
    )
    airflow = FastAPI(root_path="/airflow")
    manager = init_auth_manager()
    for each in BmsPlugin.fastapi_apps:
        airflow.mount(each["url_prefix"], each["app"])
    visitors = []

    def visitor(role: str | None = None) -> TestClient:
        client = TestClient(airflow, base_url="http://testserver/airflow", follow_redirects=False)
        if role is not None:
            user = SimpleAuthManagerUser(
                username=role.lower(), role=role if role != "NOBODY" else None
            )
            client.cookies.set("_token", manager.generate_jwt(user))
        visitors.append(client)
        return client

    yield visitor
    for client in visitors:
        client.close()
    board_warehouse.close()
