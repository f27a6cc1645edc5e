"""Airflow without a database, a sandbox over real HTTP, a connection to it, a data root."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bms_sandbox.serve import Sandbox, running

TODAY = "2026-03-31"

Connect = Callable[..., None]


@pytest.fixture(scope="session")
def service() -> Iterator[Sandbox]:
    """The sandbox of the whole session, its clock standing still."""
    with running(options=("--today", TODAY, "--frozen", "--contacts", "25")) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(service: Sandbox) -> Sandbox:
    """The sandbox as it was at its start."""
    service.reset()
    service.forget()
    return service


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Preset a connection in Airflow's JSON form: `connect(host=..., extra={...})`."""

    def preset(conn_id: str = "bms_default", **fields: Any) -> None:
        form = {"conn_type": "bms", **fields}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(form))

    return preset


@pytest.fixture
def connected(sandbox: Sandbox, connect: Connect) -> Connect:
    """Connect `bms_default` to the sandbox; call it to change extras."""

    def change(**extra: Any) -> None:
        given = {"application_id": sandbox.credentials.application_id, "backoff_cap": 0.02}
        connect(
            host=sandbox.url,
            login=sandbox.credentials.client_id,
            password=sandbox.credentials.secret,
            extra={**given, **extra},
        )

    change()
    return change


@pytest.fixture
def data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that BMS_DATA_ROOT names."""
    monkeypatch.setenv("BMS_DATA_ROOT", f"file://{tmp_path}/data")
    return tmp_path / "data"
