"""Archiving of dropped files after every kind of failure, on a disk and on S3."""

import errno
import os
import shutil
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms_flows.onboarding.inbox import archive as archiving
from bms_flows.onboarding.inbox import claim, discovery, uploads
from bms_flows.onboarding.inbox.archive import FileChanged
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.runtime.storage import open_to_read

CONTENT = "Nom;Entité\r\nDupré;1\r\n".encode("cp1252")


def dropped(inbox: UPath, warehouse: Engine, content: bytes = CONTENT) -> Drop:
    (inbox / "a.csv").write_bytes(content)
    seen = discovery.find_file(inbox, "a.csv")
    assert seen is not None
    return claim.claim_file(warehouse, "employee", seen)


def move(inbox: UPath, drop: Drop) -> UPath:
    return archiving.move_to_archive(inbox, inbox.parent / "archive", drop)


def release(inbox: UPath, drop: Drop, kept: UPath, *, expired: bool = True) -> None:
    archived = replace(drop, archive=str(kept))
    archiving.release(inbox, inbox.parent / "archive", archived, expired=expired)


def lying(inbox: UPath) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in Path(inbox.path).iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> UPath:
    """An inbox on a disk."""
    (tmp_path / "inbox").mkdir()
    return UPath(tmp_path / "inbox")


def test_the_file_is_in_the_archive_and_no_longer_in_the_inbox(
    inbox: UPath, warehouse: Engine
) -> None:
    drop = dropped(inbox, warehouse)
    for _ in range(2):
        kept = move(inbox, drop)
        assert kept.read_bytes() == CONTENT
        assert kept.path.endswith(f"archive/{drop.folder}/a.csv")
        assert discovery.list_files(inbox) == {}


def test_a_newer_file_of_the_same_name_stays(inbox: UPath, warehouse: Engine) -> None:
    drop = dropped(inbox, warehouse)
    move(inbox, drop)
    newer = dropped(inbox, warehouse, CONTENT + b"x;2\r\n")
    assert newer.id != drop.id
    assert move(inbox, drop).read_bytes() == CONTENT
    assert (inbox / "a.csv").read_bytes() == CONTENT + b"x;2\r\n"


@pytest.mark.parametrize("content", [CONTENT, CONTENT.swapcase()])
def test_a_later_file_of_the_same_name_size_and_time_stays(
    folder: UPath, warehouse: Engine, content: bytes
) -> None:
    """Copies keep the time of the original, and some exports always have the same time."""
    drop = dropped(folder, warehouse)
    move(folder, drop)
    (folder / "a.csv").write_bytes(content)
    os.utime((folder / "a.csv").path, ns=(int(drop.stamp), int(drop.stamp)))
    kept = move(folder, drop)
    assert kept.read_bytes() == CONTENT
    release(folder, drop, kept)
    assert lying(folder) == {"a.csv": content}


@pytest.mark.parametrize(
    ("written", "named"),
    [("at the claim", "a.csv"), ("after it", "a.csv"), ("within size and time", "a.csv"),
     ("beside a newer file", "1-a.csv")],
)  # fmt: skip
def test_what_is_written_to_a_file_after_its_claim_is_a_new_drop(
    folder: UPath, warehouse: Engine, written: str, named: str
) -> None:
    """A program that is another user's, or of another machine, has the file open unnoticed."""
    drop = dropped(folder, warehouse)
    with (folder / "a.csv").open("r+b", buffering=0) as program:
        kept = move(folder, drop)
        if written == "after it":
            release(folder, drop, kept, expired=False)
        if written == "within size and time":
            program.write(CONTENT.swapcase())
            os.utime(program.fileno(), ns=(int(drop.stamp), int(drop.stamp)))
        else:
            program.write(CONTENT + b"Petit;1\r\n")
        if written == "beside a newer file":
            (folder / "a.csv").write_bytes(b"newer\r\n")
        before = sorted(lying(folder).values())
        for expired in (False, True):
            release(folder, drop, kept, expired=expired)
    assert sorted(lying(folder).values()) == before
    assert named in discovery.list_files(folder)
    assert not archiving.hidden_files(folder, drop)


def test_hidden_names_that_are_no_files_stop_no_dispatch(
    folder: UPath, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may give any name, and another run may release the same file."""
    drop = dropped(folder, warehouse)
    kept = move(folder, drop)
    (folder / f".taken-{drop.id}-0-a.csv").mkdir()
    os.mkfifo((folder / f".taken-{drop.id}-1-a.csv").path)
    release(folder, drop, kept)
    left = archiving.hidden_files(folder, drop)
    assert [path.name[-7:] for path in left] == ["0-a.csv", "1-a.csv"]
    monkeypatch.setattr(archiving, "_asides", lambda *_: [Path(folder.path) / ".taken-gone"])
    release(folder, drop, kept)


@pytest.mark.parametrize("later", [CONTENT + b"x;2\r\n", None], ids=["changed", "missing"])
def test_a_file_changed_after_its_claim_is_not_taken(
    inbox: UPath, warehouse: Engine, later: bytes | None
) -> None:
    drop, file = dropped(inbox, warehouse), inbox / "a.csv"
    if later is None:
        file.unlink()
    else:
        file.write_bytes(later)
    with pytest.raises(FileChanged):
        move(inbox, drop)
    assert later is None or file.read_bytes() == later


def test_a_file_that_is_removed_while_it_is_archived_is_not_named(
    inbox: UPath, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of dropped files may be names of persons."""
    drop = dropped(inbox, warehouse)
    opened = open_to_read

    def removed_before(path: UPath) -> Any:
        path.unlink()
        return opened(path)

    monkeypatch.setattr(archiving, "open_to_read", removed_before)
    with pytest.raises(FileChanged) as changed:
        move(inbox, drop)
    assert "a.csv" not in "".join(traceback.format_exception(changed.value))


def test_a_file_changed_while_it_is_copied_is_not_taken(
    tmp_path: Path, folder: UPath, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that has the file open keeps writing after a rename."""
    drop = dropped(folder, warehouse)
    copy = shutil.copyfileobj

    def copied_while_written(*given: Any) -> None:
        copy(*given)
        [taken] = Path(folder.path).iterdir()
        with taken.open("ab") as stream:
            stream.write(b"x;2\r\n")

    monkeypatch.setattr(shutil, "copyfileobj", copied_while_written)
    with pytest.raises(FileChanged):
        move(folder, drop)
    assert not list((tmp_path / "archive").rglob("*.csv"))
    assert lying(folder) == {"a.csv": CONTENT + b"x;2\r\n"}


class Crash(BaseException):
    """The process dies here."""


def crashing(monkeypatch: pytest.MonkeyPatch, step: int) -> Iterator[int]:
    """Die at the `step`th durable action: rename, unlink, fsync."""
    count = iter(range(1000))

    def wrap(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def acting(*args: Any, **kwargs: Any) -> Any:
            if next(count) == step:
                raise Crash
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, acting)

    for owner in (Path, os):
        for name in ("rename", "unlink"):
            wrap(owner, name)
    wrap(os, "fsync")
    yield step


def test_a_crash_at_any_step_loses_nothing_and_the_next_attempt_completes(
    folder: UPath, warehouse: Engine
) -> None:
    died = 0
    for step in range(20):
        drop = dropped(folder, warehouse, CONTENT + b"x;%d\r\n" % step)
        with pytest.MonkeyPatch.context() as monkeypatch:
            for _ in crashing(monkeypatch, step):
                try:
                    move(folder, drop)
                except Crash:
                    died += 1
        kept = move(folder, drop)
        assert kept.read_bytes() == CONTENT + b"x;%d\r\n" % step
        release(folder, drop, kept)
        assert lying(folder) == {}
    assert died >= 4


def test_a_crash_between_copy_and_deletion_on_s3_is_repaired(
    bucket: UPath, warehouse: Engine
) -> None:
    inbox = bucket / "inbox"
    drop = dropped(inbox, warehouse)
    (bucket / "archive" / drop.folder / "a.csv").write_bytes(CONTENT)
    assert move(inbox, drop).read_bytes() == CONTENT
    assert discovery.list_files(inbox) == {}


def test_an_archived_file_of_another_run_is_not_overwritten(
    folder: UPath, warehouse: Engine
) -> None:
    """Two runs of one drop: the slower run moves a newer file away and restores it."""
    drop = dropped(folder, warehouse)
    (folder / "a.csv").rename(folder / f".taken-{drop.id}-0-a.csv")
    (folder / f".taken-{drop.id}-1-a.csv").write_bytes(CONTENT + b"x;2\r\n")
    assert move(folder, drop).read_bytes() == CONTENT
    assert [*discovery.list_files(folder)] == ["a.csv"]
    assert (folder / "a.csv").read_bytes() == CONTENT + b"x;2\r\n"


def test_an_orphaned_file_is_restored_beside_a_newer_file_of_the_same_name(
    folder: UPath, warehouse: Engine
) -> None:
    drop = dropped(folder, warehouse)
    (folder / f".taken-{drop.id}-0-a.csv").write_bytes(b"older\r\n")
    assert [*archiving.orphaned_drops(folder)] == [drop.id]
    archiving.return_to_inbox(folder, drop)
    assert lying(folder) == {"a.csv": CONTENT, f"{drop.id}-a.csv": b"older\r\n"}
    assert [*archiving.orphaned_drops(folder)] == []


def test_an_orphaned_file_of_an_unknown_drop_returns_to_the_inbox(folder: UPath) -> None:
    for unique, name in (("ab", "a.csv"), ("cd", "a.csv"), ("ef", "ma paie-mai.csv")):
        (folder / f"{archiving.TAKEN}9-{unique}-{name}").write_bytes(unique.encode())
    (folder / f"{archiving.TAKEN}99-ab-b.csv").touch()
    (folder / f"{archiving.TAKEN}{2**64}-ab-c.csv").touch()
    assert {*archiving.orphaned_drops(folder)} == {9, 99}
    archiving.return_unknown(folder, 9)
    assert lying(folder) == {
        "a.csv": b"ab",
        "9-a.csv": b"cd",
        "ma paie-mai.csv": b"ef",
        f"{archiving.TAKEN}99-ab-b.csv": b"",
        f"{archiving.TAKEN}{2**64}-ab-c.csv": b"",
    }


def test_without_hard_links_files_return_and_uploads_arrive(
    folder: UPath, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share may have none, and Linux permits none to another user's file that is only readable."""

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    drop = dropped(folder, warehouse)
    monkeypatch.setattr(os, "link", refused)
    (folder / f"{archiving.TAKEN}{drop.id}-0-a.csv").write_bytes(b"older\r\n")
    (folder / f"{archiving.TAKEN}9-0-b.csv").write_bytes(b"unknown\r\n")
    archiving.return_to_inbox(folder, drop)
    archiving.return_unknown(folder, 9)
    added = [uploads.add(folder, "a.csv", b"uploaded", lambda _: None).path for _ in range(2)]
    assert lying(folder) == {
        "a.csv": CONTENT,
        f"{drop.id}-a.csv": b"older\r\n",
        "b.csv": b"unknown\r\n",
        **dict.fromkeys(added, b"uploaded"),
    }
