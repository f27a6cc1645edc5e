"""Retention of each kind of file."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from fsspec.implementations.local import LocalFileSystem
from upath import UPath

from bms_flows.privacy.retention import Deleted, retention_days, sweep
from bms_flows.runtime.settings import FlowSettings

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def written(path: Path, days_ago: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"12345")
    stamp = (NOW - timedelta(days=days_ago)).timestamp()
    os.utime(path, (stamp, stamp))
    return path


@pytest.mark.parametrize("kind", retention_days(FlowSettings()))
def test_a_file_is_deleted_after_its_retention(tmp_path: Path, kind: str) -> None:
    days = retention_days(FlowSettings())[kind]
    old = written(tmp_path / kind / "client_invoice" / "step-1" / "old", days + 0.1)
    young = written(tmp_path / kind / "client_invoice" / "step-2" / "young", days - 0.1)
    swept = sweep(UPath(tmp_path), retention_days(FlowSettings()), now=NOW)
    assert swept[kind] == Deleted(files=1, bytes=5)
    assert young.exists()
    assert old.parent.exists(), "a process may have made it to write into it"
    sweep(UPath(tmp_path), {kind: 9999}, now=datetime.now(UTC) + timedelta(days=1.1))
    assert not old.parent.exists()


def test_a_report_that_is_written_again_during_a_sweep_stays(tmp_path: Path) -> None:
    folders = [tmp_path / "reports" / "employees" / name for name in ("000001", "000002")]
    reports = [written(each / "needs_review.csv", 9999) for each in folders]
    remove = LocalFileSystem.rm_file

    def write_and_remove(files: LocalFileSystem, path: str) -> None:
        """Write the other report, as a run on a decision does."""
        for each in reports:
            if each != Path(path):
                each.write_bytes(b"decided")
        remove(files, path)

    with patch.object(LocalFileSystem, "rm_file", write_and_remove):
        sweep(UPath(tmp_path), {"reports": 365}, now=datetime.now(UTC))
    assert [each.read_bytes() for each in reports if each.exists()] == [b"decided"]


def test_an_erasure_beside_a_sweep_is_no_error(tmp_path: Path) -> None:
    old = written(tmp_path / "archive" / "employees" / "000001" / "drop.csv", 9999)
    remove = LocalFileSystem.rm_file

    def erase_and_remove(files: LocalFileSystem, path: str) -> None:
        old.unlink()
        remove(files, path)

    with patch.object(LocalFileSystem, "rm_file", erase_and_remove):
        assert sweep(UPath(tmp_path), {"archive": 30}, now=NOW)["archive"] == Deleted()


@pytest.mark.parametrize("people", ["contact", "consultant", "employee", "employee_private"])
def test_responses_with_personal_data_have_their_own_retention(tmp_path: Path, people: str) -> None:
    settings = FlowSettings(keep_raw_days=1000, keep_people_days=10)
    old = written(tmp_path / "raw" / people / "2026-11-10" / "step-1" / "old", 10.1)
    young = written(tmp_path / "raw" / people / "2026-11-12" / "step-2" / "young", 9.9)
    invoices = written(tmp_path / "raw" / "client_invoice" / "2026-11-10" / "step-3" / "old", 10.1)
    sweep(UPath(tmp_path), retention_days(settings), now=NOW)
    assert (old.exists(), young.exists(), invoices.exists()) == (False, True, True)


def test_files_of_no_kind_stay(tmp_path: Path) -> None:
    inbox = written(tmp_path / "inbox" / "employees" / "drop.csv", 9999)
    sweep(UPath(tmp_path), retention_days(FlowSettings()), now=NOW)
    assert inbox.exists()


def test_incomplete_files_are_deleted_after_a_day(tmp_path: Path) -> None:
    left = written(tmp_path / "raw" / "contact" / "1" / "pages.json.zst.ab.part", 1.1)
    being_written = written(left.with_name("pages.json.zst.cd.part"), 0.9)
    sweep(UPath(tmp_path), retention_days(FlowSettings()), now=NOW)
    assert (left.exists(), being_written.exists()) == (False, True)


def test_receipts_stay(tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "employees" / "000001"
    receipt = written(folder / "receipt.json", 9999)
    rejected = written(folder / "rejected.csv", 9999)
    dropped = written(tmp_path / "archive" / "employees" / "000001" / "receipt.json", 9999)
    sweep(UPath(tmp_path), retention_days(FlowSettings()), now=NOW)
    assert receipt.exists()
    assert not rejected.exists()
    assert not dropped.exists(), "a user gave the file this name"
