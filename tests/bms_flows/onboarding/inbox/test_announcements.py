"""Announcements of files in an inbox: new files at once, others at growing intervals."""

import itertools

from bms_flows.onboarding.inbox.announcements import Announcements

DAY = 86_400
EVERY = 5
"""Seconds between two looks."""


def announced(stamps: dict[str, list[str]], seconds: int = DAY) -> list[int]:
    """Return when something is announced; `stamps` are those of a file, look by look, the last for good."""
    schedule, found = Announcements(), []
    for look, now in enumerate(range(0, seconds, EVERY)):
        lying = {name: of[min(look, len(of) - 1)] for name, of in stamps.items()}
        if schedule.due(lying, now):
            found.append(now)
    return found


def test_a_new_file_is_announced_at_once() -> None:
    schedule = Announcements()
    assert not schedule.due({}, 0)
    assert schedule.due({"a": "1"}, 5)
    assert not schedule.due({"a": "1"}, 10)
    assert schedule.due({"a": "1", "b": "1"}, 15)


def test_an_unclaimed_file_starts_at_most_one_run_an_hour() -> None:
    found = announced({"a": ["1"]})
    assert len(found) < 30, "it was 1,440"
    later = [at for at in found if at >= 2 * 3600]
    assert all(after - before >= 3600 for before, after in itertools.pairwise(later))
    assert announced({"a": ["1"]}, 200) == [0, 60, 180]


def test_a_corrected_file_is_announced_at_once() -> None:
    mended = 10 * 3600
    stamps = ["1"] * (mended // EVERY) + ["2"]
    assert mended in announced({"a": stamps})


def test_a_file_that_grows_all_day_is_announced_every_ten_minutes_at_most() -> None:
    found = announced({"a": [str(n) for n in range(DAY // EVERY)]})
    assert len(found) < 150
    assert found[:2] == [0, 60]


def test_a_file_that_grew_for_long_is_announced_soon_after_its_end() -> None:
    end = 6 * 3600
    found = announced({"a": [str(n) for n in range(end // EVERY)]})
    assert any(end <= at <= end + 600 for at in found)


def test_a_file_removed_and_dropped_again_is_new() -> None:
    schedule = Announcements()
    assert schedule.due({"a": "1"}, 0)
    assert not schedule.due({}, 5)
    assert schedule.due({"a": "1"}, 10)


def test_files_beyond_the_limit_of_a_dispatch_wait_only_for_the_runs() -> None:
    """2,000 files at once, 20 a minute, of which a dispatch starts the first 200."""
    schedule, files = Announcements(), {f"{n:04}": "1" for n in range(2000)}
    started, minutes, announcements = set[str](), 0, 0
    while files and minutes < 1000:
        if schedule.due(files, 60.0 * minutes):
            announcements += 1
            started |= {*list(files)[:200]}
        for name in sorted(started)[:20]:
            started.remove(name)
            del files[name]
        minutes += 1
    assert minutes == 100
    assert announcements < 30
