"""Validation: each kind of loss is a violation of its days; ordinary days pass."""

import random
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from bms_flows.invoices.validate import (
    CONFIRMED,
    HeldDay,
    History,
    LoadSummary,
    Tolerance,
    Violation,
    WindowSummary,
    contains_day,
    empty_last_day,
    probability_at_most,
    usual_count,
    validate,
)

from bms_flows.runtime.reasons import VIOLATIONS
from bms_flows.runtime.windows import DAY, Window

MONDAY = date(2026, 3, 16)
WEEK = Window(MONDAY, MONDAY + timedelta(days=6))
USUAL = {MONDAY - n * DAY: 0 if (MONDAY - n * DAY).weekday() > 4 else 20 for n in range(1, 71)}
HISTORY = History(days=USUAL, currencies=frozenset({"EUR", "USD"}))
TODAY = MONDAY + 8 * DAY
GOOD = LoadSummary(
    rows_read=100,
    quarantined=0,
    days={day: 0 if day.weekday() > 4 else 20 for day in WEEK},
    windows=[WindowSummary(WEEK, stored=0, missing=0)],
    currencies={"EUR": {*WEEK}, "USD": {MONDAY}},
)
TUESDAY = frozenset([MONDAY + DAY])


def violations(found: LoadSummary, history: History = HISTORY, **given: Any) -> list[Violation]:
    options = {"holidays": frozenset(), "tolerance": Tolerance(), "today": TODAY} | given
    return validate(found, history, **options)


def codes(found: LoadSummary, history: History = HISTORY, **given: Any) -> list[str]:
    return [each.code for each in violations(found, history, **given)]


def test_an_ordinary_week_passes() -> None:
    assert codes(GOOD) == []


def test_a_first_load_passes() -> None:
    assert codes(replace(GOOD, days=dict.fromkeys(WEEK, 0)), History()) == []


@pytest.mark.parametrize(
    ("change", "code", "days"),
    [
        ({"amounts_differ": [TUESDAY]}, "amounts_differ", TUESDAY),
        ({"duplicates": [TUESDAY]}, "duplicate_ids", TUESDAY),
        ({"windows": [WindowSummary(WEEK, 0, 0, outside=1)]}, "outside_window", {*WEEK}),
        ({"quarantined": 6, "not_accepted": [TUESDAY]}, "many_quarantined", TUESDAY),
        ({"windows": [WindowSummary(WEEK, stored=50, missing=3)]}, "drop", {*WEEK}),
        ({"days": {MONDAY: 0}}, "fewer_than_usual", {MONDAY}),
        ({"days": {MONDAY: 3}}, "fewer_than_usual", {MONDAY}),
        ({"currencies": {"EUR": {*WEEK}, "CHF": TUESDAY}}, "currency_new", TUESDAY),
    ],
)
def test_a_loss_is_a_violation_of_its_days(
    change: dict[str, Any], code: str, days: set[date]
) -> None:
    [violation] = violations(replace(GOOD, **change))
    assert (violation.code, violation.days) == (code, days)


def test_a_missing_currency_is_a_violation_of_its_days() -> None:
    stored = {"EUR": dict.fromkeys(WEEK, 18), "USD": {MONDAY: 2, MONDAY + DAY: 3}}
    history = replace(HISTORY, stored_currencies=stored)
    [violation] = violations(replace(GOOD, currencies={"EUR": {*WEEK}}), history)
    assert (violation.code, violation.days) == ("currency_gone", {MONDAY, MONDAY + DAY})


def test_a_day_that_lost_all_is_a_violation_of_itself_alone() -> None:
    found = replace(
        GOOD,
        days={**GOOD.days, MONDAY: 0},
        windows=[WindowSummary(WEEK, stored=500, missing=20)],
    )
    history = replace(HISTORY, days={**USUAL, MONDAY: 20})
    assert {frozenset(each.days) for each in violations(found, history)} == {frozenset([MONDAY])}


@pytest.mark.parametrize(
    "change",
    [
        {"windows": [WindowSummary(WEEK, stored=50, missing=2)]},
        {"windows": [WindowSummary(WEEK, stored=500, missing=25)]},
        {"quarantined": 5, "not_accepted": [TUESDAY] * 5},
        {"quarantined": 50},
        {"days": {MONDAY: 11}},
        {"days": {MONDAY + 5 * DAY: 0}},
    ],
    ids=["two missing", "5 % missing", "5 % invalid", "all accepted", "a slow day", "a Saturday"],
)
def test_a_load_just_under_a_limit_passes(change: dict[str, Any]) -> None:
    assert codes(replace(GOOD, **change)) == []


def test_an_empty_holiday_passes() -> None:
    assert codes(replace(GOOD, days={MONDAY: 0}), holidays=frozenset({MONDAY})) == []


def test_a_low_count_that_was_published_before_passes() -> None:
    known = replace(HISTORY, days={**USUAL, MONDAY: 2})
    assert codes(replace(GOOD, days={MONDAY: 2}), known) == []
    assert codes(replace(GOOD, days={MONDAY: 1}), known) == ["fewer_than_usual"]


def test_fewer_than_eight_weeks_give_no_usual_count() -> None:
    short = {day: count for day, count in USUAL.items() if day > MONDAY - timedelta(days=56)}
    assert usual_count(MONDAY, USUAL, ()) == 20
    assert usual_count(MONDAY, short, ()) is None


@pytest.mark.parametrize("weeks", [(1,), (1, 2), (3, 5, 7, 8, 9, 10, 11, 12)])
def test_days_that_were_held_leave_what_is_usual_to_older_ones(weeks: tuple[int, ...]) -> None:
    """They are not in the history; eight others are, within sixteen weeks."""
    days = {MONDAY - 7 * week * DAY: 20 for week in range(1, 17) if week not in weeks}
    assert usual_count(MONDAY, days, ()) == 20
    assert codes(replace(GOOD, days={MONDAY: 3}), replace(HISTORY, days=days)) == [
        "fewer_than_usual"
    ]
    days.popitem()
    if len(weeks) == 8:
        assert usual_count(MONDAY, days, ()) is None


@pytest.mark.parametrize(
    ("before", "later", "passes"),
    [
        (3, CONFIRMED, True),
        (2, CONFIRMED, True),
        (4, CONFIRMED, False),
        (3, CONFIRMED - DAY, False),
    ],
)
def test_a_low_count_that_is_confirmed_a_week_later_passes(
    before: int, later: timedelta, passes: bool
) -> None:
    """Else it would be held for ever, and stay out of what is usual."""
    held = {MONDAY: [HeldDay(before, TODAY - later), HeldDay(50, TODAY - 2 * later)]}
    found = replace(GOOD, days={MONDAY: 3})
    assert codes(found, replace(HISTORY, held=held)) == ([] if passes else ["fewer_than_usual"])


def test_ends_that_are_empty_every_time_look_like_an_exclusive_end_date() -> None:
    friday = MONDAY + 4 * DAY
    ended = replace(GOOD, windows=[WindowSummary(Window(MONDAY, friday), 0, 0)])
    assert empty_last_day(ended, ()) is None
    assert empty_last_day(replace(ended, days={**GOOD.days, friday: 0}), ()) == friday
    assert empty_last_day(replace(ended, days={MONDAY: 9}), ()) is None, "it was not over"
    assert empty_last_day(GOOD, ()) is None, "a Sunday is ignored"
    invalid = replace(ended, days={**GOOD.days, friday: 0}, invalid={friday})
    assert empty_last_day(invalid, ()) is None, "a row came that can't be read"


def test_chance_is_a_distribution() -> None:
    assert probability_at_most(10_000, 500) == pytest.approx(1)
    assert probability_at_most(0, 1e6) > 0


def test_a_violation_names_the_remedy() -> None:
    (violation,) = violations(replace(GOOD, duplicates=[TUESDAY, TUESDAY]))
    assert VIOLATIONS["duplicate_ids"].remedy in str(violation)
    assert "2 rows" in str(violation)


def test_two_hundred_normal_weeks_raise_at_most_one_violation() -> None:
    """Days scatter as a business's do, with weekends; seeded."""
    scatter = random.Random(7)
    days = dict(USUAL)
    false_alarms = 0
    day = MONDAY
    for _ in range(200):
        mean = scatter.gammavariate(25, 20 / 25)
        draws = sum(scatter.random() < mean / 1000 for _ in range(1000))
        count = 0 if day.weekday() > 4 else draws
        found = replace(GOOD, days={day: count}, windows=[WindowSummary(Window(day, day), 0, 0)])
        false_alarms += len(codes(found, replace(HISTORY, days=days)))
        days[day] = count
        day += DAY
    assert false_alarms <= 1


def test_a_date_that_can_not_be_read_names_no_day() -> None:
    """An unreadable date is neither a match nor an error."""
    assert not contains_day(MONDAY, ["31/03/2026", None, ""], "Europe/Paris")
    assert contains_day(MONDAY, ["31/03/2026", MONDAY.isoformat()], "Europe/Paris")
