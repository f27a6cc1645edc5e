"""Date windows in the company's time zone for every kind of run and season."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms_flows.runtime.windows import InvalidWindow, Window, requested_window

PARIS = ZoneInfo("Europe/Paris")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def day(text: str) -> date:
    return date.fromisoformat(text)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def ask(**given: object) -> str:
    asked_for = {"start_date": None, "end_date": None, "interval": None, "run_after": NOON}
    return str(requested_window(**{**asked_for, **given}, zone=PARIS))  # type: ignore[arg-type]


def test_dates_given_win_over_the_data_interval() -> None:
    interval = (moment("2026-11-19T23:00Z"), moment("2026-11-20T23:00Z"))
    asked_for = ask(start_date=day("2026-01-01"), end_date=day("2026-01-31"), interval=interval)
    assert asked_for == "2026-01-01/2026-01-31"


def test_an_end_alone_is_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidWindow, match="give both"):
        ask(end_date=day("2026-11-18"))


def test_dates_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(InvalidWindow, match="swap"):
        ask(start_date=day("2026-11-18"), end_date=day("2026-11-17"))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-11-19T23:00Z", "2026-11-20T23:00Z", "2026-11-20/2026-11-20"),
        ("2026-03-28T23:00Z", "2026-03-29T22:00Z", "2026-03-29/2026-03-29"),
        ("2026-10-24T22:00Z", "2026-10-25T23:00Z", "2026-10-25/2026-10-25"),
        ("2026-11-19T05:00Z", "2026-11-20T05:00Z", "2026-11-19/2026-11-19"),
        ("2026-11-20T05:00Z", "2026-11-20T06:00Z", "2026-11-19/2026-11-19"),
        ("2026-10-31T23:00Z", "2026-11-30T23:00Z", "2026-11-01/2026-11-30"),
    ],
    ids=["midnight", "23-hour day", "25-hour day", "six in the morning", "hourly", "a month"],
)
def test_a_data_interval_means_its_whole_days(start: str, end: str, expected: str) -> None:
    assert ask(interval=(moment(start), moment(end))) == expected


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"start_date": day("2026-11-18")}, "2026-11-18/2026-11-20"),
        ({"start_date": day("2026-11-21")}, "2026-11-21/2026-11-21"),
        ({"interval": (NOON, NOON)}, "2026-11-20/2026-11-20"),
        ({"run_after": moment("2026-11-20T22:59Z")}, "2026-11-19/2026-11-19"),
        ({"run_after": moment("2026-11-20T23:00Z")}, "2026-11-20/2026-11-20"),
    ],
    ids=["start alone", "start today", "empty interval", "before midnight in Paris", "midnight"],
)
def test_what_is_not_given_ends_with_the_company_s_last_complete_day(
    given_: dict[str, object], expected: str
) -> None:
    assert ask(**given_) == expected


windows = st.builds(
    lambda start, days: Window(start, start + days),
    st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    st.timedeltas(
        min_value=day("2026-01-01") - day("2026-01-01"),
        max_value=NOON - moment("2024-01-01T00:00Z"),
    ),
)


@given(windows, st.integers(1, 400))
def test_a_cut_covers_every_day_once_in_order(window: Window, days: int) -> None:
    pieces = window.cut(days)
    assert [day for piece in pieces for day in piece] == list(window)
    assert all(piece.days <= days for piece in pieces)


@given(windows.filter(lambda window: window.days > 1))
def test_halves_are_shorter_than_the_whole(window: Window) -> None:
    assert [half.days < window.days for half in window.halves()] == [True, True]


@given(windows)
def test_a_window_reads_back_as_written(window: Window) -> None:
    assert Window.parse(str(window)) == window
