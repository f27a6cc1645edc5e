"""Fixtures: a sandbox over real HTTP, connections to it and to the warehouse, a data root."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, make_url

from bms_sandbox.serve import Sandbox, running
from tests.listeners import Webhook, webhook
from tests.support.steps import add_step

TODAY = "2026-03-31"

Connect = Callable[..., None]
RecordLoad = Callable[..., None]


@pytest.fixture(scope="session")
def service() -> Iterator[Sandbox]:
    """The sandbox of the session, with a frozen clock."""
    with running(options=("--today", TODAY, "--frozen", "--contacts", "25")) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits between attempts."""
    monkeypatch.setattr("bms.retry.BASE", 0.01)


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Preset a connection in Airflow's JSON form: `connect(host=..., extra={...})`."""

    def preset(conn_id: str = "bms_default", **fields: Any) -> None:
        form = {"conn_type": "bms", **fields}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(form))

    return preset


def fields_of(sandbox: Sandbox, **extra: Any) -> dict[str, Any]:
    """Return the fields of a connection to a sandbox."""
    given = sandbox.credentials
    extra = {"application_id": given.application_id, **extra}
    return {"host": sandbox.url, "login": given.client_id, "password": given.secret, "extra": extra}


@pytest.fixture
def connected(sandbox: Sandbox, connect: Connect) -> Connect:
    """Connect `bms_default` to the sandbox; call it to change extras."""

    def change(**extra: Any) -> None:
        connect(**fields_of(sandbox, **extra))

    change()
    return change


@pytest.fixture
def warehouse_connection(connect: Connect, warehouse_uri: str) -> None:
    """Preset the connection `bms_warehouse` to the test's warehouse."""
    url = make_url(warehouse_uri)
    host = url.query.get("host", url.host)
    connect(
        "bms_warehouse", conn_type="postgres", host=host, login=url.username, schema=url.database
    )


@pytest.fixture
def record_load(warehouse: Engine) -> RecordLoad:
    """Record a load of contact_sync that ended some hours ago: `record_load(2, "failed")`."""

    def record(hours: float, state: str = "complete", **given: Any) -> None:
        at = datetime.now(UTC) - timedelta(hours=hours)
        add_step(warehouse, at, **{"dag_run_id": f"scheduled__{hours}", "state": state, **given})

    return record


@pytest.fixture
def messages(connect: Connect) -> Iterator[Webhook]:
    """A webhook that receives the alarms."""
    with webhook() as found:
        connect("bms_webhook", conn_type="http", host=found.url)
        yield found


@pytest.fixture
def data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that BMS_DATA_ROOT names."""
    monkeypatch.setenv("BMS_DATA_ROOT", f"file://{tmp_path}/data")
    return tmp_path / "data"
