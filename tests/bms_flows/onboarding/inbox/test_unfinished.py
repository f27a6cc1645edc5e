"""Incomplete files: one waiting drop per file until the file is claimed, removed or reported."""

import errno
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms_flows.onboarding.inbox import claim, discovery, unclaimed
from bms_flows.onboarding.inbox.discovery import WaitReason
from bms_flows.onboarding.inbox.unclaimed import UnfinishedFile
from bms_flows.texts import WAITING
from tests.support.sql import fetch

ROW = "Matricule;Nom\r\n001;Dupré\r\n".encode()


def look_twice(folder: UPath, warehouse: Engine) -> list[UnfinishedFile]:
    """Take what is settled, as the dispatcher does."""
    before = discovery.list_files(folder)
    lying = discovery.list_files(folder)
    looked = discovery.compare_scans(folder, before.values(), lying.values())
    for seen in looked.settled:
        claim.claim_file(warehouse, "employee", seen)
    return list(unclaimed.save(warehouse, "employee", lying.values(), looked.waiting))


def unfinished(inbox: UPath, warehouse: Engine) -> list[UnfinishedFile]:
    """Drop a file without its last line end; return what waits."""
    (inbox / "a.csv").write_bytes(ROW.rstrip())
    return look_twice(inbox, warehouse)


def states(warehouse: Engine) -> list[tuple[str, str | None]]:
    query = "select state, coalesce(waits_for, reason) from bms.dropped_file order by id"
    return [tuple(row) for row in fetch(warehouse, query)]


def test_a_file_without_a_last_line_end_waits(inbox: UPath, warehouse: Engine) -> None:
    [waits] = unfinished(inbox, warehouse)
    assert waits.reason == "incomplete"
    assert states(warehouse) == [("waiting", "incomplete")]
    assert look_twice(inbox, warehouse) == [waits]  # since when stays


def test_a_file_is_claimed_once_complete(inbox: UPath, warehouse: Engine) -> None:
    unfinished(inbox, warehouse)
    (inbox / "a.csv").write_bytes(ROW)
    assert look_twice(inbox, warehouse) == []
    assert states(warehouse) == [("withdrawn", "changed"), ("open", None)]


def test_a_removed_file_is_forgotten(inbox: UPath, warehouse: Engine) -> None:
    for name in ("a.csv", "b.csv"):
        (inbox / name).write_bytes(ROW.rstrip())
    look_twice(inbox, warehouse)
    (inbox / "a.csv").unlink()
    unclaimed.withdraw_missing(warehouse, "contact", lambda: pytest.fail("nothing of it waits"))
    unclaimed.withdraw_missing(warehouse, "employee", lambda: discovery.list_files(inbox))
    assert states(warehouse) == [("withdrawn", "removed"), ("waiting", "incomplete")]


def test_a_file_restored_unchanged_waits_again(inbox: UPath, warehouse: Engine) -> None:
    unfinished(inbox, warehouse)
    aside = (inbox / "a.csv").rename(inbox / "_a.csv")
    look_twice(inbox, warehouse)
    aside.rename(inbox / "a.csv")
    [waits] = look_twice(inbox, warehouse)
    assert waits.reason == "incomplete"
    assert states(warehouse) == [("withdrawn", "removed"), ("waiting", "incomplete")]


def test_a_user_can_force_the_claim_of_an_unfinished_file(inbox: UPath, warehouse: Engine) -> None:
    [waits] = unfinished(inbox, warehouse)
    claim.reopen(warehouse, waits.drop, "manual__1")
    assert look_twice(inbox, warehouse) == []
    assert states(warehouse) == [("open", None)]


def test_a_file_without_a_last_line_end_counts_as_truncated_once_unchanged(
    inbox: UPath, warehouse: Engine
) -> None:
    minutes = timedelta(minutes=10)
    [waits] = unfinished(inbox, warehouse)
    assert not waits.is_stable(waits.since + timedelta(minutes=9), minutes)
    assert waits.is_stable(waits.since + minutes, minutes)
    (inbox / "a.csv").write_bytes(ROW.rstrip() + b"x")
    [changed] = look_twice(inbox, warehouse)
    assert (changed.drop, changed.since) == (waits.drop, waits.since)
    assert changed.unchanged_since > waits.unchanged_since
    assert list(unclaimed.current(warehouse, "employee")) == [changed]
    assert not replace(changed, reason="being_written").is_stable(
        waits.since + minutes * 2, minutes
    )


def test_a_file_beside_a_forgotten_lock_file_is_taken_once_unchanged(
    tmp_path: Path, warehouse: Engine
) -> None:
    minutes = timedelta(minutes=10)
    (tmp_path / "a.csv").write_bytes(ROW)
    (tmp_path / ".~lock.a.csv#").write_bytes(b"x")
    [waits] = look_twice(UPath(tmp_path), warehouse)
    assert not waits.is_stable(waits.since + timedelta(minutes=9), minutes)
    assert waits.is_stable(waits.since + minutes, minutes)


def test_another_resource_of_the_same_name_is_left_alone(inbox: UPath, warehouse: Engine) -> None:
    unfinished(inbox, warehouse)
    assert unclaimed.save(warehouse, "contact", [], {}) == []
    assert states(warehouse) == [("waiting", "incomplete")]


@pytest.mark.parametrize("reason", WAITING)
def test_a_notice_states_duration_reason_and_remedy(reason: WaitReason) -> None:
    since = datetime(2026, 3, 31, 8, tzinfo=UTC)
    waits = UnfinishedFile(12, "Dupré.csv", reason, since, since)
    assert "Dupré" not in repr(waits)
    assert not waits.long(since + timedelta(minutes=2))
    assert waits.long(now := since + timedelta(minutes=7))
    assert waits.text(now).startswith("drop 12 waits for 7 min. ")
    assert WAITING[reason]["EN"].remedy in waits.text(now)


def test_a_file_that_a_share_refuses_to_open_while_it_is_copied_is_being_written(
    tmp_path: Path, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_bytes(b"Nom\nA\n")
    opened = os.open

    def refused(path: Any, *given: Any, **also: Any) -> int:
        if str(path).endswith("a.csv"):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path))
        return opened(path, *given, **also)

    monkeypatch.setattr(os, "open", refused)
    assert [each.reason for each in look_twice(UPath(tmp_path), warehouse)] == ["being_written"]
