"""Atomic files, locally and on an S3 server."""

import errno
import os
import resource
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from upath import UPath

from bms_flows.runtime import storage
from bms_flows.runtime.storage import (
    DataRootRefused,
    DiskFull,
    FileInUse,
    StorageFailed,
    atomic_file,
    data_root,
    explain_refusal,
    private_file,
    save_private,
)


def test_a_file_appears_when_it_is_complete(root: UPath) -> None:
    path = root / "below" / "whole"
    with atomic_file(path) as stream:
        stream.write(b"x" * 100)
        assert not path.exists()
    assert path.read_bytes() == b"x" * 100


def interrupted(path: UPath) -> None:
    with atomic_file(path) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt


def test_an_interrupted_file_never_appears(root: UPath) -> None:
    path = root / "interrupted" / "file"
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert not list(root.glob("interrupted/*"))


def test_an_interrupted_file_leaves_the_earlier_one(root: UPath) -> None:
    path = root / "again" / "file"
    with atomic_file(path) as stream:
        stream.write(b"earlier")
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert path.read_bytes() == b"earlier"


def test_on_a_disk_it_is_its_owners_alone(tmp_path: Path) -> None:
    """Responses of the service contain personal data."""
    with atomic_file(UPath(tmp_path) / "answer") as stream:
        stream.write(b"x")
    assert (tmp_path / "answer").stat().st_mode & 0o777 == 0o600


def test_personal_data_is_its_owners_alone_with_its_folder(tmp_path: Path) -> None:
    save_private(UPath(tmp_path / "reports" / "a.csv"), b"x")
    save_private(UPath(tmp_path / "reports" / "a.csv"), b"y")
    written = tmp_path / "reports" / "a.csv"
    assert written.read_bytes() == b"y"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert stat.S_IMODE(written.parent.stat().st_mode) == 0o700


def test_two_that_write_one_file_publish_whole_ones_only(tmp_path: Path) -> None:
    path = UPath(tmp_path / "reports" / "a.csv")
    with private_file(path) as slower:
        slower.write(b"slow")
        with private_file(path) as faster:
            faster.write(b"fast and whole")
        assert path.read_bytes() == b"fast and whole"
    assert path.read_bytes() == b"slow"
    assert [each.name for each in (tmp_path / "reports").iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("number", "file", "raised", "text"),
    [
        (errno.EACCES, "/Dupont.csv", DataRootRefused, ", in {} (Permission denied); grant"),
        (errno.EROFS, "", DataRootRefused, ", in {} (Read-only file system); grant"),
        (errno.EBUSY, "/Dupont.xlsx", FileInUse, "a file in {} is in use"),
        (errno.EHOSTDOWN, "/Dupont.xlsx", StorageFailed, "a file in {}: Host is down; "),
    ],
)
def test_an_error_below_the_data_root_names_its_folder_and_no_file(
    tmp_path: Path, number: int, file: str, raised: type[Exception], text: str
) -> None:
    with pytest.raises(raised) as error, explain_refusal(UPath(tmp_path)):
        raise OSError(number, os.strerror(number), f"{tmp_path}/inbox/employees{file}")
    assert text.format("inbox/employees") in str(error.value)
    assert "Dupont" not in str(error.value)
    assert error.value.__suppress_context__
    assert vars(raised)["retriable"] == (raised is not DataRootRefused)


def test_a_data_root_that_can_not_be_made_is_named() -> None:
    with (
        pytest.raises(DataRootRefused, match="BMS_DATA_ROOT"),
        explain_refusal(UPath("/srv/bms/data")),
    ):
        raise PermissionError(errno.EACCES, "refused", "/srv/bms")


def test_a_store_that_refuses_names_no_path() -> None:
    with (
        pytest.raises(DataRootRefused, match="BMS_DATA_ROOT is memory://bucket"),
        explain_refusal(UPath("memory://bucket")),
    ):
        raise PermissionError("Access Denied")


@pytest.mark.parametrize(
    "error", [PermissionError(errno.EACCES, "refused", "/etc/key"), FileNotFoundError("gone")]
)
def test_other_errors_are_raised_unchanged(tmp_path: Path, error: OSError) -> None:
    with pytest.raises(type(error)), explain_refusal(UPath(tmp_path)):
        raise error


@pytest.fixture
def no_room() -> Iterator[None]:
    """Let this process write no file longer than 1,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("no_room")
def test_a_full_disk_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(DiskFull) as error, atomic_file(UPath(tmp_path) / "Dupont.csv") as stream:
        stream.write(b"x" * 2_000)
    assert f"no space to write in {tmp_path}: File too large; free some space" in str(error.value)
    assert error.value.retriable
    assert list(tmp_path.iterdir()) == []


def test_a_command_opens_the_root_that_airflow_reaches_by_a_connection(
    bucket: UPath, s3_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bucket / "named" / "file").write_bytes(b"x")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    address = f"s3://aws_default@{bucket.path.strip('/')}/named"
    assert (data_root(address) / "file").read_bytes() == b"x"


def test_a_local_root_is_opened_unchanged(tmp_path: Path) -> None:
    (tmp_path / "a@b").mkdir()
    for address in (f"file://{tmp_path}/a@b", f"{tmp_path}/a@b"):
        assert data_root(address).exists()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_new_file_takes_no_name_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Names are random; an attacker who guesses a name must gain nothing."""
    guessed = uuid.uuid4()
    monkeypatch.setattr(storage, "uuid4", lambda: guessed)
    victim, taken = tmp_path / "victim", tmp_path / f"report.csv.{guessed.hex}.part"
    victim.write_text("theirs")
    if kind == "link":
        taken.symlink_to(victim)
    else:
        taken.write_text("theirs")
    with (
        pytest.raises(FileExistsError),
        storage.atomic_file(UPath(tmp_path / "report.csv")) as stream,
    ):
        stream.write(b"ours")
    assert victim.read_text() == "theirs"
    assert not (tmp_path / "report.csv").exists()
