"""Tests of findings from invoice ranges."""

import asyncio
import json
from datetime import date
from typing import Any

import pytest

from bms.endpoints import BY_NAME
from bms.transport import Response
from bms_flows.contract.ranges import (
    Sample,
    distinguishing_row,
    end_date,
    fields_within,
    probe_range_date,
    range_date,
)
from bms_flows.contract.replies import Reply
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
    ("invoiced", "value"), [("2026-03-14", "invoice_date"), ("2026-03-10", None)]
)
def test_drafts_without_a_date_do_not_contradict_the_date(invoiced: str, value: str | None) -> None:
    """The service lists an invoice without a date on the day of its creation."""
    rows: list[dict[str, Any]] = [
        {"id_invoice": 1, "invoice_date": "2026-03-12", "created_on": "2026-03-12T10:00:00Z"},
        {"id_invoice": 2, "invoice_date": invoiced, "created_on": "2026-03-10T10:00:00Z"},
        {"id_invoice": 3, "invoice_date": None, "created_on": "2026-03-20T10:00:00Z"},
    ]

    async def read_range(window: Window) -> Reply:
        days = [date.fromisoformat((row["invoice_date"] or row["created_on"])[:10]) for row in rows]
        listed = [row for row, day in zip(rows, days, strict=True) if day in window]
        return Reply(
            Response(200, {}, json.dumps(listed).encode(), 0), BY_NAME["list_client_invoices"]
        )

    finding = asyncio.run(probe_range_date(Sample(MARCH, rows, read_range), "invoice_date"))
    assert (finding.value, finding.advice) == (value, None)


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
