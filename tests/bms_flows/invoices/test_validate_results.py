"""Whole violations of a load: code, details and days, and each limit exactly."""

from collections.abc import Collection
from dataclasses import replace
from datetime import date
from math import comb

import pytest
from bms_flows.invoices.validate import (
    CONFIRMED,
    HISTORY_WEEKS,
    USUAL_WEEKS,
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

from bms_flows.runtime.windows import DAY, Window

MONDAY = date(2026, 3, 16)
TUESDAY, FRIDAY, SATURDAY = MONDAY + DAY, MONDAY + 4 * DAY, MONDAY + 5 * DAY
WORKWEEK = Window(MONDAY, FRIDAY)
NEXT = Window(MONDAY + 7 * DAY, FRIDAY + 7 * DAY)
NOTHING = LoadSummary(rows_read=0, quarantined=0)
USUAL = {MONDAY - n * DAY: 20 for n in range(1, 7 * USUAL_WEEKS + 1)}
KNOWN = History(days=USUAL)
LIMITS = Tolerance()


class Unasked:
    """Holidays whose import would take as long as a day's extraction."""

    def __contains__(self, day: object) -> bool:
        raise AssertionError(f"{day} can be judged without holidays")


def violations(
    found: LoadSummary,
    history: History = KNOWN,
    holidays: Collection[date] = (),
    tolerance: Tolerance = LIMITS,
) -> list[Violation]:
    return validate(found, history, holidays=holidays, today=MONDAY + 8 * DAY, tolerance=tolerance)


def drop(where: str, days: Collection[date]) -> Violation:
    return Violation("drop", where, frozenset(days))


def few(where: str, day: date) -> Violation:
    return Violation("fewer_than_usual", where, frozenset([day]))


def test_rows_are_counted_and_their_days_are_named() -> None:
    rows = [frozenset([MONDAY]), frozenset([TUESDAY])]
    found = LoadSummary(
        rows_read=9,
        quarantined=4,
        not_accepted=rows[:1],
        duplicates=rows,
        amounts_differ=rows[1:],
        windows=[WindowSummary(WORKWEEK, 0, 0, outside=2)],
    )
    assert violations(found) == [
        Violation("amounts_differ", "1 rows", rows[1]),
        Violation("duplicate_ids", "2 rows", rows[0] | rows[1]),
        Violation(
            "outside_window",
            "2 rows in the response for 2026-03-16/2026-03-20",
            frozenset(WORKWEEK),
        ),
        Violation("many_quarantined", "4 of 9 rows", rows[0]),
    ]


def test_each_window_that_lost_invoices_is_named() -> None:
    found = replace(NOTHING, windows=[WindowSummary(WORKWEEK, 50, 3), WindowSummary(NEXT, 50, 4)])
    assert violations(found) == [
        drop("3 of 50 in 2026-03-16/2026-03-20", WORKWEEK),
        drop("4 of 50 in 2026-03-23/2026-03-27", NEXT),
    ]


def test_each_day_that_lost_all_is_named() -> None:
    found = replace(NOTHING, days={TUESDAY: 1}, windows=[WindowSummary(WORKWEEK, 500, 9)])
    history = History(days={MONDAY: 3, TUESDAY: 9, FRIDAY: 4, FRIDAY - DAY: 2})
    assert violations(found, history) == [
        drop("all 3 on 2026-03-16", [MONDAY]),
        drop("all 4 on 2026-03-20", [FRIDAY]),
    ]


def test_windows_that_lost_few_invoices_each_are_judged_together() -> None:
    weeks = [Window(MONDAY + 7 * n * DAY, MONDAY + (7 * n + 6) * DAY) for n in range(3)]
    found = replace(NOTHING, windows=[WindowSummary(week, 2, 2) for week in weeks[:2]])
    lost = drop("4 of 4 in 2 responses", {*weeks[0], *weeks[1]})
    assert violations(found, History()) == [lost]
    some = [WindowSummary(weeks[2], 20, 0), *found.windows[:1], WindowSummary(weeks[1], 38, 1)]
    assert violations(replace(found, windows=some), History()) == []
    assert [each.days for each in violations(replace(found, windows=some[1:]), History())] == [
        {*weeks[0], *weeks[1]}
    ]


def test_a_day_that_was_never_published_lost_nothing() -> None:
    found = replace(NOTHING, windows=[WindowSummary(WORKWEEK, 0, 0)])
    assert violations(found, tolerance=Tolerance(drop_rows=1)) == []


@pytest.mark.parametrize(
    ("passes", "history", "holidays"),
    [
        (20, replace(KNOWN, days={**USUAL, MONDAY: 20}), ()),
        (0, KNOWN, [MONDAY]),
        (1, replace(KNOWN, held={MONDAY: [HeldDay(1, TUESDAY + 7 * DAY - CONFIRMED)]}), ()),
    ],
    ids=["published before", "holiday", "confirmed"],
)
def test_days_after_one_that_passes_are_judged_too(
    passes: int, history: History, holidays: Collection[date]
) -> None:
    found = replace(NOTHING, days={TUESDAY: 3, MONDAY: passes})
    assert violations(found, history, holidays) == [
        few("3 on 2026-03-17, usually about 20", TUESDAY)
    ]


def test_a_count_as_improbable_as_the_limit_passes() -> None:
    found = replace(NOTHING, days={TUESDAY: 3})
    assert violations(found, tolerance=Tolerance(chance=probability_at_most(3, 20))) == []


def test_currencies_are_named_with_their_days() -> None:
    history = replace(KNOWN, stored_currencies={"EUR": {MONDAY: 2, FRIDAY: 1}, "USD": {MONDAY: 2}})
    found = replace(NOTHING, currencies={"GBP": [TUESDAY], "CHF": [MONDAY, FRIDAY]})
    gone = Violation("currency_gone", "EUR", frozenset([MONDAY, FRIDAY]))
    assert violations(found, history) == [
        Violation("currency_new", "CHF", frozenset([MONDAY, FRIDAY])),
        Violation("currency_new", "GBP", frozenset([TUESDAY])),
        gone,
    ]
    shorter = dict([*USUAL.items()][1:])
    assert violations(found, replace(history, days=shorter)) == [gone], "too early to judge"


def test_the_usual_count_is_the_median_of_the_latest_eight_working_days() -> None:
    weeks = {MONDAY - 7 * week * DAY: week for week in range(HISTORY_WEEKS + 2)}
    assert usual_count(MONDAY, weeks, ()) == 4.5
    assert usual_count(MONDAY, weeks, [MONDAY - 7 * DAY]) == 5.5
    oldest = dict([*weeks.items()][HISTORY_WEEKS - 7 :])
    assert usual_count(MONDAY, oldest, ()) == 12.5
    assert usual_count(MONDAY, oldest, [MONDAY - 7 * HISTORY_WEEKS * DAY]) is None
    oldest.pop(MONDAY - 7 * 9 * DAY)
    assert usual_count(MONDAY, oldest, ()) is None, "the seventeenth week is too old"


def test_a_weekend_or_a_short_history_asks_for_no_holidays() -> None:
    weeks = {day - 7 * week * DAY: 20 for week in range(1, 9) for day in (MONDAY, SATURDAY)}
    assert usual_count(SATURDAY, weeks, Unasked()) is None
    assert usual_count(MONDAY, dict([*weeks.items()][2:]), Unasked()) is None


@pytest.mark.parametrize("count", [0, 1, 2, 9, 25])
def test_chance_is_the_negative_binomial_distribution(count: int) -> None:
    """25 failures at even chances: mean 25, and a fifth of it as the deviation of the mean."""
    expected = sum(comb(24 + k, k) / 2 ** (25 + k) for k in range(count + 1))
    assert probability_at_most(count, 25) == pytest.approx(expected, rel=1e-12)


def ended(counts: dict[date, int]) -> LoadSummary:
    """Return a load with one window for each day, which ends it."""
    windows = [WindowSummary(Window(MONDAY, day), 0, 0) for day in counts]
    return replace(NOTHING, days=counts, windows=windows)


def test_the_latest_empty_working_day_that_ends_a_window_is_named() -> None:
    empty = ended({TUESDAY: 0, FRIDAY: 0, MONDAY: 0})
    assert empty_last_day(empty, ()) == FRIDAY
    assert empty_last_day(empty, [FRIDAY]) == TUESDAY
    assert empty_last_day(empty, [MONDAY, TUESDAY, FRIDAY]) is None
    assert empty_last_day(ended({TUESDAY: 1, FRIDAY: 0}), ()) is None
    assert empty_last_day(ended({TUESDAY: 1, FRIDAY: 0}), [TUESDAY]) == FRIDAY


def test_ends_with_invoices_or_at_a_weekend_ask_for_no_holidays() -> None:
    assert empty_last_day(ended({TUESDAY: 1, FRIDAY: 2, SATURDAY: 0}), Unasked()) is None


def test_a_timestamp_is_read_in_the_zone() -> None:
    assert contains_day(TUESDAY, ["2026-03-16T23:30:00Z"], "Europe/Paris")
    assert not contains_day(MONDAY, ["2026-03-16T23:30:00Z"], "Europe/Paris")
