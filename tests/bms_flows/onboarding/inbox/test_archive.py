"""Archiving of dropped files after every kind of failure, on a disk and on S3."""

import errno
import os
import shutil
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
from bms_warehouse.locks import Busy

CONTENT = "Nom;Entité\r\nDupré;1\r\n".encode("cp1252")


def dropped(inbox: UPath, warehouse: Engine, content: bytes = CONTENT) -> Drop:
    (inbox / "a.csv").write_bytes(content)
    seen = discovery.find_file(inbox, "a.csv")
    assert seen is not None
    return claim.claim_file(warehouse, "employee", seen)


def test_the_file_is_in_the_archive_and_no_longer_in_the_inbox(
    root: UPath, inbox: UPath, warehouse: Engine
) -> None:
    drop = dropped(inbox, warehouse)
    for _ in range(2):
        kept = archiving.move_to_archive(inbox, root / "archive", drop)
        assert kept.read_bytes() == CONTENT
        assert kept.path.endswith(f"archive/{drop.folder}/a.csv")
        assert discovery.list_files(inbox) == {}


def test_a_newer_file_of_the_same_name_stays(root: UPath, inbox: UPath, warehouse: Engine) -> None:
    drop = dropped(inbox, warehouse)
    archiving.move_to_archive(inbox, root / "archive", drop)
    newer = dropped(inbox, warehouse, CONTENT + b"x;2\r\n")
    assert newer.id != drop.id
    assert archiving.move_to_archive(inbox, root / "archive", drop).read_bytes() == CONTENT
    assert (inbox / "a.csv").read_bytes() == CONTENT + b"x;2\r\n"


@pytest.mark.parametrize("content", [CONTENT, CONTENT.swapcase()])
def test_a_later_file_of_the_same_name_size_and_time_stays(
    tmp_path: Path, warehouse: Engine, content: bytes
) -> None:
    """Copies keep the time of the original, and some exports always have the same time."""
    root, inbox = UPath(tmp_path), UPath(tmp_path / "inbox")
    inbox.mkdir()
    drop = dropped(inbox, warehouse)
    archiving.move_to_archive(inbox, root / "archive", drop)
    (inbox / "a.csv").write_bytes(content)
    os.utime(tmp_path / "inbox" / "a.csv", ns=(int(drop.stamp), int(drop.stamp)))
    kept = archiving.move_to_archive(inbox, root / "archive", drop)
    assert kept.read_bytes() == CONTENT
    archiving.release(inbox, root / "archive", replace(drop, archive=str(kept)), expired=True)
    assert {each.name: each.read_bytes() for each in inbox.iterdir()} == {"a.csv": content}


@pytest.mark.parametrize(
    ("written", "named"),
    [("at the claim", "a.csv"), ("after it", "a.csv"), ("within size and time", "a.csv"),
     ("beside a newer file", "1-a.csv")],
)  # fmt: skip
def test_what_is_written_to_a_file_after_its_claim_is_a_new_drop(
    tmp_path: Path, warehouse: Engine, written: str, named: str
) -> None:
    """A program that is another user's, or of another machine, has the file open unnoticed."""
    root, inbox = UPath(tmp_path), UPath(tmp_path / "inbox")
    inbox.mkdir()
    drop = dropped(inbox, warehouse)
    with (tmp_path / "inbox" / "a.csv").open("r+b", buffering=0) as program:
        kept = archiving.move_to_archive(inbox, root / "archive", drop)
        archived = replace(drop, archive=str(kept))
        if written == "after it":
            archiving.release(inbox, root / "archive", archived, expired=False)
        if written == "within size and time":
            program.write(CONTENT.swapcase())
            os.utime(program.fileno(), ns=(int(drop.stamp), int(drop.stamp)))
        else:
            program.write(CONTENT + b"Petit;1\r\n")
        if written == "beside a newer file":
            (inbox / "a.csv").write_bytes(b"newer\r\n")
        lying = {path.read_bytes() for path in (tmp_path / "inbox").iterdir()}
        for expired in (False, True):
            archiving.release(inbox, root / "archive", archived, expired=expired)
    assert {path.read_bytes() for path in (tmp_path / "inbox").iterdir()} == lying
    assert named in discovery.list_files(inbox)
    assert not archiving.hidden_files(inbox, drop)


def test_the_original_is_deleted_once_its_claim_has_expired(
    tmp_path: Path, warehouse: Engine
) -> None:
    root, inbox = UPath(tmp_path), UPath(tmp_path / "inbox")
    inbox.mkdir()
    drop = dropped(inbox, warehouse)
    archived = replace(drop, archive=str(archiving.move_to_archive(inbox, root / "archive", drop)))
    archiving.release(inbox, root / "archive", archived, expired=False)
    assert [path.read_bytes() for path in archiving.hidden_files(inbox, drop)] == [CONTENT]
    archiving.release(inbox, root / "archive", archived, expired=True)
    assert not list((tmp_path / "inbox").iterdir())


def test_hidden_names_that_are_no_files_stop_no_dispatch(
    tmp_path: Path, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may give any name, and another run may release the same file."""
    root, inbox = UPath(tmp_path), UPath(tmp_path / "inbox")
    inbox.mkdir()
    drop = dropped(inbox, warehouse)
    kept = archiving.move_to_archive(inbox, root / "archive", drop)
    archived = replace(drop, archive=str(kept))
    (tmp_path / f"inbox/.taken-{drop.id}-0-a.csv").mkdir()
    os.mkfifo(tmp_path / f"inbox/.taken-{drop.id}-1-a.csv")
    archiving.release(inbox, root / "archive", archived, expired=True)
    left = archiving.hidden_files(inbox, drop)
    assert [path.name[-7:] for path in left] == ["0-a.csv", "1-a.csv"]
    monkeypatch.setattr(archiving, "_asides", lambda *_: [tmp_path / "inbox/.taken-gone"])
    archiving.release(inbox, root / "archive", archived, expired=True)


def test_a_file_changed_after_its_claim_is_not_taken(
    root: UPath, inbox: UPath, warehouse: Engine
) -> None:
    drop = dropped(inbox, warehouse)
    (inbox / "a.csv").write_bytes(CONTENT + b"x;2\r\n")
    with pytest.raises(FileChanged):
        archiving.move_to_archive(inbox, root / "archive", drop)
    assert (inbox / "a.csv").read_bytes() == CONTENT + b"x;2\r\n"


def test_a_file_that_is_removed_while_it_is_archived_is_not_named(
    root: UPath, inbox: UPath, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of dropped files may be names of persons."""
    drop = dropped(inbox, warehouse)
    opened = open_to_read

    def removed_before(path: UPath) -> Any:
        path.unlink()
        return opened(path)

    monkeypatch.setattr(archiving, "open_to_read", removed_before)
    with pytest.raises(FileChanged) as changed:
        archiving.move_to_archive(inbox, root / "archive", drop)
    assert "a.csv" not in "".join(traceback.format_exception(changed.value))


def test_a_file_changed_while_it_is_copied_is_not_taken(
    tmp_path: Path, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that has the file open keeps writing after a rename."""
    root, inbox = UPath(tmp_path), UPath(tmp_path / "inbox")
    inbox.mkdir()
    drop = dropped(inbox, warehouse)
    copy = shutil.copyfileobj

    def copied_while_written(*given: Any) -> None:
        copy(*given)
        [lying] = (tmp_path / "inbox").iterdir()
        with lying.open("ab") as stream:
            stream.write(b"x;2\r\n")

    monkeypatch.setattr(shutil, "copyfileobj", copied_while_written)
    with pytest.raises(FileChanged):
        archiving.move_to_archive(inbox, root / "archive", drop)
    assert not list((tmp_path / "archive").rglob("*.csv"))
    assert [path.read_bytes() for path in (tmp_path / "inbox").iterdir()] == [CONTENT + b"x;2\r\n"]
    assert [*discovery.list_files(inbox)] == ["a.csv"]


def test_a_file_missing_after_its_claim_is_reported(
    root: UPath, inbox: UPath, warehouse: Engine
) -> None:
    drop = dropped(inbox, warehouse)
    (inbox / "a.csv").unlink()
    with pytest.raises(FileChanged):
        archiving.move_to_archive(inbox, root / "archive", drop)


def test_two_claimers_on_an_inbox_take_it_once(
    root: UPath, inbox: UPath, warehouse: Engine
) -> None:
    (inbox / "a.csv").write_bytes(CONTENT)

    def work(run: str) -> bytes | None:
        seen = discovery.list_files(inbox).get("a.csv")
        if seen is None:
            return None
        try:
            drop = claim.claim_file(warehouse, "employee", seen, run)
        except Busy:
            return None
        return archiving.move_to_archive(inbox, root / "archive", drop).read_bytes()

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(work, ["run-a", "run-b"]))
    assert found.count(CONTENT) == found.count(None) == 1


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
    tmp_path: Path, warehouse: Engine
) -> None:
    root, died = UPath(tmp_path), 0
    inbox = root / "inbox"
    inbox.mkdir()
    for step in range(20):
        drop = dropped(inbox, warehouse, CONTENT + b"x;%d\r\n" % step)
        with pytest.MonkeyPatch.context() as monkeypatch:
            for _ in crashing(monkeypatch, step):
                try:
                    archiving.move_to_archive(inbox, root / "archive", drop)
                except Crash:
                    died += 1
        kept = archiving.move_to_archive(inbox, root / "archive", drop)
        assert kept.read_bytes() == CONTENT + b"x;%d\r\n" % step
        archived = replace(drop, archive=str(kept))
        archiving.release(inbox, root / "archive", archived, expired=True)
        assert [each.name for each in Path(inbox.path).iterdir()] == []
    assert died >= 4


def test_a_crash_between_copy_and_deletion_on_s3_is_repaired(
    bucket: UPath, warehouse: Engine
) -> None:
    inbox, archive = bucket / "inbox", bucket / "archive"
    drop = dropped(inbox, warehouse)
    (archive / drop.folder / "a.csv").write_bytes(CONTENT)
    assert archiving.move_to_archive(inbox, archive, drop).read_bytes() == CONTENT
    assert discovery.list_files(inbox) == {}


def test_an_archived_file_of_another_run_is_not_overwritten(
    tmp_path: Path, warehouse: Engine
) -> None:
    """Two runs of one drop: the slower run moves a newer file away and restores it."""
    inbox = UPath(tmp_path / "inbox")
    inbox.mkdir()
    drop = dropped(inbox, warehouse)
    (inbox / "a.csv").rename(inbox / f".taken-{drop.id}-0-a.csv")
    (inbox / f".taken-{drop.id}-1-a.csv").write_bytes(CONTENT + b"x;2\r\n")
    assert (
        archiving.move_to_archive(inbox, UPath(tmp_path / "archive"), drop).read_bytes() == CONTENT
    )
    assert [*discovery.list_files(inbox)] == ["a.csv"]
    assert (inbox / "a.csv").read_bytes() == CONTENT + b"x;2\r\n"


def test_an_orphaned_file_is_restored_beside_a_newer_file_of_the_same_name(
    tmp_path: Path, warehouse: Engine
) -> None:
    inbox = UPath(tmp_path)
    drop = dropped(inbox, warehouse)
    (inbox / f".taken-{drop.id}-0-a.csv").write_bytes(b"older\r\n")
    assert [*archiving.orphaned_drops(inbox)] == [drop.id]
    archiving.return_to_inbox(inbox, drop)
    assert (inbox / "a.csv").read_bytes() == CONTENT
    assert (inbox / f"{drop.id}-a.csv").read_bytes() == b"older\r\n"
    assert [*archiving.orphaned_drops(inbox)] == []


def test_an_orphaned_file_of_an_unknown_drop_returns_to_the_inbox(tmp_path: Path) -> None:
    here = tmp_path
    for unique, name in (("ab", "a.csv"), ("cd", "a.csv"), ("ef", "ma paie-mai.csv")):
        (here / f"{archiving.TAKEN}9-{unique}-{name}").write_bytes(unique.encode())
    (here / f"{archiving.TAKEN}99-ab-b.csv").touch()
    (here / f"{archiving.TAKEN}{2**64}-ab-c.csv").touch()
    assert {*archiving.orphaned_drops(UPath(here))} == {9, 99}
    archiving.return_unknown(UPath(here), 9)
    lying = {each.name: each.read_bytes() for each in here.iterdir()}
    assert lying == {
        "a.csv": b"ab",
        "9-a.csv": b"cd",
        "ma paie-mai.csv": b"ef",
        f"{archiving.TAKEN}99-ab-b.csv": b"",
        f"{archiving.TAKEN}{2**64}-ab-c.csv": b"",
    }


def test_without_hard_links_files_return_and_uploads_arrive(
    tmp_path: Path, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share may have none, and Linux permits none to another user's file that is only readable."""

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    inbox = UPath(tmp_path)
    drop = dropped(inbox, warehouse)
    monkeypatch.setattr(os, "link", refused)
    (tmp_path / f"{archiving.TAKEN}{drop.id}-0-a.csv").write_bytes(b"older\r\n")
    (tmp_path / f"{archiving.TAKEN}9-0-b.csv").write_bytes(b"unknown\r\n")
    archiving.return_to_inbox(inbox, drop)
    archiving.return_unknown(inbox, 9)
    added = [uploads.add(inbox, "a.csv", b"uploaded", lambda _: None).path for _ in range(2)]
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {
        "a.csv": CONTENT,
        f"{drop.id}-a.csv": b"older\r\n",
        "b.csv": b"unknown\r\n",
        **dict.fromkeys(added, b"uploaded"),
    }
