"""What proves that a record is absent, and which rows are sent later as witnesses."""

from datetime import UTC, datetime, timedelta

import pytest

from bms_flows.onboarding.ledger.entry import BootTime, Entry
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.snapshot import ServiceLists, listed
from bms_flows.onboarding.sending.absence import (
    lacks_most,
    learned_offset,
    next_rows,
    proves_absence,
    sample,
    up_to_date_until,
)

BOOTED = datetime(2026, 3, 16, 8, tzinfo=UTC)
IN_FLIGHT = timedelta(seconds=60)
NOW = BootTime("boot", 1000.0)
NEVER = float("-inf")


def sent(at: float, boot: str = "boot") -> Entry:
    """Return a row whose attempt began `at` seconds after the boot."""
    began = BOOTED + timedelta(seconds=at)
    return Entry(
        id=1, key="k", digest="", max_attempts=5, boot_id=boot, intended_at=began,
        in_flight_until=began + IN_FLIGHT, in_flight_until_s=at + 60,
    )  # fmt: skip


def shown(at: float, hours: float = 0, form: str = "%Y-%m-%dT%H:%M:%S") -> str:
    """Return the `created_on` of a record that the service made `at` seconds after the boot, in another zone."""
    return (BOOTED + timedelta(seconds=at, hours=hours)).strftime(form)


@pytest.mark.parametrize(
    ("own", "earliest"),
    [
        ([(100, shown(110, hours=2)), (200, shown(260, hours=2))], 300 - 60 - 1),
        (
            [(100, shown(105)), (200, shown(266))],
            300 - 66 - 1,
        ),  # 61 s apart, as an attempt may last
        ([(100, shown(105)), (200, shown(267))], None),
        ([(100, shown(101)), (200, None), (300, "soon"), (400, "2026-03-16")], 300 - 1 - 1),
        ([(100, "2026-03-16T08:02Z"), (200, "2026-03-16T08:04Z")], 300 - 40 - 60),  # whole minutes
        ([(100, "2026-03-16T08:02Z"), (200, "2026-03-16T08:05Z")], 300 - 100 - 60),
        ([(100, "2026-03-16T08:02Z"), (200, "2026-03-16T08:06Z")], None),
        ([(880, "2026-03-16T08:15Z")], None),  # may be a midnight
        ([(100, "2026-03-16T08:01:40Z"), (200, "2026-03-16T08:15Z")], None),
        ([(100, "2026-03-16T08:01:40Z"), (150, "2026-03-16T08:03Z")], 300 - 30 - 1),
        ([(100, None)], None),
        ([], None),
    ],
)
def test_the_zone_of_created_on_is_learned_from_own_creates(
    own: list[tuple[float, str | None]], earliest: float | None
) -> None:
    """Given when attempts began and what the list shows; asked for a record of second 300."""
    offset = learned_offset([(sent(at), each) for at, each in own], IN_FLIGHT)
    hours = 2 if own and shown(110, hours=2) == own[0][1] else 0
    found = None if offset is None else offset.earliest(shown(300, hours))
    assert found == earliest
    assert offset is None or offset.earliest(None) == NEVER


def test_an_attempt_of_unknown_time_teaches_nothing() -> None:
    unknown = Entry(id=1, key="k", digest="", max_attempts=5)
    assert learned_offset([(unknown, shown(100))], IN_FLIGHT) is None
    offset = learned_offset([(unknown, shown(500)), (sent(100), shown(100))], IN_FLIGHT)
    assert offset is not None
    assert offset.earliest(shown(300)) == 299


def lists(**created: dict[str, str | None]) -> ServiceLists:
    """Return lists by name, with the `created_on` of each record."""
    records = {
        each: ServiceRecord(each, created_on=on)
        for rows in created.values()
        for each, on in rows.items()
    }
    snapshots = {name: listed(records[each] for each in rows) for name, rows in created.items()}
    return ServiceLists(taken_at=BOOTED, lists=snapshots, records=records)


def test_a_list_is_up_to_date_until_its_latest_creation() -> None:
    own = {"own": sent(500), "lost": sent(900)}
    read = lists(
        a={"own": shown(500), "other": shown(700), "day": "2026-03-16", "future": shown(1002)},
        b={"old": shown(-9000), "unknown": None},
        c={},
    )
    found = up_to_date_until(read, own, NOW, IN_FLIGHT)
    assert found == {"a": 699, "b": -9001, "c": NEVER}
    assert (
        up_to_date_until(
            lists(a={"last": shown(1001)}, b={"own": shown(500)}), own, NOW, IN_FLIGHT
        )["a"]
        == 1000
    )


def test_without_an_offset_only_own_creates_count() -> None:
    days = lists(a={"own": "2026-03-16", "other": shown(700)}, b={"other2": shown(800)})
    assert up_to_date_until(days, {"own": sent(500)}, NOW, IN_FLIGHT) == {"a": 500, "b": NEVER}
    day_later = BootTime("boot", 500 + 24 * 3600)
    read = lists(a={"own": shown(500), "other": shown(700)})
    assert up_to_date_until(read, {"own": sent(500)}, day_later, IN_FLIGHT) == {"a": 699}
    later = BootTime("boot", 501 + 24 * 3600)
    assert up_to_date_until(read, {"own": sent(500)}, later, IN_FLIGHT) == {"a": 500}, (
        "summer time?"
    )


def test_absence_is_proven_after_the_attempt_ended_in_the_same_boot() -> None:
    assert proves_absence(sent(100), NOW, 161)
    assert not proves_absence(sent(100), NOW, 160)
    assert not proves_absence(sent(100, boot="another"), NOW, 999)
    assert not proves_absence(
        Entry(id=1, key="k", digest="", max_attempts=5, boot_id="boot"), NOW, 999
    )


def test_lists_that_lack_more_than_half_prove_nothing() -> None:
    assert [lacks_most(lacking, 10) for lacking in (0, 5, 6)] == [False, False, True]
    assert not lacks_most(0, 0)


def test_a_sample_of_missing_records_goes_from_the_oldest_to_the_newest() -> None:
    assert sample(["10", "9", "1"]) == ["1", "9", "10"]
    assert sample([str(n) for n in range(41)]) == [str(n) for n in range(0, 41, 3)]
    assert sample([]) == []
    assert len(sample([str(n) for n in range(20)])) == 20


READY = {1: "a", 2: "b", 3: "a", 4: "a", 5: "b", 6: "a", 7: "a"}
LAST = {6: "a", 7: "a"}


CASES: dict[str, tuple[dict[int, str], str, str, list[int]]] = {
    "the last two of a list come later": (READY, "", "", [1, 2, 3, 4, 5]),
    "also while attempts are in flight": (READY, "", "ab", [1, 3, 4]),
    "the last two go together if nothing is ambiguous": (LAST, "", "", [6, 7]),
    "another list does not matter": (LAST, "", "b", [6, 7]),
    "they wait for attempts in flight": (LAST, "", "a", []),
    "then one goes first": (LAST, "a", "", [6]),
    "until all attempts are over": (LAST, "a", "a", []),
    "the last one goes alone": ({6: "a"}, "a", "", [6]),
    "nothing is ready": ({}, "a", "b", []),
}
"""Rows that are ready, lists whose attempts ended or are in flight, rows to send."""


@pytest.mark.parametrize("name", CASES)
def test_the_last_rows_of_a_list_wait_for_its_ambiguous_attempts(name: str) -> None:
    ready, ended, in_flight, sent = CASES[name]
    assert next_rows(ready, ended, in_flight) == sent
