"""Tests of findings from invoice ranges."""

from datetime import date
from typing import Any

import pytest

from bms_flows.contract.ranges import (
    distinguishing_row,
    end_date,
    fields_within,
    range_date,
)
from bms_flows.runtime.windows import Window

MARCH = Window(date(2026, 3, 1), date(2026, 3, 31))


def test_a_field_qualifies_only_if_every_row_is_within_the_range() -> None:
    rows: list[dict[str, Any]] = [
        {"invoice_date": "2026-03-01", "created_on": "2026-03-31T23:30:00Z", "due_date": None},
        {"invoice_date": "2026-03-31", "created_on": "2026-02-28T10:00:00Z", "due_date": "x"},
    ]
    assert fields_within(rows, MARCH) == ["invoice_date", "created_on"]
    rows.append({"invoice_date": "2026-04-01", "created_on": "2026-02-28T09:00:00Z"})
    assert fields_within(rows, MARCH) == []


def test_a_distinguishing_row_has_its_fields_four_days_apart() -> None:
    near = {"invoice_date": "2026-03-10", "due_date": "2026-03-13"}
    far = {"invoice_date": "2026-03-10", "due_date": "2026-03-14"}
    assert distinguishing_row([near], "invoice_date", "due_date") is None
    assert distinguishing_row([near, far], "invoice_date", "due_date") is far


@pytest.mark.parametrize(
    ("left", "value", "advised", "agrees"),
    [
        (["due_date"], "due_date", True, False),
        (["invoice_date"], "invoice_date", False, False),
        (["invoice_date", "due_date"], None, False, True),
        (["created_on", "due_date"], None, True, False),
        ([], None, False, False),
    ],
)
def test_advice_follows_if_the_assumed_field_is_excluded(
    left: list[str], value: str | None, advised: bool, agrees: bool
) -> None:
    finding = range_date(left, "invoice_date")
    assert (finding.value, bool(finding.advice), finding.agrees) == (value, advised, agrees)


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        ((5, 2, 3, 5), "inclusive"),
        ((5, 0, 0, 5), "exclusive"),
        ((0, 0, 0, 5), None),
    ],
)
@pytest.mark.parametrize("inclusive", [True, False])
def test_single_days_show_whether_end_date_is_included(
    counts: tuple[int, int, int, int], value: str | None, inclusive: bool
) -> None:
    finding = end_date(*counts, inclusive=inclusive)
    assert finding.value == value
    assert bool(finding.advice) is (value is not None and (value == "inclusive") is not inclusive)
