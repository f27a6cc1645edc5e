"""Losses and mass changes that single rows don't show: held for review, and accepted once."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from bms_flows.runtime.windows import DAY
from tests.bms_flows.invoices.listed import Company, Row, days, invoice
from tests.support.sql import scalar

FIRST = date(2026, 1, 5)
"""A Monday."""
WEEKS = 10
END = FIRST + WEEKS * 7 * DAY


def filled(company: Company, first: date, count: int, per_day: int, **given: Any) -> list[Row]:
    """Give the service invoices of each working day of `count` days; return the rows."""
    rows = [
        invoice(
            (day - FIRST).days * 100 + n + 1,
            day,
            **{"id_client": n % 5, "total_due": 120, "po_number": "P", **given},
        )
        for day in days(first, count)
        if day.weekday() < 5
        for n in range(per_day)
    ]
    company.service.rows += rows
    return rows


def loaded(company: Company, count: int, per_day: int) -> list[Row]:
    """Fill `count` days from the first on, and load them; return the rows."""
    rows = filled(company, FIRST, count, per_day)
    company.read(FIRST, FIRST + (count - 1) * DAY)
    return rows


def current(company: Company, condition: str = "true") -> int:
    query = f"select count(*) from bms.client_invoice where _missing_since is null and {condition}"
    return int(scalar(company.warehouse, query) or 0)


def nights_until_held(company: Company, night: Callable[[int], None], most: int) -> int:
    """Return the number of the first run that holds days; fail if none does."""
    for number in range(1, most + 1):
        night(number)
        if company.held(FIRST, END - DAY):
            return number
    pytest.fail(f"no day was held in {most} runs")


def test_losses_below_the_limit_of_a_run_add_up(company: Company) -> None:
    rows = loaded(company, WEEKS * 7, 20)

    def lose(number: int) -> None:
        company.service.lost |= {row["id_invoice"] for row in rows[number::60]}

    assert nights_until_held(company, lose, 20) <= 10
    assert current(company) >= 0.85 * len(rows)


def test_a_first_week_in_which_no_field_is_empty_holds_no_history_with_few_empty_fields(
    company: Company,
) -> None:
    loaded(company, 7, 12)
    rows = filled(company, FIRST + 7 * DAY, 63, 50)
    for row in rows[::150]:
        row["po_number"] = None
    assert company.held(FIRST + 7 * DAY, END - DAY) == ""


def test_the_last_invoices_of_a_small_company_are_not_lost_unseen(company: Company) -> None:
    company.service.rows = [invoice(n, FIRST + n * DAY) for n in range(4)]
    company.read(FIRST, END - DAY)

    def lose(number: int) -> None:
        company.service.lost = {*range(2 * number)}

    assert nights_until_held(company, lose, 2) == 2
    assert current(company) == 2


def test_values_that_a_field_loses_add_up(company: Company) -> None:
    rows = loaded(company, WEEKS * 7, 10)

    def lose(number: int) -> None:
        for row in rows[number::40]:
            row["po_number"] = None

    assert nights_until_held(company, lose, 20) <= 10
    assert current(company, "po_number is not null") >= 0.8 * len(rows)


def test_a_small_entity_that_stops_is_noticed_after_two_days(company: Company) -> None:
    """A single day without invoices is within chance."""
    loaded(company, WEEKS * 7, 8)
    assert company.held(END, END) == ""
    assert "fewer_than_usual (0 on 2 working days" in company.held(END, END + DAY)


def test_a_month_end_without_invoices_is_noticed(company: Company) -> None:
    """The entity bills on the last working day of a month, whatever weekday that is."""
    ends = [date(2025, 8, 29), date(2025, 9, 30), date(2025, 10, 31), date(2025, 11, 28)]
    company.service.rows = [
        invoice(100 * m + n, end) for m, end in enumerate(ends) for n in range(60)
    ]
    company.read(date(2025, 8, 1), date(2025, 12, 15))
    lost = date(2025, 12, 31)
    assert "fewer_than_usual" in company.held(lost - DAY, lost)
    company.service.rows += [invoice(900 + n, lost) for n in range(60)]
    assert company.held(lost - DAY, lost) == ""


CENTS = {"total_excl_vat": 10000, "total_vat": 2000, "total_incl_vat": 12000}
TURNED = {"total_excl_vat": -100, "total_vat": -20, "total_incl_vat": -120}
MASS: dict[str, tuple[dict[str, Any], str]] = {
    "amounts in cents": (CENTS, "total_incl_vat: changed in 250 of 250 rows"),
    "signs turned": (TURNED, "total_incl_vat: changed in 250 of 250 rows"),
    "nothing due": ({"total_due": 0}, "total_due became 0 in 250 of 250 open rows"),
    "all canceled": ({"canceled": True}, "canceled in 250 of 250 rows"),
    "one client": ({"id_client": 3}, "id_client: changed in 200 of 250 rows"),
}


@pytest.mark.parametrize("change", MASS)
def test_a_change_of_most_stored_rows_is_held_and_accepted_once(
    company: Company, change: str
) -> None:
    rows = loaded(company, 35, 10)
    values, text_ = MASS[change]
    for row in rows:
        row.update(values)
    assert text_ in company.held(FIRST, FIRST + 34 * DAY)
    company.accept()
    assert company.held(FIRST, FIRST + 34 * DAY) == ""


NEW: dict[str, tuple[dict[str, Any], str]] = {
    "amounts in cents": (CENTS, "amounts_unusual (EUR: about 1e+02 times"),
    "signs turned": (TURNED, "sign_unusual (15 of 15 new rows)"),
    "one client": ({"id_client": 3}, "one_client (15 of 15 new rows)"),
    "empty field": ({"po_number": None}, "field_emptied (po_number: empty in 15 of 15 new rows)"),
}


@pytest.mark.parametrize("change", NEW)
def test_unusual_new_rows_are_held_and_a_lasting_change_is_accepted_once(
    company: Company, change: str
) -> None:
    loaded(company, 35, 15)
    values, text_ = NEW[change]
    monday = FIRST + 35 * DAY
    filled(company, monday, 5, 15, **values)
    assert text_ in company.held(monday)
    company.accept()
    for day in (monday + DAY, monday + 4 * DAY):
        assert company.held(FIRST, day) == "", "the change is usual now"


def test_new_invoices_tripled_under_other_ids_are_held(company: Company) -> None:
    loaded(company, 35, 10)
    monday = FIRST + 35 * DAY
    for row in filled(company, monday, 1, 10):
        company.service.rows += [
            {**row, "id_invoice": row["id_invoice"] + more} for more in (90_000, 95_000)
        ]
    assert "reference_repeated (20 of 30 rows" in company.held(monday)


def test_a_response_of_another_entity_is_held(company: Company) -> None:
    """The service ignores id_entity."""
    loaded(company, 7, 10)
    assert "other_entity (" in company.held(FIRST, FIRST + 6 * DAY, entity=2)
    assert current(company, "id_entity = 2") == 0


def test_equal_ids_of_other_invoices_are_legal(company: Company) -> None:
    rows = loaded(company, 7, 10)
    for row in rows:
        row.update(reference_number=f"B{row['id_invoice']}", id_client=7)
    assert company.held(FIRST, FIRST + 6 * DAY, entity=2) == ""


def test_a_stale_response_for_another_window_is_held(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are unchanged, and of other days than those requested."""
    filled(company, FIRST, 14, 10)
    company.read(FIRST, FIRST + 6 * DAY)
    stale = [row for row in company.service.rows if row["invoice_date"] < f"{FIRST + 7 * DAY}"]
    monkeypatch.setattr(company.service, "listed", lambda _: stale)
    message = company.held(FIRST + 7 * DAY, FIRST + 13 * DAY)
    assert "outside_window (50 of 50 rows in the response for" in message


@pytest.mark.parametrize(
    ("name", "values"), [("id_client", (700, 701)), ("currency", ("CHF", "USD"))]
)
def test_an_accepted_change_of_all_invoices_covers_older_days_until_they_are_read_again(
    company: Company, name: str, values: tuple[object, object]
) -> None:
    """Old days are read in rotation, and shall not be held night after night: of merged clients, or a new base currency."""
    rows, half = loaded(company, 70, 10), FIRST + 35 * DAY

    def change(value: object) -> None:
        for row in rows:
            row[name] = value

    change(values[0])
    assert f"{name}: changed in 250 of 250" in company.held(half, FIRST + 69 * DAY)
    company.accept()
    for week in range(5):
        company.read(FIRST + 7 * week * DAY, FIRST + (7 * week + 6) * DAY)
    assert company.held(FIRST, FIRST + 69 * DAY) == ""
    change(values[1])
    assert f"{name}: changed in 250 of 250" in company.held(FIRST, FIRST + 34 * DAY)


@pytest.mark.parametrize("empty", [None, ""])
def test_an_acceptance_covers_its_days_and_not_the_field(
    company: Company, empty: str | None
) -> None:
    rows = loaded(company, 35, 10)
    for row in rows[:50]:
        row["po_number"] = empty
    week = (FIRST, FIRST + 6 * DAY)
    assert "po_number: lost in 50 of 50" in company.held(*week)
    company.accept()
    filled(company, FIRST + 35 * DAY, 1, 10)
    assert company.held(*week) == ""
    company.read(FIRST + 35 * DAY)
    for row in rows[50:100]:
        row["po_number"] = empty
    assert "po_number: lost in 50 of 50" in company.held(FIRST + 7 * DAY, FIRST + 13 * DAY)
