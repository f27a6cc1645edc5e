"""Formatting of numbers, amounts, dates and durations."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from bms_flows.texts import PAGES
from bms_provider.board import formatting

T = formatting.THIN


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(seconds=-1), f"0{T}s"),
        (timedelta(seconds=40), f"40{T}s"),
        (timedelta(minutes=89), f"89{T}min"),
        (timedelta(hours=3, minutes=30), f"3.5{T}h"),
        (timedelta(hours=26), f"26{T}h"),
        (timedelta(days=12), f"12{T}d"),
    ],
)
def test_an_age_has_one_unit(span: timedelta, text: str) -> None:
    assert formatting.age(span) == text


def test_an_amount_keeps_every_decimal() -> None:
    assert formatting.amount(Decimal("1234567.5")) == f"1{T}234{T}567.50"
    assert formatting.amount(Decimal("0.12345")) == "0.12345"


def test_a_difference_has_its_sign() -> None:
    assert formatting.difference(1200) == f"+1{T}200"
    assert formatting.difference(Decimal("-2.5")) == "\u22122.50"
    assert formatting.difference(0) == "="


def test_days_are_formatted_as_a_range() -> None:
    assert formatting.days(date(2026, 11, 2), date(2026, 11, 2)) == "2 Nov 2026"
    assert formatting.days(date(2026, 11, 2), date(2026, 11, 8)) == "2 Nov \u2013 8 Nov 2026"
    assert formatting.days(date(2025, 12, 31), date(2026, 1, 1)) == "31 Dec 2025 \u2013 1 Jan 2026"
    assert formatting.days(None, None) == ""


def test_a_moment_is_shown_in_the_company_s_time_zone() -> None:
    at = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)
    assert formatting.moment(at, ZoneInfo("Europe/Paris")) == "2 Jul 2026, 00:30"


def test_a_french_page_names_each_month_in_french() -> None:
    zone = ZoneInfo("Europe/Paris")
    months = PAGES["months"]["FR"]
    shown = [
        formatting.moment(datetime(2026, n, 2, tzinfo=UTC), zone, months) for n in range(1, 13)
    ]
    assert shown[1] == "2 févr. 2026, 01:00"
    names = " ".join(each.split()[1] for each in shown)
    assert names == "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."


@pytest.mark.parametrize(("ms", "text"), [(None, "\u2013"), (3.2, f"3{T}ms"), (1500.0, f"1.5{T}s")])
def test_a_latency_has_its_unit(ms: float | None, text: str) -> None:
    assert formatting.milliseconds(ms) == text


@pytest.mark.parametrize(
    ("count", "text"), [(12, f"12{T}B"), (1500, f"1.5{T}kB"), (2_500_000, f"2.5{T}MB")]
)
def test_a_size_has_its_unit(count: int, text: str) -> None:
    assert formatting.size(count) == text
