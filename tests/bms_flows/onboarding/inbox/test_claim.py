"""Claims of files: exclusive until the lease expires."""

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from upath import UPath

from bms_flows.onboarding.inbox import claim, closing, discovery, unclaimed, uploads
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.inbox.templates import InboxGone
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime import step_log, storage
from bms_flows.runtime.context import FlowContext
from bms_warehouse import database
from bms_warehouse.errors import WarehouseError
from bms_warehouse.locks import Busy, LeaseLost
from tests.support.sql import execute, fetch, scalars

SEEN = FoundFile("a.csv", 120, "1700000000000000000")


PRESENT = {
    "created": 2, "adopted": 1, "already_there": 1, "rejected": 0, "needs_review": 0, "waiting": 0,
}  # fmt: skip


def finish(warehouse: Engine, taken: Drop, ending: claim.Ending = "applied", **kept: Any) -> None:
    with warehouse.begin() as connection:
        closing.finish(connection, taken, ending, **kept)


def test_another_size_time_name_or_resource_is_another_drop(warehouse: Engine) -> None:
    others = [
        ("employee", SEEN),
        ("employee", replace(SEEN, size=121)),
        ("employee", replace(SEEN, stamp="1")),
        ("employee", replace(SEEN, path="b.csv")),
        ("contact", SEEN),
    ]
    numbers = {claim.claim_file(warehouse, *other).id for other in others}
    assert len(numbers) == len(others)


def race(warehouse: Engine, runs: Sequence[str | None], seen: FoundFile) -> list[Drop | None]:
    barrier = Barrier(len(runs))

    def take(run: str | None) -> Drop | None:
        barrier.wait()
        try:
            return claim.claim_file(warehouse, "employee", seen, run)
        except Busy:
            return None

    with ThreadPoolExecutor(len(runs)) as threads:
        return list(threads.map(take, runs))


def test_one_of_two_concurrent_runs_claims_a_file(warehouse: Engine) -> None:
    for number in range(25):
        found = race(warehouse, [f"a{number}", f"b{number}"], replace(SEEN, stamp=str(number)))
        assert sum(each is not None for each in found) == 1


def test_two_concurrent_dispatchers_start_the_same_run(warehouse: Engine) -> None:
    for number in range(25):
        found = race(warehouse, [None, None], replace(SEEN, stamp=str(number)))
        assert len({each.dag_run_id for each in found if each}) == 1


def test_a_file_that_another_dispatcher_frees_at_that_moment_is_claimed(
    warehouse: Engine, warehouse_uri: str
) -> None:
    ended = claim.claim_file(warehouse, "employee", SEEN, "run-a")
    finish(warehouse, ended)
    engine = database.connect(warehouse_uri)

    @event.listens_for(engine, "after_cursor_execute", once=True)
    def free(*_: object) -> None:
        with warehouse.begin() as connection:
            connection.execute(text("set local lock_timeout = '100ms'"))
            with suppress(WarehouseError):
                claim.free(connection, "employee", SEEN)

    assert claim.claim_file(engine, "employee", SEEN, "run-b").id == ended.id
    engine.dispose()


def test_the_same_content_again_finds_the_earlier_report(warehouse: Engine) -> None:
    first = claim.claim_file(warehouse, "employee", SEEN)
    assert closing.record_content(warehouse, first, sha256="ab", archive="x") is None
    finish(warehouse, first, report="r", counts=PRESENT)
    second = claim.claim_file(warehouse, "employee", replace(SEEN, path="b.csv"))
    earlier = closing.record_content(warehouse, second, sha256="ab", archive="y")
    assert earlier is not None
    assert (earlier.id, earlier.report) == (first.id, "r")
    third = claim.claim_file(warehouse, "contact", SEEN)
    assert closing.record_content(warehouse, third, sha256="ab", archive="z") is None


@pytest.mark.parametrize(
    ("ending", "counted"),
    [
        ("not_applied", PRESENT),
        ("applied", None),
        ("applied", dict.fromkeys(PRESENT, 0)),
        ("applied", PRESENT | {"rejected": 1}),
        ("applied", PRESENT | {"needs_review": 1}),
    ],
    ids=str,
)
def test_content_with_missing_records_is_processed_again(
    warehouse: Engine, ending: claim.Ending, counted: dict[str, int] | None
) -> None:
    first = claim.claim_file(warehouse, "employee", SEEN)
    closing.record_content(warehouse, first, sha256="ab", archive="x")
    finish(warehouse, first, ending, counts=counted)
    second = claim.claim_file(warehouse, "employee", replace(SEEN, path="b.csv"))
    assert closing.record_content(warehouse, second, sha256="ab", archive="y") is None


def test_two_dispatchers_reopen_a_file_once(warehouse: Engine) -> None:
    first = claim.claim_file(warehouse, "employee", SEEN)
    finish(warehouse, first)
    ended = claim.get(warehouse, first.id)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: claim.claim_again(warehouse, ended), range(2)))
    assert len({each.id for each in found}) == 1


def test_a_finished_drop_claimed_again_without_changes_stays_finished(warehouse: Engine) -> None:
    taken = claim.claim_file(warehouse, "employee", SEEN)
    finish(warehouse, taken, report="r", counts=PRESENT)
    before = claim.get(warehouse, taken.id)
    held = claim.reopen(warehouse, taken.id, "manual__1")
    closing.withdraw(warehouse, held, "archive_expired")
    after = claim.get(warehouse, taken.id)
    assert after == replace(before, dag_run_id="manual__1", expires_at=after.expires_at)
    with pytest.raises(LeaseLost):
        closing.restore_ending(warehouse, held)
    with pytest.raises(LeaseLost):
        finish(warehouse, held)


def test_an_unfinished_drop_stays_open_or_is_withdrawn(warehouse: Engine) -> None:
    taken = claim.claim_file(warehouse, "employee", SEEN)
    closing.restore_ending(warehouse, taken)
    assert claim.get(warehouse, taken.id) == taken
    closing.withdraw(warehouse, taken, "removed")
    ended = fetch(warehouse, "select state, reason from bms.dropped_file")
    assert ended == [("withdrawn", "removed")]
    assert claim.reopen(warehouse, taken.id, "manual__1").ended_before is None


@pytest.mark.parametrize("commits", range(4))
def test_a_kill_of_a_submission_loses_no_submitter(
    warehouse: Engine, tmp_path: Path, commits: int
) -> None:
    """Otherwise a rule of another approver would let the submitter approve."""
    root, settings, done = UPath(tmp_path), OnboardingSettings(drop_settle_s=0), list[object]()
    upload = uploads.begin(root, "employees", "a.csv", "marie")
    storage.save_private(upload.target, b"a;b\n")
    inbox = Inbox(FlowContext(warehouse, root, settings), "employee", settings)

    def kill(connection: object) -> None:
        done.append(connection)
        if len(done) > commits:
            raise KeyboardInterrupt

    event.listen(warehouse, "commit", kill)
    with suppress(KeyboardInterrupt):
        inbox.submit(upload)
    event.remove(warehouse, "commit", kill)
    inbox.dispatch(step_log.Step("inbox_dispatch", "r", "take_employee"))
    submitters = scalars(warehouse, "select submitted_by from bms.dropped_file")
    assert submitters == ["marie"] * bool(commits)  # without a commit there is no file


def test_a_file_that_a_failed_run_left_and_one_that_waits_for_an_equal_file_are_explained(
    root: UPath, inbox: UPath, warehouse: Engine
) -> None:
    """An approval may take days, and copies keep the time of the original."""
    settings, step = OnboardingSettings(drop_settle_s=0), step_log.Step("inbox_dispatch", "r", "t")
    own = Inbox(FlowContext(warehouse, root, settings), "employee", settings)
    (inbox / "a.csv").write_bytes(b"a;b\n")
    own.dispatch(step)
    drop = claim.get(warehouse, 1)
    assert not (inbox / unclaimed.NAME).exists()
    execute(warehouse, "update bms.dropped_file set expires_at = now(), started_at = now()")
    own.tidy()
    assert "n'a pas commencé" in (inbox / unclaimed.NAME).read_text("utf-8-sig")
    closing.record_content(warehouse, drop, sha256="a", archive=own.archive(drop).path)
    own.dispatch(step)
    assert not (inbox / unclaimed.NAME).exists()
    (inbox / "a.csv").write_bytes(b"a;b\n")
    if here := discovery.local(inbox / "a.csv"):
        os.utime(here, ns=(int(drop.stamp), int(drop.stamp)))
    for check in (partial(own.dispatch, step), own.tidy):
        check()
        assert "- a.csv (dépôt 1)" in (inbox / unclaimed.NAME).read_text("utf-8-sig")
    finish(warehouse, drop)
    own.dispatch(step)
    assert not (inbox / unclaimed.NAME).exists()


def test_an_inbox_that_is_gone_after_drops_is_an_error_and_not_made_again(
    tmp_path: Path, warehouse: Engine
) -> None:
    """Its volume is not mounted: a new folder would stay empty, and nobody would be told."""
    own = Inbox(
        FlowContext(warehouse, UPath(tmp_path), OnboardingSettings()),
        "employee",
        OnboardingSettings(),
    )
    own.provide()
    (tmp_path / "inbox/employees/a.csv").write_bytes(b"a;b\n")
    drop = own.claim(discovery.list_files(own.folder)["a.csv"])
    closing.record_content(warehouse, drop, sha256="a", archive=own.archive(drop).path)
    shutil.rmtree(tmp_path / "inbox")
    for step in (own.provide, partial(own.dispatch, step_log.Step("inbox_dispatch", "r", "t"))):
        with pytest.raises(InboxGone, match=f"although drop {drop.id} .* BMS_DATA_ROOT mounted"):
            step()
    assert not (tmp_path / "inbox").exists()
