"""Counts of days, currencies and ends of ranges: losses are findings of their days, ordinary days pass."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from math import comb
from statistics import mean
from typing import Any

import pytest

from bms_flows.invoices.checks import contains_day, currency_findings, empty_last_day
from bms_flows.invoices.day_counts import (
    CONFIRMED,
    FEW,
    HISTORY_WEEKS,
    DayHistory,
    HeldDay,
    day_findings,
)
from bms_flows.runtime.checks import Finding
from bms_flows.runtime.probability import at_least, at_most
from bms_flows.runtime.profile import StoredProfile
from bms_flows.runtime.windows import DAY, Window
from tests.bms_flows.invoices.listed import days

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


@pytest.mark.parametrize(
    ("usual", "before", "most", "about"), [(20, None, 75, 20), (20, 30, 105, 30), (0, None, 15, 0)]
)
def test_a_high_count_passes_up_to_three_times_the_usual_and_fifteen(
    usual: int, before: int | None, most: int, about: int
) -> None:
    days = {day: count and usual for day, count in USUAL.items()}
    days |= {} if before is None else {MONDAY: before}
    assert findings({MONDAY: most, TUESDAY: usual}, days=days) == []
    [found] = findings({MONDAY: most + 1, TUESDAY: usual}, days=days)
    where = f"{most + 1} on {MONDAY}, usually about {about}"
    assert found == Finding("more_than_usual", where, frozenset([MONDAY]), "many")
    held = {MONDAY: [HeldDay(most + 1, TODAY - CONFIRMED)]}
    for passing in (most, most + 1):
        counts = {MONDAY - 2 * DAY: 99, MONDAY: passing, TUESDAY: 200}
        assert [each.days for each in findings(counts, days=days, held=held)] == [{TUESDAY}]


def test_a_high_count_passes_where_counts_scatter() -> None:
    weekdays = [day for n in range(1, 113) if (day := MONDAY - n * DAY).weekday() < 5]
    scattered = {day: (10, 30)[(MONDAY - day).days // 7 % 2] for day in weekdays}
    assert findings({MONDAY: 100}, days=scattered) == []
    assert len(findings({MONDAY: 120}, days=scattered)) == 1


@pytest.mark.parametrize(
    ("usual", "found", "known", "low"),
    [
        (3, dict.fromkeys(range(4), 0), {}, []),
        (3, dict.fromkeys(range(5), 0), {}, ["0 on 5 working days until 2026-03-20, usually about 15"]),
        (6, {0: 0, 1: 0}, {}, ["0 on 2 working days until 2026-03-17, usually about 12"]),
        (6, {0: 1, 1: 0}, {}, []),
        (6, {-2: 0, -1: 0, 0: 0}, {}, []),  # a weekend before
        (20, {-2: 0, 0: 2}, {}, ["2 on 2026-03-16, usually about 20"]),
        (6, {0: 0, 1: 0}, {"days": {0: 0}}, ["0 on 2 working days until 2026-03-17, usually about 12"]),
        (6, {0: 0, 1: 0}, {"days": {0: 0, 1: 0}}, []),
        (6, {0: 0, 1: 0}, {"days": {1: 0}}, []),  # a later day that passes proves nothing
        (20, {0: 2, 1: 2}, {}, [f"2 on 2026-03-{n}, usually about 20" for n in (16, 17)]),
        (6, {0: 0, 1: 0}, {"from": 0}, []),
        (6, {0: 0, 1: 0, 2: 0}, {"from": 0}, ["0 on 2 working days until 2026-03-18, usually about 12"]),
        (20, {0: 0, 1: 20}, {"from": 0}, ["0 on 2026-03-16, usually about 20"]),
    ],
)  # fmt: skip
def test_a_low_count_is_judged_with_the_working_days_before_it(
    usual: int, found: dict[int, int], known: dict[str, Any], low: list[str]
) -> None:
    days = {day: count and usual for day, count in USUAL.items()}
    days |= {MONDAY + n * DAY: count for n, count in known.get("days", {}).items()}
    earlier = [accepted(MONDAY + known["from"] * DAY)] if "from" in known else []
    counts = {MONDAY + n * DAY: count for n, count in found.items()}
    assert findings(counts, days=days, earlier=earlier) == [
        Finding("fewer_than_usual", where, frozenset([date.fromisoformat(day)]), FEW)
        for where in low
        for day in re.findall("2026-..-..", where)
    ]


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


def test_the_share_that_is_entered_at_an_age_is_learned_from_fifty_invoices() -> None:
    """Days of 20 invoices, read when they were 1 and 2 days old."""
    read = MONDAY - 3 * DAY
    loads = [
        StoredProfile(
            days={MONDAY - n * DAY: 15, MONDAY - (n - 1) * DAY: 10}, read_on=MONDAY - (n - 2) * DAY
        )
        for n in (14, 20, 21, 22, 27)
    ]
    known = DayHistory(USUAL, earlier=[StoredProfile(read_on=read), *loads])
    usual = [known.expected(MONDAY, MONDAY + age * DAY) for age in range(4)]
    assert usual == [(20, 20), (10, 20), (15, 20), (20, 20)]
    few = DayHistory(USUAL, earlier=[StoredProfile(read_on=read), *loads[-2:]])
    assert few.expected(MONDAY, MONDAY + DAY) == (20, 20)


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


YEAR_AGO = date(2025, 3, 17)
"""The Monday 52 weeks before `MONDAY`."""


def expected(
    day: date, counts: dict[date, int], per_day: int = 20, **known: Any
) -> tuple[float, float] | None:
    """Return what is usual on a day after 70 weeks of `per_day` invoices, and `counts` on some days."""
    before = [day - n * DAY for n in range(1, 491)]
    days = {each: per_day if each.weekday() < 5 else 0 for each in before} | counts
    return DayHistory(days, **known).expected(day, day + 30 * DAY)


@pytest.mark.parametrize(
    ("day", "places", "counted"),
    [
        (date(2026, 3, 31), ["2026-02-27", "2026-01-30", "2025-12-31"], True),
        (date(2026, 3, 31), ["2026-02-27", "2026-01-30", "2025-03-31"], True),
        (date(2026, 3, 31), ["2026-02-27", "2026-01-30", "2025-02-28"], False),  # 13 months ago
        (date(2026, 3, 27), ["2026-02-25", "2026-01-28", "2025-12-29"], True),  # third from the end
        (date(2026, 3, 26), ["2026-02-24", "2026-01-27", "2025-12-26"], False),  # fourth
        (date(2026, 3, 2), ["2026-02-02", "2026-01-01", "2025-12-01"], True),
        (date(2026, 3, 4), ["2026-02-04", "2026-01-05", "2025-12-03"], True),  # third
        (date(2026, 3, 5), ["2026-02-05", "2026-01-06", "2025-12-04"], False),  # fourth
    ],
)
def test_an_end_of_a_month_is_compared_with_those_of_the_last_twelve(
    day: date, places: Sequence[str], counted: bool
) -> None:
    """The named days are the only ones at the position that are published."""
    at = {date.fromisoformat(each): 41 for each in places}
    weekday = {day - 7 * week * DAY: 20 for week in range(1, 9)}
    usual = 41 if counted else 20
    assert DayHistory(weekday | at).expected(day, day + 30 * DAY) == (usual, usual)
    at.popitem()
    two = DayHistory(weekday | at | {day: 41}).expected(day, day + 30 * DAY)
    assert two == (20, 20), "two months prove nothing"


@pytest.mark.parametrize(("count", "usual"), [(40, 20), (41, 41), (10, 20), (9, 9)])
def test_a_position_in_the_month_counts_if_it_is_unlike_its_weekday(count: int, usual: int) -> None:
    ends = [date(2026, 2, 27), date(2026, 1, 30), date(2025, 12, 31)]
    weekday = {date(2026, 3, 31) - 7 * week * DAY: 20 for week in range(1, 9)}
    known = DayHistory(weekday | dict.fromkeys(ends, count))
    assert known.expected(date(2026, 3, 31), date(2026, 5, 1)) == (usual, usual)


def test_holidays_move_the_ends_of_months() -> None:
    day = date(2026, 3, 31)
    weekday = {day - 7 * week * DAY: 20 for week in range(1, 9)}
    ends = [date(2026, 2, 26), date(2026, 1, 29), date(2025, 12, 30)]
    # Three days at each end of January are left, which is enough.
    holidays = {*days(date(2026, 1, 7), 21), *(each + DAY for each in ends)}
    known = DayHistory(weekday | dict.fromkeys(ends, 60), holidays)
    assert known.expected(day, day + 30 * DAY) == (60, 60)
    shorter = replace(known, holidays={*holidays, date(2026, 1, 6)})
    assert shorter.expected(day, day + 30 * DAY) == (20, 20)


@pytest.mark.parametrize(
    ("offsets", "count", "usual"),
    [
        (range(-3, 4), 41, (20, 41)),
        (range(-3, 4), 9, (9, 20)),
        (range(-3, 4), 40, (20, 20)),
        (range(4, 11), 90, (20, 20)),
        (range(-10, -3), 90, (20, 20)),
        ([-3], 180, (20, 52)),  # a mean over five working days: Friday, and Monday to Thursday
        ([3], 180, (20, 52)),
    ],
)
def test_the_same_week_of_the_last_year_widens_what_is_usual(
    offsets: Sequence[int], count: int, usual: tuple[float, float]
) -> None:
    week = (YEAR_AGO + n * DAY for n in offsets)
    counts = {each: count for each in week if each.weekday() < 5}
    assert expected(MONDAY, counts) == pytest.approx(usual)


def test_a_year_ago_is_compared_with_what_was_usual_then() -> None:
    """The company was half as large; the week before stands in for a holiday."""
    counts = {YEAR_AGO + n * DAY: 5 for n in (-3, 0, 1, 2, 3)}
    assert expected(MONDAY, counts, per_day=10) == (10, 10)
    assert expected(MONDAY, dict.fromkeys(counts, 4), per_day=10) == (4, 10)
    assert expected(MONDAY, dict.fromkeys(counts, 4), per_day=10, holidays={YEAR_AGO}) == (4, 10)
    later = {MONDAY - 7 * week * DAY: 20 for week in range(1, 9)}
    assert expected(MONDAY, dict.fromkeys(counts, 4) | later, per_day=10) == (8, 20)
    since = {YEAR_AGO - n * DAY: 10 for n in range(-364, 57)} | dict.fromkeys(counts, 4)
    assert DayHistory(since, {YEAR_AGO}).expected(MONDAY, TODAY + 9 * DAY) == (10, 10), "unknown"


def accepted(start: date) -> StoredProfile:
    return StoredProfile(read_on=MONDAY, accepted={FEW: start})


def test_after_an_accepted_fall_the_latest_eight_working_days_are_usual() -> None:
    start = MONDAY - 14 * DAY
    earlier = [StoredProfile(read_on=MONDAY), accepted(start)]
    since = dict(
        zip([start + n * DAY for n in (0, 1, 2, 3, 4, 7, 8, 9, 10, 11)], range(10), strict=True)
    )
    assert expected(MONDAY, since, earlier=earlier) == (mean(range(2, 10)), 20)
    assert expected(MONDAY, since, earlier=earlier, holidays={MONDAY - 3 * DAY}) == (4.5, 20)
    assert expected(MONDAY, {MONDAY: 0} | since, earlier=earlier) == (5.5, 20)
    at_start = [accepted(MONDAY)]
    assert expected(MONDAY, since, earlier=at_start) == (20, 20)
    only = [accepted(MONDAY - 3 * DAY)]
    assert expected(MONDAY, {MONDAY - 3 * DAY: 1}, earlier=only) == (1, 20)
    assert expected(MONDAY + 5 * DAY, since, earlier=earlier) is None


EDGES = """
    2025-12-29 2025-12-30 2025-12-31 2026-01-01 2026-01-02 2026-01-05 2026-01-28 2026-01-29 2026-01-30
    2026-02-02 2026-02-03 2026-02-04 2026-02-25 2026-02-26 2026-02-27 2026-03-02 2026-03-03 2026-03-04
"""


@pytest.mark.parametrize(
    ("low", "high", "days", "shape"),
    [
        (20, 20, 1, 25),
        (5, 35, 1, 1 / 0.45625),  # 36 of 40 days are three quarters off, less 1/20 by chance
        (5, 35, 10, 1 / 0.045625),
        (5, 35, 100, 25),
        (0, 0, 1, 25),
    ],
)
def test_counts_that_scatter_prove_less_and_several_days_more(
    low: int, high: int, days: int, shape: float
) -> None:
    """Ends of months, weekends and all but the latest forty ordinary days say nothing."""
    counts = {MONDAY - n * DAY: 900 for n in range(1, 120)}
    ordinary = [day for day in counts if day.weekday() < 5 and str(day) not in EDGES.split()][:40]
    for weekday in range(5):
        same = [day for day in ordinary if day.weekday() == weekday]
        turns = [low, high] * (len(same) // 2) + [(low + high) // 2]
        counts |= dict(zip(same, turns, strict=False))
    assert DayHistory(counts).shape(days) == pytest.approx(shape)
    assert DayHistory().shape(days) == pytest.approx(25)


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
        usual = scatter.gammavariate(25, 20 / 25)
        count = (
            0 if day.weekday() > 4 else sum(scatter.random() < usual / 1000 for _ in range(1000))
        )
        false_alarms += len(findings({day: count}, today=day + DAY, days=dict(days)))
        days[day] = count
    assert false_alarms <= 1


def test_a_date_is_compared_in_the_zone_and_an_unreadable_one_names_no_day() -> None:
    assert contains_day(TUESDAY, ["2026-03-16T23:30:00Z"], "Europe/Paris")
    assert not contains_day(MONDAY, ["2026-03-16T23:30:00Z"], "Europe/Paris")
    assert not contains_day(MONDAY, ["31/03/2026", None, ""], "Europe/Paris")
    assert contains_day(MONDAY, ["31/03/2026", MONDAY.isoformat()], "Europe/Paris")
