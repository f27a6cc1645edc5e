"""A quarantined row leaves once every day that it may belong to was read again."""

from datetime import date

import pytest
from sqlalchemy import Engine

from bms_flows.runtime.windows import DAY, Window
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.days import today
from tests.support.sql import fetch

MONDAY = date(2026, 3, 2)
WEEK = Window(MONDAY, MONDAY + 6 * DAY)


def quarantined(warehouse: Engine) -> list[tuple[str, date, date]]:
    rows = fetch(warehouse, "select row_key, first_day, last_day from bms.quarantine order by 1")
    return [tuple(row) for row in rows]


@pytest.fixture
def undated(company: Company, warehouse: Engine) -> Company:
    """A row whose day can't be read, among the invoices of a week."""
    company.service.rows = [invoice(n, day) for n, day in enumerate(WEEK)]
    odd = invoice(99, None, invoice_date="2026-02-30")
    listed = company.service.listed
    company.service.listed = lambda window: [  # type: ignore[method-assign]  # lists a row that no day has
        *listed(window),
        *([odd] if MONDAY + 2 * DAY in window and odd else []),
    ]
    company.read(WEEK.start, WEEK.end)
    assert quarantined(warehouse) == [("99", WEEK.start, WEEK.end)]
    odd.clear()
    return company


@pytest.fixture(autouse=True)
def _listed_as_before(company: Company) -> None:
    vars(company.service).pop("listed", None)


@pytest.mark.parametrize("order", ["first part first", "last part first"])
def test_a_row_without_a_day_stays_while_a_part_of_its_window_is_read(
    undated: Company, order: str
) -> None:
    parts = [(0, 0), (2, 4), (5, 6), (1, 1)]
    for first, last in parts if order == "first part first" else parts[::-1]:
        assert quarantined(undated.warehouse) == [("99", WEEK.start, WEEK.end)]
        undated.read(MONDAY + first * DAY, MONDAY + last * DAY)
    assert quarantined(undated.warehouse) == []


def test_a_row_of_today_stays_until_today_is_over(company: Company, warehouse: Engine) -> None:
    """Today can't be read completely."""
    day = today()
    company.service.rows = [invoice(1, day, invoice_subject="a\0b")]
    company.read(day, day + 2 * DAY)
    company.service.rows = []
    company.read(day, day + 2 * DAY)
    assert quarantined(warehouse) == [("1", day, day)]


def test_a_row_of_a_held_day_stays_until_that_is_published_or_read_well(company: Company) -> None:
    company.service.rows = [
        invoice(1, MONDAY, invoice_subject="a\0b"),
        *(invoice(n, MONDAY) for n in (2, 2, 3)),
    ]
    assert "duplicate_ids" in company.held(WEEK.start, WEEK.end)
    held = quarantined(company.warehouse)
    assert len(held) == 2
    company.read(MONDAY + DAY, WEEK.end)
    assert quarantined(company.warehouse) == held
    company.accept()
    assert quarantined(company.warehouse) == held
    company.service.rows = [invoice(n, MONDAY) for n in (1, 2, 3)]
    company.read(WEEK.start, WEEK.end)
    assert quarantined(company.warehouse) == []
