"""Folders that other users can write to: links and pipes neither redirect nor block a task."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms_flows.onboarding.inbox import archive, claim, discovery, templates
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.privacy import retention
from bms_flows.runtime import storage
from bms_flows.runtime.storage import NotRegularFile

VICTIM = b"a file of Airflow's user\n"
PAGE = "https://airflow.example.com/bms/flows/employee_onboarding"
CONTENT = b"Nom;Ville\r\nA;B\r\n"


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail the block if it blocks."""

    def expired(_: int, __: FrameType | None) -> None:
        raise AssertionError(f"blocked for {seconds} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file elsewhere that must stay unchanged."""
    path = tmp_path / "victim"
    path.write_bytes(VICTIM)
    return path


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """An inbox that others write to."""
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


OURS = ("_LISEZMOI.txt", "_modele_employees.csv", "_modele_employees.xlsx")
PREDICTABLE = [*OURS, *(f"{name}.part" for name in OURS)]


@pytest.mark.parametrize("name", PREDICTABLE)
def test_templates_are_not_written_through_a_link(shared: Path, victim: Path, name: str) -> None:
    (shared / name).symlink_to(victim)
    templates.provide(UPath(shared), EMPLOYEE, page=PAGE)
    assert victim.read_bytes() == VICTIM
    assert all((shared / each).is_file() and not (shared / each).is_symlink() for each in OURS)


@pytest.mark.parametrize("name", PREDICTABLE)
def test_templates_are_not_held_up_by_a_pipe(shared: Path, name: str) -> None:
    os.mkfifo(shared / name)
    with at_most(5):
        templates.provide(UPath(shared), EMPLOYEE, page=PAGE)
    assert all((shared / each).is_file() for each in OURS)


def test_a_folder_in_the_place_of_the_instructions_does_not_close_the_inbox(shared: Path) -> None:
    (shared / "_LISEZMOI.txt" / "x").mkdir(parents=True)
    templates.provide(UPath(shared), EMPLOYEE, page=PAGE)
    assert (shared / "_modele_employees.csv").is_file()


def test_a_huge_file_in_the_place_of_the_instructions_is_not_read_whole(shared: Path) -> None:
    with (shared / "_LISEZMOI.txt").open("wb") as stream:
        stream.truncate(1 << 42)
    templates.provide(UPath(shared), EMPLOYEE, page=PAGE)
    assert (shared / "_LISEZMOI.txt").stat().st_size < 1 << 20


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_regular_file_is_no_drop_and_is_not_read(
    shared: Path, victim: Path, kind: str
) -> None:
    path = shared / "a.csv"
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert discovery.list_files(UPath(shared)) == {}
    assert discovery.find_file(UPath(shared), "a.csv") is None
    with at_most(5):
        for read in (discovery.head, discovery.being_written, storage.read_file, archive.digest):
            with pytest.raises(NotRegularFile):
                read(UPath(path))


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_file_exchanged_after_its_claim_is_not_followed(
    shared: Path, victim: Path, warehouse: Engine, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The exchange comes in the last moment: after the check of size and time, before the open."""
    path = shared / "a.csv"
    path.write_bytes(CONTENT)
    seen = discovery.find_file(UPath(shared), "a.csv")
    assert seen is not None
    drop = claim.claim_file(warehouse, "employee", seen)
    check = archive._ensure_claimed

    def exchanged(*given: object) -> None:
        check(*given)  # type: ignore[arg-type]
        [aside] = shared.iterdir()
        aside.unlink()
        if kind == "link":
            aside.symlink_to(victim)
        else:
            os.mkfifo(aside)

    monkeypatch.setattr(archive, "_ensure_claimed", exchanged)
    with at_most(5), pytest.raises(archive.FileChanged):
        archive.move_to_archive(UPath(shared), UPath(shared.parent / "archive"), drop)
    assert not [each for each in (shared.parent / "archive").rglob("*") if each.is_file()]


def test_a_report_folder_that_is_a_link_gets_no_report(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "000001-20260331T000000").symlink_to(elsewhere)
    with pytest.raises(NotADirectoryError):
        storage.save_private(
            UPath(tmp_path / "reports" / "000001-20260331T000000" / "a.csv"), b"personal"
        )
    assert list(elsewhere.iterdir()) == []


def test_a_report_replaces_a_link_of_its_name(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "a.csv").symlink_to(victim)
    storage.save_private(UPath(tmp_path / "reports" / "a.csv"), b"personal")
    assert victim.read_bytes() == VICTIM
    assert (tmp_path / "reports" / "a.csv").read_bytes() == b"personal"


def test_retention_deletes_nothing_behind_a_link(tmp_path: Path, victim: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    victim.rename(elsewhere / "old")
    reports = tmp_path / "reports" / "employees"
    reports.mkdir(parents=True)
    (reports / "1").symlink_to(elsewhere)
    (reports / "created.csv").write_bytes(b"x")
    now = datetime(2100, 1, 1, tzinfo=UTC)
    swept = retention.sweep(UPath(tmp_path), {"reports": 1}, now=now)
    assert (elsewhere / "old").read_bytes() == VICTIM
    assert swept["reports"].files == 1
