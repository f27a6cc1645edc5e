"""Discovery of dropped files: complete files are claimed; system files and partial files are not."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine
from upath import UPath

from bms_flows.onboarding.inbox import archive, claim, discovery, unclaimed
from bms_flows.onboarding.inbox.discovery import (
    OutsideInbox,
    compare_scans,
    complete,
    inside,
    list_files,
)
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.workbooks import of_rows, saved


def names(inbox: UPath) -> tuple[str, ...]:
    """Return what two looks, one after the other, let be taken."""
    first = list_files(inbox).values()
    return tuple(
        seen.path for seen in compare_scans(inbox, first, list_files(inbox).values()).settled
    )


SYSTEM = (
    *("a.csv.part", "a.tmp", "A.PART", "a.csv.partial", "a.csv~", "~$a.xlsx", ".~lock", ".a.csv"),
    *("_LISEZMOI.txt", "_modele.csv", "Thumbs.db", "desktop.ini", "Cedd4100"),
    *("Sauvegarde de liste.xlk", "liste.xlsx.sb-1a2b3c4d-AbCdEf", "liste.xlsx:Zone.Identifier"),
)


def test_system_files_are_ignored(inbox: UPath) -> None:
    for name in SYSTEM:
        (inbox / name).write_bytes(b"Nom\nA\n")
    assert list_files(inbox) == {}


def test_a_file_unchanged_between_two_checks_is_claimed(inbox: UPath) -> None:
    (inbox / "a.csv").write_bytes(b"Nom\nA\n")
    first = list_files(inbox).values()
    assert compare_scans(inbox, (), first).waiting == {"a.csv": "growing"}
    assert names(inbox) == ("a.csv",)
    (inbox / "a.csv").write_bytes(b"Nom\nA\nB\n")
    later = list_files(inbox).values()
    assert compare_scans(inbox, first, later).waiting == {"a.csv": "growing"}


@pytest.mark.parametrize("lock", ["~$été.xlsx", ".~lock.été.xlsx#"])
def test_a_file_that_a_user_has_open_is_taken_once_it_is_closed(tmp_path: Path, lock: str) -> None:
    """Corrections that are saved a minute later are no second drop."""
    inbox = UPath(tmp_path)
    (inbox / "été.xlsx").write_bytes(b"%PDF")
    (inbox / lock).write_bytes(b"x")
    files = list_files(inbox).values()
    assert compare_scans(inbox, files, files).waiting == {"été.xlsx": "open_in_editor"}
    (inbox / lock).unlink()
    assert names(inbox) == ("été.xlsx",)


def test_an_empty_file_is_not_called_cut_off(inbox: UPath) -> None:
    for name in ("a.csv", "a.xlsx"):
        (inbox / name).write_bytes(b"")
    files = list_files(inbox).values()
    assert compare_scans(inbox, files, files).waiting == {"a.csv": "empty", "a.xlsx": "empty"}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"Nom;Ville\r\nA;B\r\n", True),
        ("a.csv", b"Nom;Ville\r\nA;B\r", False),
        ("a.csv", b"Nom;Ville\rA;B\r", True),
        ("a.csv", b"Nom;Ville\r", False),
        ("a.csv", b'Nom;Ville\r\nA;"B\r\n', False),
        ("a.csv", b'Nom;Ville\r\nA;"B\r\nC"\r\n', True),
        ("a.csv", "Nom\nÉ\n".encode("utf-16"), True),
        ("a.csv", "Nom\nÉ\n".encode("utf-16")[:-1], False),
        ("a.csv", "Nom\nÉ\n".encode("utf-16")[:-2], False),
        ("a.csv", b"", False),
        ("a.csv", b"PK\x03\x04 half a workbook", False),
        ("a.csv", b'Nom;Ville\nA;"B"x\n', True),  # broken, yet all there: the report is to say so
        # Nothing that can't become a workbook is waited for.
        ("a.xlsx", b"", False),
        ("a.xlsx", b"PK", False),
        ("a.xlsx", bytes(4), False),  # space reserved before the copy
        ("a.xlsx", b"\xd0\xcf\x11\xe0", True),  # a workbook with a password
        ("a.xlsx", b"%PDF-1.7", True),
    ],
)
def test_a_complete_file_is_distinguished_from_a_partial_file(
    name: str, content: bytes, expected: bool
) -> None:
    assert complete(content, name) is expected


def test_links_and_folders_are_no_drops(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.csv").write_bytes(b"Nom\nA\n")
    (tmp_path / "in" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "in" / "folder.csv").mkdir()
    assert list_files(UPath(tmp_path / "in")) == {}


@pytest.mark.parametrize(
    "name",
    ["../a.csv", "/etc/passwd", "", ".", "..", "b/../../a.csv", "b/..", "b/a.csv", "s3://other/a.csv",
     "file:///etc/passwd", "a\0b.csv", "\ud800.csv", "x" * 300],
)  # fmt: skip
def test_paths_out_of_the_inbox_are_refused(tmp_path: Path, name: str) -> None:
    for inbox in (UPath(tmp_path), UPath("memory://inbox")):
        with pytest.raises(OutsideInbox):
            inside(inbox, name)


@given(name=st.text())
def test_no_name_leads_out_of_the_inbox(name: str) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "in").mkdir()
        (Path(folder) / "secret.csv").write_bytes(b"Nom\n")
        for inbox in (UPath(folder) / "in", UPath("memory://inbox")):
            try:
                path = inside(inbox, name)
            except OutsideInbox:
                continue
            assert path.path.startswith(f"{inbox.path}/")
            assert ".." not in path.parts
            assert discovery.find_file(inbox, name) is None


ODD_NAMES = (
    ["a\nb.csv", "a'b\"c.csv", "$(reboot);.csv", "C:\\a.csv", "b\\a.csv", "RH: avril.csv", "%2e%2e.csv",
     "<img src=x>.csv", "a?b#c.csv", "\u202efdp.csv", " .csv", "-rf.csv", "É" * 90 + ".csv"]
)  # fmt: skip


def test_a_file_name_with_any_characters_is_accepted_and_archived(
    tmp_path: Path, warehouse: Engine
) -> None:
    inbox = UPath(tmp_path / "in")
    inbox.mkdir()
    for name in ODD_NAMES:
        (inbox / name).write_bytes(b"Nom\nA\n")
        assert names(inbox) == (name,)
        held = claim.claim_file(warehouse, "employee", list_files(inbox)[name])
        kept = archive.move_to_archive(inbox, UPath(tmp_path / "archive"), held)
        assert kept.read_bytes() == b"Nom\nA\n"
        assert kept.parent == UPath(tmp_path / "archive" / held.folder)
        assert list_files(inbox) == {}


@pytest.mark.parametrize("name", [b"R\xe9sum\xe9.csv", b"x" * 230 + b".csv"])
def test_a_file_name_that_cannot_be_archived_is_reported_and_delays_no_other(
    tmp_path: Path, warehouse: Engine, name: bytes
) -> None:
    """A share that writes Latin-1 must not keep the other files from being taken."""
    inbox = UPath(tmp_path)
    (tmp_path / os.fsdecode(name)).write_bytes(b"Nom\nA\n")
    (tmp_path / "good.csv").write_bytes(b"Nom\nA\n")
    first, second = list_files(inbox), list_files(inbox)
    found = compare_scans(inbox, first.values(), second.values())
    assert [seen.path for seen in found.settled] == ["good.csv"]
    assert [*found.waiting.values()] == ["bad_name"]
    [told] = unclaimed.save(warehouse, "employee", second.values(), found.waiting)
    assert told.reason == "bad_name"


def test_only_the_head_of_an_oversized_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as stream:
        stream.truncate(1 << 34)  # 16 GB, none of it on the disk
    content = discovery.head(UPath(path))
    assert len(content) == Limits().bytes + 1
    assert [fault.code for fault in read(content, path.name, EMPLOYEE).faults] == ["too_big"]
    assert names(UPath(tmp_path)) == ("a.csv",)


def test_a_file_removed_between_two_checks_delays_no_other(inbox: UPath) -> None:
    for name in ("a.csv", "b.csv"):
        (inbox / name).write_bytes(b"Nom\nA\n")
    first, second = list_files(inbox), list_files(inbox)
    (inbox / "a.csv").unlink()
    found = compare_scans(inbox, first.values(), second.values())
    assert [seen.path for seen in found.settled] == ["b.csv"]
    assert found.waiting == {"a.csv": "growing"}


def test_the_check_for_writers_ignores_readers_of_the_file(tmp_path: Path) -> None:
    path, done = tmp_path / "a.csv", Event()
    path.write_bytes(b"Nom\nA\n")

    def opening() -> None:
        while not done.is_set():
            path.open("ab").close()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(opening)
        for _ in range(3_000):
            discovery.being_written(UPath(path))
        done.set()
    assert not discovery.being_written(UPath(path))
    assert not discovery.being_written(UPath(path))


TRIES = 300


@cache
def workbook(rows: int) -> bytes:
    return saved(of_rows([number, "Noël", 1] for number in range(rows)))


def drops(random: Random) -> tuple[str, bytes, set[int]]:
    """Return a file of random rows, some with line breaks in their cells, and where its rows end."""
    kind = random.choice(("utf-8", "cp1252", "utf-16", "xlsx"))
    if kind == "xlsx":
        return "a.xlsx", workbook(random.randint(1, 5)), set()
    end = random.choice(("\r\n", "\n"))
    text, ends = f"Matricule;Nom;Entité{end}", set()
    for _ in range(random.randint(1, 12)):
        ends.add(len(text.encode(kind)))
        name = random.choice(("Noël", f'"A;{end}B{end}"', "x"))
        text += f"{random.randrange(10**6):06d};{name};1{end}"
    return "a.csv", text.encode(kind), ends


def cuts(random: Random, content: bytes) -> list[int]:
    """Return where a writer pauses: anywhere, and rather after a line's end than elsewhere."""
    lines = [place + 1 for place, byte in enumerate(content[:-1]) if byte in b"\n\r\0"]
    anywhere = random.sample(range(len(content)), min(len(content), 3))
    return sorted({*anywhere, *random.sample(lines, min(len(lines), 3))})


def test_a_writer_that_holds_its_file_and_pauses_anywhere_for_any_time_is_waited_for(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """Real files on a disk: the pauses last over as many looks as one likes, between rows too."""
    random, inbox, partial, paused = Random(4), UPath(tmp_path), 0, 0
    for _ in range(TRIES):
        name, content, _ = drops(random)
        handle = os.open(tmp_path / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        at = 0
        for cut in cuts(random, content):
            os.write(handle, content[at:cut])
            at = cut
            partial += len(names(inbox))
            paused += 1
        os.write(handle, content[at:])
        os.close(handle)
        assert names(inbox) == (name,)
        assert (tmp_path / name).read_bytes() == content
        (tmp_path / name).unlink()
    figure(f"pausing writer, file held open: {TRIES} files, {paused} pauses, {partial} taken half")
    assert partial == 0


def test_a_writer_that_reopens_its_file_is_waited_for(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """Where writers cannot be detected, pauses between two rows are shorter than the interval between checks."""
    random, inbox, partial, paused = Random(5), UPath(tmp_path), 0, 0
    for _ in range(TRIES):
        name, content, ends = drops(random)
        at, before = 0, list_files(inbox)
        for cut in cuts(random, content):
            with (tmp_path / name).open("ab") as stream:
                stream.write(content[at:cut])
            at, now = cut, list_files(inbox)
            partial += len(compare_scans(inbox, before.values(), now.values()).settled)
            if cut not in ends:
                partial += len(
                    compare_scans(inbox, now.values(), list_files(inbox).values()).settled
                )
            before, paused = now, paused + 1
        with (tmp_path / name).open("ab") as stream:
            stream.write(content[at:])
        assert names(inbox) == (name,)
        (tmp_path / name).unlink()
    figure(f"pausing writer, file reopened: {TRIES} files, {paused} pauses, {partial} taken half")
    assert partial == 0
