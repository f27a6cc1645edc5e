"""Tests of date and timestamp parsing."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms.dates import parse_date, parse_datetime

PARIS = "Europe/Paris"


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-31",
        "2026-03-31T00:00:00",
        "2026-03-31 00:00:00",
        "2026-03-31T00:00",
        "2026-03-31T00:00:00.000",
        "2026-03-31T00:00:00.0000000",
        "2026-03-31T00:00:00Z",
        "2026-03-31T00:00:00z",
        "2026-03-31T00:00:00+02:00",
        "2026-03-31T00:00:00.000+0200",
        "2026-03-30T22:00:00Z",
        "2026-03-30T22:00:00.000Z",
        "2026-03-31T23:59:59+02:00",
    ],
)
def test_every_notation_of_a_day(value: str) -> None:
    assert parse_date(value, PARIS) == date(2026, 3, 31)


def test_without_a_target_zone_the_day_is_unconverted() -> None:
    assert parse_date("2026-03-30T22:00:00Z") == date(2026, 3, 30)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-31T09:15:30",
        "2026-03-31T09:15:30+02:00",
        "2026-03-31T09:15:30.000",
        "2026-03-31T07:15:30Z",
        "2026-03-31T07:15:30.000Z",
        "2026-03-31T02:15:30-05:00",
        "2026-03-31 09:15:30",
    ],
)
def test_every_notation_of_a_timestamp(value: str) -> None:
    moment = parse_datetime(value, PARIS)
    assert moment == datetime(2026, 3, 31, 7, 15, 30, tzinfo=UTC)
    assert moment is not None
    assert moment.tzinfo is UTC


def test_a_date_as_a_timestamp_is_midnight_in_the_zone() -> None:
    assert parse_datetime("2026-01-31", PARIS) == datetime(2026, 1, 30, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "0001-01-01", "0001-01-01T00:00:00", "0001-01-01T00:00:00.0000000"),
        *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+02:00", "0000-00-00", "0000-00-00 00:00:00"),
    ],
)
def test_a_value_that_stands_for_no_date_is_none(value: str | None) -> None:
    assert parse_date(value) is None
    assert parse_datetime(value, PARIS) is None


@pytest.mark.parametrize(
    "value",
    [
        *("31/03/2026", "20260331", "2026-W14-2", "2026-3-31", "2026-02-30", "2026-13-01"),
        *("2026-03-31T25:00:00", "2026-03-31x09:15:30", " 2026-03-31", "2026-03-31\n", "soon"),
        *("2026-03-31T09:15:30 Europe/Paris", "٢٠٢٦-٠٣-٣١", "0000-01-01"),
    ],
)
def test_an_invalid_date_raises_without_quoting_it(value: str) -> None:
    for parse in (lambda: parse_date(value, PARIS), lambda: parse_datetime(value, PARIS)):
        with pytest.raises(ValueError, match="not a") as caught:
            parse()
        assert value.strip() not in str(caught.value)


def test_a_timestamp_out_of_range_raises() -> None:
    with pytest.raises(ValueError, match="out of range"):
        parse_datetime("9999-12-31T23:59:59-02:00", PARIS)


moments = st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1))  # noqa: DTZ001 - another strategy has the zones
offsets = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(moments, offsets)
def test_a_timestamp_with_a_zone_round_trips(moment: datetime, offset: timezone) -> None:
    aware = moment.replace(tzinfo=offset)
    assert parse_datetime(aware.isoformat(), PARIS) == aware


@given(moments)
def test_a_timestamp_without_a_zone_is_in_the_given_zone(moment: datetime) -> None:
    expected = moment.replace(tzinfo=ZoneInfo(PARIS)).astimezone(UTC)
    assert parse_datetime(moment.isoformat(), PARIS) == expected


@given(st.dates())
def test_a_date_round_trips_in_every_zone(day: date) -> None:
    assert parse_date(day.isoformat(), PARIS) == day
    assert parse_date(f"{day.isoformat()}T00:00:00Z", "America/Lima") == day


@given(st.text(min_size=5))
def test_any_other_text_raises_without_quoting_it(text: str) -> None:
    with pytest.raises(ValueError, match="not a") as caught:
        parse_date(text, PARIS)
    texts = {"not an ISO 8601 date or timestamp", "not a valid date or time"}
    assert str(caught.value) in texts  # without the given text, which may be a word of these
