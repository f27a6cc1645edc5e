"""Whole rows that claims of files write, and the limits of their leases."""

import time
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.claim import LIFE, Drop, NoSuchDrop
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_provider import policy
from bms_warehouse.locks import Busy, LeaseLost
from bms_warehouse.tables import dropped_file

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MOMENT = timedelta(microseconds=1)
SEEN = FoundFile("a.csv", 120, "17")
ROW = {
    "resource": "employee",
    "path": "a.csv",
    "size": 120,
    "stamp": "17",
    "state": "open",
    "waits_for": "unchanged",
    "unchanged_since": NOW - 2 * HOUR,
    "reason": "removed",
    "ended_before": "repeated",
    "dag_run_id": "run-a",
    "expires_at": NOW + MOMENT,
    "sha256": "ab",
    "same_as": 1,
    "archive": None,
    "report": "reports/1",
    "counts": {"created": 1},
    "entered_at": NOW - 3 * HOUR,
    "started_at": NOW - HOUR,
    "finished_at": NOW - HOUR,
    "submitted_by": "7",
}
"""A row with a value in every column."""
HELD = {"dag_run_id": "run-b", "expires_at": NOW + LIFE}
OPENED = {"state": "open", "same_as": None, "waits_for": None, "reason": None}


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock."""
    monkeypatch.setattr(claim, "clock", lambda _: NOW)


def enter(warehouse: Engine, **changed: Any) -> int:
    """Enter a row."""
    with warehouse.begin() as connection:
        entered = connection.execute(
            insert(dropped_file).values(ROW | changed).returning(dropped_file.c.id)
        )
        return int(entered.scalar_one())


def rows(warehouse: Engine) -> list[dict[str, Any]]:
    """Return all rows, without their numbers."""
    with warehouse.connect() as connection:
        found = connection.execute(select(dropped_file).order_by(dropped_file.c.id)).mappings()
        return [{name: row[name] for name in ROW} for row in found]


def drop(number: int, row: dict[str, Any]) -> Drop:
    """Return a row as a drop."""
    return Drop(id=number, **{each.name: row[each.name] for each in fields(Drop)[1:]})


def test_a_new_claim_has_a_lease_and_no_results(warehouse: Engine) -> None:
    expected = {
        **dict.fromkeys(ROW),
        **{name: ROW[name] for name in ("resource", "path", "size", "stamp", "state")},
        "dag_run_id": "employee-drop-1-20260301T120000",
        "expires_at": NOW + LIFE,
        "entered_at": NOW,
    }
    assert claim.claim_file(warehouse, "employee", SEEN) == drop(1, expected)
    assert claim.claim_file(warehouse, "contact", SEEN, "run-b") == drop(
        2, expected | {"resource": "contact", "dag_run_id": "run-b"}
    )
    assert rows(warehouse) == [expected, expected | {"resource": "contact", "dag_run_id": "run-b"}]


@pytest.mark.parametrize(
    ("row", "changed"),
    [
        ({"state": "waiting"}, {"state": "open", "waits_for": None, **HELD}),
        ({"expires_at": NOW}, {"started_at": None, **HELD}),
        ({"dag_run_id": "run-b"}, {}),
        ({"state": "applied"}, {}),
        ({"state": "withdrawn", "archive": "x", "expires_at": NOW}, {}),
    ],
    ids=str,
)
def test_a_file_is_claimed_once_it_waits_or_its_lease_has_expired(
    warehouse: Engine, row: dict[str, Any], changed: dict[str, Any]
) -> None:
    number = enter(warehouse, **row)
    expected = ROW | row | changed
    assert claim.claim_file(warehouse, "employee", SEEN, "run-b") == drop(number, expected)
    assert rows(warehouse) == [expected]


@pytest.mark.parametrize("row", [{}, {"archive": "x", "expires_at": NOW - HOUR}], ids=str)
def test_another_run_gets_no_file_of_a_live_or_archived_drop(
    warehouse: Engine, row: dict[str, Any]
) -> None:
    number = enter(warehouse, **row)
    with pytest.raises(Busy, match=f"^drop {number} is held by run run-a$"):
        claim.claim_file(warehouse, "employee", SEEN, "run-b")
    assert rows(warehouse) == [ROW | row]


def test_a_waiting_file_gets_the_run_of_its_number_and_entry(warehouse: Engine) -> None:
    number = enter(warehouse, state="waiting")
    taken = claim.claim_file(warehouse, "employee", SEEN)
    assert taken.dag_run_id == f"employee-drop-{number}-20260301T090000"


def test_a_file_dropped_again_leaves_the_old_row_and_others_alone(warehouse: Engine) -> None:
    ended = enter(warehouse, state="repeated")
    other = enter(warehouse, path="b.csv", state="applied", dag_run_id="run-c")
    old = claim.get(warehouse, ended)
    again = claim.claim_again(warehouse, old, "run-b")
    assert (again.id, again.seen, again.dag_run_id) == (other + 1, SEEN, "run-b")
    first, second, third = rows(warehouse)
    assert first == ROW | {"state": "repeated", "stamp": f"17 of drop {ended}"}
    assert second == ROW | {"path": "b.csv", "state": "applied", "dag_run_id": "run-c"}
    assert (third["stamp"], third["state"], third["report"]) == ("17", "open", None)


def test_a_drop_that_has_not_ended_stays_the_drop_of_its_file(warehouse: Engine) -> None:
    number = enter(warehouse, dag_run_id="employee-drop-1-20260301T090000")
    taken = claim.get(warehouse, number)
    assert claim.claim_again(warehouse, taken) == taken
    assert [row["stamp"] for row in rows(warehouse)] == ["17"]


@pytest.mark.parametrize(
    ("row", "ended_before"),
    [
        ({"state": "applied"}, "applied"),
        ({"state": "not_applied", "ended_before": None}, "not_applied"),
        ({"state": "withdrawn"}, "repeated"),
        ({"state": "withdrawn", "ended_before": None}, None),
        ({"expires_at": NOW}, "repeated"),
        ({"dag_run_id": "run-b"}, "repeated"),
        ({"state": "waiting"}, "repeated"),
    ],
    ids=str,
)
def test_a_reopened_drop_remembers_its_ending(
    warehouse: Engine, row: dict[str, Any], ended_before: str | None
) -> None:
    number = enter(warehouse, **row)
    other = {"path": "b.csv", "dag_run_id": "run-c"}
    enter(warehouse, **other)
    expected = ROW | row | HELD | OPENED | {"ended_before": ended_before}
    assert claim.reopen(warehouse, number, "run-b") == drop(number, expected)
    assert rows(warehouse) == [expected, ROW | other]


def test_a_drop_that_another_run_holds_is_not_reopened(warehouse: Engine) -> None:
    number = enter(warehouse)
    with pytest.raises(Busy, match=f"^drop {number} is held by run run-a$") as held:
        claim.reopen(warehouse, number, "run-b")
    assert rows(warehouse) == [ROW]
    # A run that continues a drop outlasts the claim of a killed run.
    assert held.value.retry_for_hours
    assert policy.OUTAGE_RETRIES * held.value.retry_after > claim.LIFE.total_seconds()


def test_a_drop_is_found_by_its_number_or_its_run(warehouse: Engine) -> None:
    number = enter(warehouse)
    enter(warehouse, resource="contact")
    expected = drop(number, ROW)
    assert claim.get(warehouse, number) == expected
    assert claim.drop_of_run(warehouse, "employee", "run-a") == expected
    assert claim.drop_of_run(warehouse, "employee", "run-b") is None
    with pytest.raises(NoSuchDrop, match=r"^there is no drop 9: .* drop the file again"):
        claim.get(warehouse, 9)


def test_open_drops_of_a_resource_with_their_own_run_are_unstarted(
    warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest come first; a dispatch starts as many as Airflow expands."""
    others: tuple[dict[str, Any], ...] = (
        {},
        {"resource": "contact"},
        {"state": "waiting"},
        {"started_at": NOW},
        {},
        {},
    )
    for number, row in enumerate(others, start=1):
        enter(
            warehouse,
            **{"path": f"{9 - number}.csv", "sha256": f"{9 - number}", "started_at": None} | row,
            dag_run_id=f"employee-drop-{number}-20260301T090000",
        )
    with warehouse.begin() as connection:
        claim.renew(connection, claim.get(warehouse, 1))  # moves its row behind the others
    assert [each.id for each in claim.unstarted(warehouse, "employee")] == [1, 5, 6]
    assert claim.AT_ONCE < 1024
    monkeypatch.setattr(claim, "AT_ONCE", 2)
    assert [each.id for each in claim.unstarted(warehouse, "employee")] == [1, 5]


def test_a_run_has_the_same_name_in_every_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    paris = timezone(HOUR)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert claim.dag_run_id_of("contact", 7, NOW.astimezone(paris)) == (
            "contact-drop-7-20260301T120000"
        )
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_first_start_of_a_drop_is_recorded(warehouse: Engine) -> None:
    started = enter(warehouse)
    number = enter(warehouse, path="b.csv", dag_run_id="run-b", started_at=None)
    enter(warehouse, path="c.csv", dag_run_id="run-c", started_at=None)
    for each in (started, number):
        claim.mark_started(warehouse, each)
    assert [row["started_at"] for row in rows(warehouse)] == [NOW - HOUR, NOW, None]


def test_a_renewal_changes_the_end_of_its_lease_only(warehouse: Engine) -> None:
    number = enter(warehouse)
    held = claim.get(warehouse, number)
    other = {"resource": "contact"}  # two manual runs of different DAGs may have the same id
    enter(warehouse, **other)
    with warehouse.begin() as connection:
        claim.renew(connection, held)
    assert rows(warehouse) == [ROW | {"expires_at": NOW + LIFE}, ROW | other]


@pytest.mark.parametrize("row", [{"state": "applied"}, {"dag_run_id": "run-b"}], ids=str)
def test_an_ended_or_lost_drop_is_not_renewed(warehouse: Engine, row: dict[str, Any]) -> None:
    number = enter(warehouse, **row)
    held = replace(claim.get(warehouse, number), dag_run_id="run-a", state="open")
    with (
        warehouse.begin() as connection,
        pytest.raises(LeaseLost, match=f"^drop {number} was taken over or ended by another run$"),
    ):
        claim.renew(connection, held)
    assert rows(warehouse) == [ROW | row]
