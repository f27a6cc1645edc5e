"""Checks: each kind of loss is doubted, ordinary days are not."""

import random
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from bms_flows.invoices.check import (
    Found,
    History,
    Tolerance,
    WindowFound,
    among,
    at_most,
    check,
    empty_end,
    usual_count,
)
from bms_flows.invoices.window import DAY, Window
from bms_flows.reasons import BREACHES

MONDAY = date(2026, 3, 16)
WEEK = Window(MONDAY, MONDAY + timedelta(days=6))
USUAL = {MONDAY - n * DAY: 0 if (MONDAY - n * DAY).weekday() > 4 else 20 for n in range(1, 71)}
HISTORY = History(days=USUAL, currencies=frozenset({"EUR", "USD"}))
GOOD = Found(
    rows_read=100,
    quarantined=0,
    not_accepted=0,
    duplicates=0,
    outside=0,
    amounts_differ=0,
    days={day: 0 if day.weekday() > 4 else 20 for day in WEEK},
    windows=[WindowFound(WEEK, stored=0, missing=0)],
    currencies={"EUR": 95, "USD": 5},
)


def doubts(found: Found, history: History = HISTORY, **given: Any) -> list[str]:
    options = {"holidays": frozenset(), "tolerance": Tolerance()} | given
    return [breach.code for breach in check(found, history, **options)]


def test_an_ordinary_week_is_believed() -> None:
    assert doubts(GOOD) == []


def test_a_first_load_is_believed() -> None:
    assert doubts(replace(GOOD, days=dict.fromkeys(WEEK, 0)), History()) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"amounts_differ": 1}, "amounts_differ"),
        ({"duplicates": 1}, "duplicate_ids"),
        ({"outside": 1}, "outside_window"),
        ({"quarantined": 6, "not_accepted": 1}, "many_quarantined"),
        ({"windows": [WindowFound(WEEK, stored=50, missing=3)]}, "drop"),
        ({"days": {MONDAY: 0}}, "fewer_than_usual"),
        ({"days": {MONDAY: 3}}, "fewer_than_usual"),
        ({"currencies": {"EUR": 95, "CHF": 1}}, "currency_new"),
    ],
)
def test_a_loss_is_doubted(change: dict[str, Any], code: str) -> None:
    assert doubts(replace(GOOD, **change)) == [code]


def test_a_currency_that_stood_in_these_days_and_is_gone_is_doubted() -> None:
    history = replace(HISTORY, stored_currencies={"EUR": 90, "USD": 5})
    assert doubts(replace(GOOD, currencies={"EUR": 90}), history) == ["currency_gone"]


@pytest.mark.parametrize(
    "change",
    [
        {"windows": [WindowFound(WEEK, stored=50, missing=2)]},
        {"windows": [WindowFound(WEEK, stored=500, missing=25)]},
        {"quarantined": 5, "not_accepted": 5},
        {"quarantined": 50},
        {"days": {MONDAY: 11}},
        {"days": {MONDAY + 5 * DAY: 0}},
    ],
    ids=["two gone", "5 % gone", "5 % set aside", "all accepted", "a slow day", "a Saturday"],
)
def test_just_under_a_limit_is_believed(change: dict[str, Any]) -> None:
    assert doubts(replace(GOOD, **change)) == []


def test_a_holiday_is_believed() -> None:
    assert doubts(replace(GOOD, days={MONDAY: 0}), holidays=frozenset({MONDAY})) == []


def test_a_day_that_was_found_small_before_is_not_doubted_again() -> None:
    known = replace(HISTORY, days={**USUAL, MONDAY: 2})
    assert doubts(replace(GOOD, days={MONDAY: 2}), known) == []
    assert doubts(replace(GOOD, days={MONDAY: 1}), known) == ["fewer_than_usual"]


def test_fewer_than_eight_weeks_say_nothing() -> None:
    short = {day: count for day, count in USUAL.items() if day > MONDAY - timedelta(days=56)}
    assert usual_count(MONDAY, USUAL, ()) == 20
    assert usual_count(MONDAY, short, ()) is None


def test_ends_that_are_empty_every_time_look_like_an_exclusive_end_date() -> None:
    friday = MONDAY + 4 * DAY
    ended = replace(GOOD, windows=[WindowFound(Window(MONDAY, friday), 0, 0)])
    assert empty_end(ended, ()) is None
    assert empty_end(replace(ended, days={**GOOD.days, friday: 0}), ()) == friday
    assert empty_end(GOOD, ()) is None, "a Sunday says nothing"


def test_chance_is_a_distribution() -> None:
    assert at_most(10_000, 500) == pytest.approx(1)
    assert at_most(0, 1e6) > 0


def test_a_doubt_says_what_to_do() -> None:
    (breach,) = check(replace(GOOD, duplicates=2), HISTORY, holidays=(), tolerance=Tolerance())
    assert BREACHES["duplicate_ids"].remedy in str(breach)
    assert "2 rows" in str(breach)


def test_two_hundred_clean_weeks_raise_at_most_one_doubt() -> None:
    """Days scatter as a business's do, with weekends; seeded."""
    scatter = random.Random(7)
    days = dict(USUAL)
    false_alarms = 0
    day = MONDAY
    for _ in range(200):
        mean = scatter.gammavariate(25, 20 / 25)
        draws = sum(scatter.random() < mean / 1000 for _ in range(1000))
        count = 0 if day.weekday() > 4 else draws
        found = replace(GOOD, days={day: count}, windows=[WindowFound(Window(day, day), 0, 0)])
        false_alarms += len(doubts(found, replace(HISTORY, days=days)))
        days[day] = count
        day += DAY
    assert false_alarms <= 1


def test_a_date_that_can_not_be_read_names_no_day() -> None:
    """Such a row is set aside; asked whether a day was left out, it is no answer and no error."""
    assert not among(MONDAY, ["31/03/2026", None, ""], "Europe/Paris")
    assert among(MONDAY, ["31/03/2026", MONDAY.isoformat()], "Europe/Paris")
