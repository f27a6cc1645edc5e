"""The notice about skipped files in an inbox, on a disk and on S3."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from upath import UPath

from bms_flows.onboarding.inbox import discovery, templates, unclaimed
from bms_flows.onboarding.inbox.unclaimed import NAME, SkippedFile, UnfinishedFile
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.texts import WAITING

NOW = datetime(2026, 3, 31, 8, 0, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")
OURS = templates.names(EMPLOYEE)
PAGE = "https://airflow.example.com/bms/flows/employee_onboarding"


def found(inbox: UPath, now: datetime | None = None) -> dict[str, str]:
    now = now or datetime.now(UTC)
    return {each.name: each.code for each in unclaimed.ignored_entries(inbox, OURS, now)}


def published(inbox: UPath, untaken: Sequence[SkippedFile]) -> str:
    unclaimed.publish(inbox, untaken, PARIS, 10)
    return (inbox / NAME).read_bytes().decode("utf-8-sig") if (inbox / NAME).exists() else ""


def test_folders_and_reserved_names_are_explained(inbox: UPath) -> None:
    templates.provide(inbox, EMPLOYEE, page=PAGE)
    (inbox / "mars").mkdir(exist_ok=True)
    (inbox / "mars" / "a.csv").write_bytes(b"x")
    for name in ("_liste.csv", "a.csv", ".DS_Store", "~$a.xlsx"):
        (inbox / name).write_bytes(b"Nom\nA\n")
    assert found(inbox) == {"mars": "folder", "_liste.csv": "reserved_name"}


def test_links_and_pipes_are_explained(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "b.csv")
    assert found(UPath(tmp_path)) == {"a.csv": "not_a_file", "b.csv": "not_a_file"}


def test_a_temporary_name_is_explained_once_the_copy_must_have_ended(tmp_path: Path) -> None:
    (tmp_path / "a.csv.part").touch()
    (tmp_path / "cedd4100").touch()
    (tmp_path / "_LISEZMOI.txt.0123.part").touch()
    now = datetime.now(UTC)
    assert found(UPath(tmp_path), now) == {}
    assert found(UPath(tmp_path), now + timedelta(hours=2)) == {
        "a.csv.part": "temporary_name",
        "cedd4100": "temporary_name",
    }


def test_waiting_files_that_are_still_written_are_explained_later() -> None:
    def explained(minutes: int) -> list[str]:
        since = NOW - timedelta(minutes=minutes)
        waits = [
            UnfinishedFile(number, f"{reason}.csv", reason, since, since)  # type: ignore[arg-type]
            for number, reason in enumerate(WAITING, start=1)
        ]
        return [each.code for each in unclaimed.waiting_files(waits, NOW)]

    assert explained(0) == ["open_in_editor", "incomplete", "unreadable", "bad_name"]
    assert explained(5) == [*WAITING]


def test_the_notice_states_problem_reason_and_remedy_and_ends_with_the_last_file(
    inbox: UPath,
) -> None:
    untaken = [
        SkippedFile("Dupré.csv", "incomplete", NOW, 12),
        SkippedFile("mars", "folder"),
        SkippedFile("a\nb\u202e.csv", "reserved_name"),
    ]
    text = published(inbox, untaken)
    assert "- Dupré.csv (depuis le 31/03/2026 10:00, dépôt 12)\r\n  Pourquoi\xa0: La fin" in text
    assert "après 10 minutes sans changement" in text
    assert "- mars\r\n  Pourquoi\xa0: C'est un dossier" in text
    assert "- a\ufffdb\ufffd.csv\r\n" in text
    assert discovery.list_files(inbox) == {}, "the notice itself is no drop"
    assert found(inbox) == {}
    assert published(inbox, untaken[:1]) != text
    assert published(inbox, []) == ""


def test_a_notice_of_many_files_is_bounded(tmp_path: Path) -> None:
    text = published(UPath(tmp_path), [SkippedFile(f"{n}.csv", "folder") for n in range(5000)])
    assert text.count("Pourquoi") == unclaimed.MOST
    assert "… et 4800 autres." in text


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_foreign_file_in_place_of_the_notice_is_harmless(tmp_path: Path, kind: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"x")
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    if kind == "link":
        (inbox / NAME).symlink_to(victim)
    else:
        (inbox / NAME).mkdir()
    unclaimed.publish(UPath(inbox), [SkippedFile("mars", "folder")], PARIS, 10)
    unclaimed.publish(UPath(inbox), [], PARIS, 10)
    assert victim.read_bytes() == b"x"
