"""Report files on a local disk and on an object store."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fsspec.implementations.local import LocalFileSystem
from s3fs import S3FileSystem
from sqlalchemy import Engine, text
from upath import UPath

from bms_provider.board import files
from bms_provider.board import warehouse as board_warehouse
from tests.bms_provider.board.conftest import Visit
from tests.bms_provider.conftest import Connect


@pytest.fixture
def other_machine(s3_server: str) -> S3FileSystem:
    """The object store as another machine writes to it, without a shared cache."""
    return S3FileSystem(key="test", secret="test", endpoint_url=s3_server, skip_instance_cache=True)


def test_a_rewritten_report_on_an_object_store_is_served_in_its_latest_version(
    visit: Visit,
    report: int,
    s3_server: str,
    other_machine: S3FileSystem,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The board's process runs for months while tasks on other machines write."""
    name = f"store-{uuid4().hex}"
    connect(
        name.replace("-", "_"),
        conn_type="aws",
        login="test",
        password="test",
        extra={"endpoint_url": s3_server, "region_name": "us-east-1"},
    )
    monkeypatch.setenv("BMS_DATA_ROOT", f"s3://{name.replace('-', '_')}@{name}/data")
    other_machine.mkdir(name)
    folder = f"{name}/data/reports/employees/000001"
    other_machine.pipe_file(f"{folder}/rejected.csv", b"first")
    client = visit("user")
    page = f"/bms/drops/{report}"
    assert "rejected.csv" in client.get(page).text

    other_machine.pipe_file(f"{folder}/rejected.csv", b"second, and longer")
    other_machine.pipe_file(f"{folder}/created.csv", b"later")
    answer = client.get(f"{page}/files/rejected.csv")
    assert (answer.status_code, answer.content) == (200, b"second, and longer")
    assert "created.csv" in client.get(page).text


def test_only_the_requested_report_folder_is_listed(tmp_path: Path) -> None:
    root = UPath("memory://board")
    folder = "reports/employees/000001"
    (root / folder).mkdir(parents=True)
    (root / folder / "rejected.csv").write_bytes(b"a;b")
    (root / folder / "created.csv").write_bytes(b"")
    (root / "secret.csv").write_bytes(b"no")
    created, rejected = files.ReportFile("created.csv", 0), files.ReportFile("rejected.csv", 3)
    assert files.listed(root, [folder, None]) == {folder: [created, rejected]}
    assert files.content(root, folder, "rejected.csv") == b"a;b"
    assert files.content(root, "reports/..", "secret.csv") is None
    assert files.listed(UPath(tmp_path), ["reports/none"]) == {"reports/none": []}


def test_sibling_folders_are_listed_separately(tmp_path: Path) -> None:
    days = [
        f"reports/client_invoice/2026-01-0{day}/step-{day}{n}" for day in (1, 2) for n in (0, 1)
    ]
    for folder in (*days, "reports/client_invoice/2026-01-01/step-9"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{folder[-6:]}.csv").write_text("x")
    found = files.listed(UPath(tmp_path), days)
    assert found == {folder: [files.ReportFile(f"{folder[-6:]}.csv", 1)] for folder in days}


@pytest.mark.usefixtures("report")
def test_the_reports_of_a_run_are_listed_in_one_request_without_a_database_session(
    visit: Visit, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object store takes tens of milliseconds per request; a run may have hundreds of steps."""
    with warehouse.begin() as connection:
        connection.execute(
            text("""insert into bms.step_run (flow, dag_run_id, step, state, details, started_at)
                select 'invoice_extraction', 'manual__1', 'extract', 'failed',
                    jsonb_build_object('raw', 'raw/client_invoice/2026-01-02/step-' || n), now()
                from generate_series(2, 40) as n""")
        )
    asked: list[tuple[str, int]] = []
    find = LocalFileSystem.find

    def counted(fs: LocalFileSystem, path: str, **given: Any) -> Any:
        (engine,) = board_warehouse._engines.values()
        asked.append((path.rpartition("/")[2], engine.pool.checkedout()))  # type: ignore[attr-defined]
        return find(fs, path, **given)

    monkeypatch.setattr(LocalFileSystem, "find", counted)
    client = visit("user")
    page = client.get("/bms/flows/invoice_extraction/runs/manual__1").text
    assert "totals.csv" in page
    assert client.get("/bms/drops/1").status_code == 200
    assert client.get("/bms/steps/1/files/totals.csv").status_code == 200
    assert asked == [("2026-01-02", 0), ("000001", 0), ("step-1", 0)]
