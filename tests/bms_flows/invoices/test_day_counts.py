"""Counts of days, currencies and ends of ranges: losses are findings of their days, ordinary days pass."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from math import comb
from typing import Any

import pytest

from bms_flows.invoices.checks import contains_day, currency_findings, empty_last_day
from bms_flows.invoices.day_counts import (
    CONFIRMED,
    HISTORY_WEEKS,
    DayHistory,
    HeldDay,
    day_findings,
)
from bms_flows.runtime.checks import Finding
from bms_flows.runtime.probability import at_least, at_most
from bms_flows.runtime.profile import StoredProfile
from bms_flows.runtime.windows import DAY, Window

MONDAY = date(2026, 3, 16)
TUESDAY, FRIDAY, SATURDAY = MONDAY + DAY, MONDAY + 4 * DAY, MONDAY + 5 * DAY
TODAY = MONDAY + 8 * DAY
USUAL = {MONDAY - n * DAY: 0 if (MONDAY - n * DAY).weekday() > 4 else 20 for n in range(1, 71)}


def findings(found: Mapping[date, int], today: date = TODAY, **known: Any) -> list[Finding]:
    return day_findings(found, DayHistory(**{"days": USUAL} | known), today=today)


def codes(found: Mapping[date, int], **known: Any) -> list[str]:
    return [each.code for each in findings(found, **known)]


@pytest.mark.parametrize(
    ("count", "code"),
    [(0, "fewer_than_usual"), (2, "fewer_than_usual"), (200, "more_than_usual")],
)
def test_an_unusual_count_is_a_finding_of_its_day(count: int, code: str) -> None:
    [found] = findings({MONDAY: count, TUESDAY: 20})
    assert (found.code, found.days) == (code, frozenset({MONDAY}))
    assert f"{count} on 2026-03-16, usually about 20" in str(found)


@pytest.mark.parametrize(
    ("found", "known"),
    [
        ({MONDAY: 20, TUESDAY: 17, SATURDAY: 0}, {}),
        ({MONDAY: 11}, {}),
        ({MONDAY: 0}, {"holidays": {MONDAY}}),
        ({MONDAY: 0}, {"days": {}}),
        ({MONDAY: 2}, {"days": {**USUAL, MONDAY: 2}}),
    ],
    ids=["an ordinary week", "a slow day", "a holiday", "a first load", "published before"],
)
def test_a_plausible_count_passes(found: dict[date, int], known: dict[str, Any]) -> None:
    assert codes(found, **known) == []


def test_fewer_invoices_than_were_published_are_a_finding() -> None:
    assert codes({MONDAY: 1}, days={**USUAL, MONDAY: 2}) == ["fewer_than_usual"]


def test_several_slow_days_are_judged_together() -> None:
    small = {day: min(count, 3) for day, count in USUAL.items()}
    assert codes({MONDAY: 0}, days=small) == []
    week = {MONDAY + n * DAY: 0 for n in range(5)}
    assert "fewer_than_usual" in codes(week, days=small)


def test_invoices_that_are_entered_late_are_compared_at_equal_age() -> None:
    """Half of each day's invoices are entered on the day after."""
    latest = MONDAY - 20 * DAY
    earlier = [
        StoredProfile(
            days={latest - n * DAY: USUAL[latest - n * DAY] // 2}, read_on=latest - n * DAY
        )
        for n in range(40)
    ]
    earlier.insert(0, StoredProfile(read_on=MONDAY - DAY))
    low = {MONDAY: 2}
    assert codes(low) == ["fewer_than_usual"]
    assert [f.code for f in findings(low, today=MONDAY, earlier=earlier)] == []


@pytest.mark.parametrize(
    ("before", "later", "passes"),
    [
        (2, CONFIRMED, True),
        (1, CONFIRMED, True),
        (3, CONFIRMED, False),
        (2, CONFIRMED - DAY, False),
    ],
)
def test_a_low_count_that_is_confirmed_a_week_later_passes(
    before: int, later: timedelta, passes: bool
) -> None:
    """Else it would be held for ever, and stay out of what is usual."""
    held = {MONDAY: [HeldDay(before, TODAY - later), HeldDay(50, TODAY - 2 * later)]}
    assert codes({MONDAY: 2}, held=held) == ([] if passes else ["fewer_than_usual"])


@pytest.mark.parametrize(
    ("passes", "known"),
    [
        (20, {"days": {**USUAL, MONDAY: 20}}),
        (0, {"holidays": {MONDAY}}),
        (1, {"held": {MONDAY: [HeldDay(1, TODAY - CONFIRMED)]}}),
    ],
    ids=["published before", "holiday", "confirmed"],
)
def test_days_after_one_that_passes_are_judged_too(passes: int, known: dict[str, Any]) -> None:
    [found] = findings({TUESDAY: 2, MONDAY: passes}, **known)
    assert found.days == {TUESDAY}


def test_the_usual_count_is_the_median_of_the_latest_eight_working_days() -> None:
    weeks = {MONDAY - 7 * week * DAY: week for week in range(HISTORY_WEEKS + 2)}
    assert DayHistory(weeks).usual_count(MONDAY) == 4.5
    assert DayHistory(weeks, {MONDAY - 7 * DAY}).usual_count(MONDAY) == 5.5
    oldest = dict([*weeks.items()][HISTORY_WEEKS - 7 :])
    assert DayHistory(oldest).usual_count(MONDAY) == 12.5
    assert DayHistory(oldest, {MONDAY - 7 * HISTORY_WEEKS * DAY}).usual_count(MONDAY) is None
    oldest.pop(MONDAY - 7 * 9 * DAY)
    assert DayHistory(oldest).usual_count(MONDAY) is None, "the seventeenth week is too old"


@pytest.mark.parametrize("weeks", [(1,), (1, 2), (3, 5, 7, 8, 9, 10, 11, 12)])
def test_days_that_were_held_leave_what_is_usual_to_older_ones(weeks: Sequence[int]) -> None:
    """They are not in the history; eight others are, within sixteen weeks."""
    days = {MONDAY - 7 * week * DAY: 20 for week in range(1, 17) if week not in weeks}
    assert DayHistory(days).usual_count(MONDAY) == 20
    assert codes({MONDAY: 2}, days=days) == ["fewer_than_usual"]


def test_new_and_missing_currencies_are_findings_of_their_days() -> None:
    history = DayHistory(
        USUAL,
        currencies=frozenset({"EUR", "USD"}),
        stored_currencies={"EUR": {MONDAY: 2, FRIDAY: 1}, "USD": {MONDAY: 2}},
    )
    found = {"GBP": [TUESDAY], "CHF": [MONDAY, FRIDAY]}
    gone = Finding("currency_gone", "EUR", frozenset([MONDAY, FRIDAY]))
    assert [*currency_findings(found, history)] == [
        Finding("currency_new", "CHF", frozenset([MONDAY, FRIDAY])),
        Finding("currency_new", "GBP", frozenset([TUESDAY])),
        gone,
    ]
    new = replace(history, days={})
    assert [*currency_findings(found, new)] == [gone], "too early to judge new currencies"


def last_day(counts: Mapping[date, int], holidays: Sequence[date] = ()) -> date | None:
    """Return the empty last day of a load with one window for each day, which ends it."""
    return empty_last_day([Window(MONDAY, day) for day in counts], counts, set(), holidays)


def test_ends_that_are_empty_every_time_look_like_an_exclusive_end_date() -> None:
    empty = {TUESDAY: 0, FRIDAY: 0, MONDAY: 0}
    assert last_day(empty) == FRIDAY
    assert last_day(empty, [FRIDAY]) == TUESDAY
    assert last_day(empty, [MONDAY, TUESDAY, FRIDAY]) is None
    assert last_day({TUESDAY: 1, FRIDAY: 0}) is None
    assert last_day({TUESDAY: 1, FRIDAY: 0}, [TUESDAY]) == FRIDAY
    assert last_day({SATURDAY: 0}) is None
    window = [Window(MONDAY, FRIDAY)]
    assert empty_last_day(window, {FRIDAY: 0}, {FRIDAY}, ()) is None, "an invalid row was returned"


@pytest.mark.parametrize("count", [0, 1, 2, 9, 25])
def test_chance_is_the_negative_binomial_distribution(count: int) -> None:
    """25 failures at even chances: mean 25, and a fifth of it as the deviation of the mean."""
    expected = sum(comb(24 + k, k) / 2 ** (25 + k) for k in range(count + 1))
    assert at_most(count, 25, 25) == pytest.approx(expected, rel=1e-12)
    assert at_least(count + 40, 25, 25) == pytest.approx(1 - at_most(count + 39, 25, 25), rel=1e-6)


def test_two_hundred_normal_weeks_raise_at_most_one_finding() -> None:
    """Days scatter as a business's do, with weekends; seeded."""
    scatter = random.Random(7)
    days = dict(USUAL)
    false_alarms = 0
    for n in range(200):
        day = MONDAY + n * DAY
        mean = scatter.gammavariate(25, 20 / 25)
        count = 0 if day.weekday() > 4 else sum(scatter.random() < mean / 1000 for _ in range(1000))
        false_alarms += len(findings({day: count}, today=day + DAY, days=dict(days)))
        days[day] = count
    assert false_alarms <= 1


def test_a_date_is_compared_in_the_zone_and_an_unreadable_one_names_no_day() -> None:
    assert contains_day(TUESDAY, ["2026-03-16T23:30:00Z"], "Europe/Paris")
    assert not contains_day(MONDAY, ["2026-03-16T23:30:00Z"], "Europe/Paris")
    assert not contains_day(MONDAY, ["31/03/2026", None, ""], "Europe/Paris")
    assert contains_day(MONDAY, ["31/03/2026", MONDAY.isoformat()], "Europe/Paris")
