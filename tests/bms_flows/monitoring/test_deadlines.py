"""Deadlines on working days, compared over ten years with a calendar by other code."""

import random
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from bms_flows.catalog import FLOWS
from bms_flows.monitoring.deadlines import Deadline, LoadEnd, months, read_months
from bms_flows.monitoring.freshness import read_freshness
from bms_flows.monitoring.freshness_check import describe
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings, InvalidSetting
from bms_flows.runtime.working_days import Holidays
from tests.support.steps import add_step

DAY = timedelta(days=1)
PARIS = ZoneInfo("Europe/Paris")
DEADLINE = Deadline(time(7, 30), PARIS, Holidays("FR"))


def easter(year: int) -> date:
    """Return Easter Sunday (Gauss, Lichtenberg)."""
    a, b, c = year % 19, year % 4, year % 7
    k = year // 100
    m = (15 + k - (13 + 8 * k) // 25 - k // 4) % 30
    d = (19 * a + m) % 30
    d -= d == 29 or (d == 28 and a > 10)
    e = (2 * b + 4 * c + 6 * d + (4 + k - k // 4) % 7) % 7
    return date(year, 3, 22) + timedelta(days=d + e)


def off(day: date) -> bool:
    """Return whether a day is a weekend or a holiday in France."""
    fixed = {(1, 1), (5, 1), (5, 8), (7, 14), (8, 15), (11, 1), (11, 11), (12, 25)}
    moving = {easter(day.year) + timedelta(days=n) for n in (1, 39, 50)}
    return day.isoweekday() > 5 or (day.month, day.day) in fixed or day in moving


def last_sunday(year: int, month: int) -> date:
    day = date(year, month, 31)
    return day - timedelta(days=day.isoweekday() % 7)


def half_past_seven(day: date) -> datetime:
    """Return 07:30 in Paris as UTC, by the rule of the European Union."""
    summer = last_sunday(day.year, 3) <= day < last_sunday(day.year, 10)
    return datetime(day.year, day.month, day.day, 5 if summer else 6, 30, tzinfo=UTC)


def business_day_before(day: date) -> date:
    day -= DAY
    while off(day):
        day -= DAY
    return day


def test_ten_years_of_clock_changes_and_holidays_are_right() -> None:
    draws = random.Random(31)
    ends: list[LoadEnd] = []
    first = date(2026, 1, 5)
    for n in range(3653):
        day = first + n * DAY
        chance = draws.random()
        midnight = half_past_seven(day) - timedelta(hours=7, minutes=30)
        at = midnight + timedelta(minutes=draws.choice((40, 449, 450, 451, 700)))
        if chance < 0.85:
            ends.append(LoadEnd(1, at, "complete", day - DAY))
        elif chance < 0.95:
            ends.append(LoadEnd(1, midnight + timedelta(hours=1), "failed", day - DAY))
    now = half_past_seven(first + 3653 * DAY) + timedelta(hours=1)
    began = (ends[0].ended.astimezone(UTC) + timedelta(hours=1)).date()

    kept, missed = Counter[date](), Counter[date]()
    causes: dict[date, Counter[str]] = defaultdict(Counter)
    by_newest: dict[date, list[LoadEnd]] = defaultdict(list)
    for end in ends:
        by_newest[end.newest_day].append(end)
    for n in range(1, 3654):
        day = first + n * DAY
        if off(day) or day <= began:
            continue
        needs, at = business_day_before(day), half_past_seven(day)
        spanned = [needs + n * DAY for n in range((day - needs).days + 40)]
        own = [end for each in spanned for end in by_newest[each]]
        if any(end.state == "complete" and end.ended <= at for end in own):
            kept[day.replace(day=1)] += 1
            continue
        missed[day.replace(day=1)] += 1
        failed = any(end.ended <= at for end in own)
        causes[day.replace(day=1)]["failed" if failed else "late"] += 1

    found = months(DEADLINE, ends, now)
    assert len(found) >= 120
    assert found == sorted(found, key=lambda each: each.month, reverse=True)
    assert sum(each.missed for each in found) > 200
    assert {each.month: each.kept for each in found} == {
        each.month: kept[each.month] for each in found
    }
    assert {each.month: each.missed for each in found} == {e.month: missed[e.month] for e in found}
    assert {each.month: dict(each.causes) for each in found if each.missed} == {
        month: dict(each) for month, each in causes.items()
    }
    assert sum(kept.values()) + sum(missed.values()) == sum(e.kept + e.missed for e in found)


@pytest.mark.parametrize(
    ("loads", "cause"),
    [
        ([], "nothing_ran"),
        ([("06:30", "complete")], None),
        ([("06:31", "complete")], "late"),
        ([("06:30", "failed")], "failed"),
        ([("06:31", "failed")], "nothing_ran"),
        ([("06:00", "failed"), ("06:10", "suspect"), ("05:00", "failed")], "suspect"),
    ],
)
def test_a_missed_deadline_has_the_cause_of_the_last_load_before_it(
    loads: list[tuple[str, str]], cause: str | None
) -> None:
    monday = datetime(2026, 3, 23, 6, tzinfo=UTC)
    ends = [LoadEnd(1, monday, "complete", monday.date() - DAY)]
    for at, state in loads:
        ended = datetime.combine(monday + DAY, time.fromisoformat(at), UTC)
        ends.append(LoadEnd(1, ended, state, monday.date()))
    now = monday + timedelta(hours=26)
    [month] = months(DEADLINE, ends, now)
    assert (month.kept, month.causes) == (int(not cause), [(cause, 1)] if cause else [])
    ends.append(LoadEnd(2, monday, "complete", monday.date() - DAY))
    [month] = months(DEADLINE, ends, now)
    assert month.causes == [(min(cause or "nothing_ran", "nothing_ran"), 1)], "one cause a day"


def test_a_young_load_that_lacks_friday_is_overdue_on_monday() -> None:
    monday = datetime(2026, 3, 30, 5, 30, tzinfo=UTC)  # 07:30 in summer time, since Sunday
    thursday, friday = date(2026, 3, 26), date(2026, 3, 27)
    assert DEADLINE.missed_since(thursday, monday) == monday
    assert DEADLINE.missed_since(thursday, monday - timedelta(seconds=1)) is None
    assert DEADLINE.missed_since(friday, monday) is None
    assert DEADLINE.missed_since(friday, monday + timedelta(hours=23)) is None
    assert DEADLINE.missed_since(friday, monday + DAY) == monday + DAY
    assert DEADLINE.missed_since(thursday, monday + 3 * DAY) == monday


def test_a_time_that_clocks_skip_is_the_time_to_which_they_jump() -> None:
    cairo = Deadline(time(0, 30), ZoneInfo("Africa/Cairo"), Holidays("EG"))
    at = cairo.at(date(2026, 4, 24)).astimezone(cairo.zone)
    assert f"{at:%H:%M}" == "01:30"
    assert cairo.passed(datetime(2026, 3, 2, 22, 45, tzinfo=UTC)) == date(2026, 3, 3)


def test_the_deadline_of_a_setting_is_a_time_of_day() -> None:
    given = {"BMS_FRESH_BY": '{"contact_sync": "7h30"}'}
    with pytest.raises(InvalidSetting, match="BMS_FRESH_BY"):
        FlowSettings.from_environment(given)


LOAD: dict[str, Any] = {"flow": "invoice_extraction", "step": "extract", "id_entity": 1}


def test_a_flow_is_late_with_a_fresh_load_that_lacks_the_last_working_day(
    warehouse: Engine,
) -> None:
    now = datetime(2026, 3, 31, 8, 0, tzinfo=UTC)  # a Tuesday, 10:00 in Paris
    settings = FlowSettings(
        fresh_by={"invoice_extraction": "07:30"}, fresh_hours={"invoice_extraction": 72}
    )
    with warehouse.begin() as connection:
        for day, hours, state in ((27, 79, "complete"), (29, 30, "complete"), (30, 4, "failed")):
            given = {"dag_run_id": f"scheduled__{hours}", "window_end": date(2026, 3, day)}
            add_step(connection, now - timedelta(hours=hours), **LOAD, state=state, **given)
        flow = FLOWS["invoice_extraction"]
        month = read_months(connection, flow, settings, now - 9 * DAY, now)
        freshness = read_freshness(connection, settings, now)["invoice_extraction"]
        alarm = describe(freshness, Links("", "", PARIS))
    assert freshness.newest_day == date(2026, 3, 29)
    assert freshness.age == timedelta(hours=30)
    assert freshness.since == datetime(2026, 3, 31, 5, 30, tzinfo=UTC)
    assert freshness.late
    assert "newest day Sun 2026-03-29, deadline 07:30 on working days" in alarm
    assert [(each.kept, each.missed, each.causes) for each in month] == [(1, 1, [("failed", 1)])]


@pytest.mark.parametrize("ahead", [1, 400])
def test_a_day_that_is_not_over_when_a_load_reads_it_is_not_one_that_the_load_has(
    warehouse: Engine, ahead: int
) -> None:
    """A run by hand on Friday afternoon reads until the end of the month, or a mistyped year."""
    friday, monday = date(2026, 3, 27), datetime(2026, 3, 30, 8, 0, tzinfo=UTC)
    runs = {"scheduled__1": (friday - DAY, 5), "manual__1": (friday + (ahead - 1) * DAY, 14)}
    settings = FlowSettings(fresh_by={"invoice_extraction": "07:30"})
    with warehouse.begin() as connection:
        for run, (day, hour) in runs.items():
            at = datetime.combine(friday, time(hour), UTC)
            add_step(connection, at, **LOAD, dag_run_id=run, window_end=day)
        flow = FLOWS["invoice_extraction"]
        freshness = read_freshness(connection, settings, monday)["invoice_extraction"]
        [month] = read_months(connection, flow, settings, monday - 9 * DAY, monday)
    assert freshness.newest_day == friday - DAY
    assert freshness.late
    assert (month.kept, month.missed) == (0, 1)
