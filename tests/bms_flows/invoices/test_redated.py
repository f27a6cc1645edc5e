"""Re-dated invoices: never replaced by an older state, never marked as missing."""

from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.invoices.lookback import MOVED_REACH, search_windows
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.days import today
from tests.support.sql import fetch, scalar

MONDAY, TUESDAY, FRIDAY = date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 6)


def redate(company: Company, id_invoice: int, day: date, **changes: Any) -> None:
    [row] = [row for row in company.service.rows if row["id_invoice"] == id_invoice]
    row.update(invoice_date=day.isoformat(), **changes)


def state(warehouse: Engine, id_invoice: int) -> tuple[Any, ...]:
    row = fetch(
        warehouse,
        "select _day, invoice_subject, _missing_since is not null as missing, _version "
        "from bms.client_invoice where id_invoice = :id",
        id=id_invoice,
    )[0]
    return tuple(row)


@pytest.fixture
def march(company: Company) -> Company:
    """Invoices of each day of March, loaded."""
    company.service.rows = [
        invoice(100 * day + n, date(2026, 3, day), invoice_subject="first")
        for day in range(1, 32)
        for n in range(3)
    ]
    company.read(date(2026, 3, 1), date(2026, 3, 31))
    return company


@pytest.mark.parametrize("days", [1, 4, 20, -2, 31])
def test_a_redated_invoice_is_found_although_its_new_day_is_not_read(
    march: Company, days: int
) -> None:
    new = date(2026, 3, 10) + days * DAY
    redate(march, 1001, new, invoice_subject="moved")
    manifest = march.read(date(2026, 3, 10))
    assert (manifest["changed"], manifest["missing"]) == (1, 0)
    assert state(march.warehouse, 1001) == (new, "moved", False, 2)
    assert march.read(date(2026, 3, 1), date(2026, 4, 30))["changed"] == 0
    assert march.rebuilds_equally()


def test_an_invoice_redated_to_a_day_that_the_same_run_has_read_is_found(march: Company) -> None:
    """It leaves the 25th after the response for the 3rd, and before the response for the 25th."""
    march.service.meanwhile = lambda: redate(march, 2501, TUESDAY, invoice_subject="moved")
    manifest = march.read(date(2026, 3, 1), date(2026, 3, 31))
    assert (manifest["changed"], manifest["missing"]) == (1, 0)
    assert state(march.warehouse, 2501) == (TUESDAY, "moved", False, 2)
    assert march.rebuilds_equally()


@pytest.mark.parametrize("ahead", [0, 1, 20])
def test_an_invoice_dated_today_or_later_is_found(company: Company, ahead: int) -> None:
    """A draft of last month is issued today: no run has read today before tomorrow."""
    day = today() + ahead * DAY
    old = today() - 90 * DAY
    company.service.rows = [invoice(n, old) for n in range(3)]
    company.read(old)
    redate(company, 1, day)
    assert company.read(old)["missing"] == 0
    assert state(company.warehouse, 1)[:3] == (day, None, False)


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_search_leaves_out_the_days_that_the_service_refuses(
    company: Company, ahead: int
) -> None:
    """Days that have not come; else one deleted invoice would stop every load of the look-back."""
    company.service.refused_from = today() + ahead * DAY
    last = today() - DAY
    company.service.rows = [invoice(n, last - n % 5 * DAY) for n in range(1, 60)]
    company.read(last - 7 * DAY, last)
    del company.service.rows[3]
    redate(company, 3, last - 9 * DAY)
    manifest = company.read(last - 7 * DAY, last)
    assert (manifest["missing"], manifest["changed"]) == (1, 1)


def test_an_empty_last_day_is_published_if_the_service_refuses_the_next(company: Company) -> None:
    company.service.refused_from = date(2026, 3, 11)
    assert company.read(date(2026, 3, 10))["rows_read"] == 0
    assert company.service.asked[1] == Window(date(2026, 3, 10), date(2026, 3, 11))


def test_a_deleted_invoice_is_marked_after_the_days_around_were_asked_for(march: Company) -> None:
    del march.service.rows[30]
    march.service.asked.clear()
    assert march.read(date(2026, 3, 11))["missing"] == 1
    assert state(march.warehouse, 1100)[2] is True
    asked = {day for window in march.service.asked for day in window}
    assert {*Window(date(2026, 2, 8), date(2026, 4, 11))} <= asked
    read = "select count(*) from bms.client_invoice_day where day > '2026-03-31'"
    assert scalar(march.warehouse, read) == 0, "days asked for by the way don't count as read"
    march.service.asked.clear()
    assert march.read(date(2026, 3, 11))["missing"] == 0
    assert march.service.asked == [Window(date(2026, 3, 11), date(2026, 3, 11))]


def test_an_acceptance_leaves_an_invoice_redated_since_unchanged(march: Company) -> None:
    """Its old day was held; its new day was read and published since."""
    for row in march.service.rows[27:30]:
        row.update(currency=None, invoice_subject="held")
    assert march.held(date(2026, 3, 10))
    redate(march, 1001, date(2026, 3, 20), currency="EUR", invoice_subject="moved")
    march.read(date(2026, 3, 20))
    assert state(march.warehouse, 1001) == (date(2026, 3, 20), "moved", False, 2)
    (manifest,) = march.accept()
    assert (manifest["changed"], manifest["unchanged"]) == (2, 1)
    assert state(march.warehouse, 1001) == (date(2026, 3, 20), "moved", False, 2)
    assert state(march.warehouse, 1000)[1] == "held"
    assert march.rebuilds_equally()


def test_an_acceptance_leaves_an_invoice_that_came_back_unchanged_as_it_is(march: Company) -> None:
    """The held answer lists it under another day; the day that it is stored under was read since."""
    redate(march, 2001, date(2026, 3, 10))
    for row in march.service.rows[27:30]:
        row.update(currency=None)
    assert march.held(date(2026, 3, 10))
    redate(march, 2001, date(2026, 3, 20))
    march.read(date(2026, 3, 20))
    march.accept()
    assert state(march.warehouse, 2001) == (date(2026, 3, 20), "first", False, 1)


def test_an_acceptance_marks_no_invoice_that_was_dated_to_its_day_since(march: Company) -> None:
    for row in march.service.rows[27:30]:
        row.update(currency=None)
    assert march.held(date(2026, 3, 10))
    redate(march, 2001, date(2026, 3, 10))
    march.read(date(2026, 3, 20))
    assert state(march.warehouse, 2001)[0] == date(2026, 3, 10), "followed to a day that is held"
    march.accept()
    assert state(march.warehouse, 2001)[2] is False


def test_many_redated_invoices_are_no_loss(march: Company, warehouse: Engine) -> None:
    """All invoices of a day are re-dated to a week later."""
    for row in march.service.rows[27:30]:
        row["invoice_date"] = "2026-03-17"
    assert march.held(date(2026, 3, 10)) == ""
    for n in range(3):
        assert state(warehouse, 1000 + n)[:3] == (date(2026, 3, 17), "first", False)


def test_the_days_asked_for_are_bounded_and_the_latest() -> None:
    today = date(2026, 11, 22)
    settings = FlowSettings(lookback_days=35, lookback_budget=120)
    assert search_windows([], {today}, settings, today=today) == ([], [])
    tail = Window(today - 35 * DAY, today - DAY)
    read = {*tail, today - 100 * DAY}
    recent = Window(today - 10 * DAY, today - 9 * DAY)
    assert search_windows([recent], read, settings, today=today) == (
        [Window(recent.start - MOVED_REACH, today - 36 * DAY), Window(today, today + MOVED_REACH)],
        [tail],
    )
    split = [*Window(today - 35 * DAY, today + MOVED_REACH)]
    unread, _ = search_windows(
        [recent], {*read, *split} - {split[1], split[3]}, settings, today=today
    )
    assert unread[1:] == [Window(split[1], split[1]), Window(split[3], split[3])]
    decade = [Window(today - 3650 * DAY, today - 36 * DAY)]
    _, again = search_windows(
        decade, {day for each in decade for day in each}, settings, today=today
    )
    assert again == [Window(today - 401 * DAY, today - 36 * DAY)]
    year = [Window(today - n * DAY, today - n * DAY) for n in range(40, 365)]
    assert search_windows(year, {*tail}, settings, today=today) == (
        [Window(today - 155 * DAY, today - 36 * DAY), Window(today, today + MOVED_REACH)],
        [tail],
    )


def test_a_load_leaves_the_newer_state_of_an_invoice_that_another_load_found_on_its_new_day(
    march: Company,
) -> None:
    """The first load reads the old day, and commits after the second load, which reads the new day."""
    redate(march, 1001, date(2026, 3, 10), invoice_subject="edited")

    def second_load() -> None:
        redate(march, 1001, date(2026, 3, 20), invoice_subject="moved")
        assert march.read(date(2026, 3, 20))["changed"] == 1

    march.service.meanwhile = second_load
    manifest = march.read(date(2026, 3, 10))
    assert (manifest["changed"], manifest["missing"], manifest["unchanged"]) == (0, 0, 3)
    assert state(march.warehouse, 1001) == (date(2026, 3, 20), "moved", False, 2)
    assert never_negative(march.warehouse)
    assert march.rebuilds_equally()


def test_a_listed_invoice_that_another_load_marked_as_missing_meanwhile_is_current_again(
    march: Company,
) -> None:
    """The other load began later; a listed invoice exists, in whichever order the loads commit."""
    redate(march, 1001, date(2026, 3, 20), invoice_subject="moved")

    def second_load() -> None:
        march.service.lost = {1001}
        assert march.read(date(2026, 3, 10))["missing"] == 1
        march.service.lost = set()

    march.service.meanwhile = second_load
    assert march.read(date(2026, 3, 20))["changed"] == 1
    assert state(march.warehouse, 1001) == (date(2026, 3, 20), "moved", False, 3)
    assert never_negative(march.warehouse)


def never_negative(warehouse: Engine) -> bool:
    """Return whether each version was superseded after it was observed."""
    query = "select count(*) from bms.client_invoice_version where _superseded_at < _observed_at"
    return scalar(warehouse, query) == 0


def test_invoices_follow_a_corrected_range_date(company: Company, warehouse: Engine) -> None:
    """The service lists invoices under their due date, which the setting did not say at first."""
    first = date(2026, 3, 2)
    company.service.rows = [
        invoice(n, first + n * DAY, due_date=str(first + (n + 1) * DAY)) for n in range(4)
    ]
    company.read(first, first + 6 * DAY)
    company.settings = FlowSettings(invoice_range_date="due_date")
    assert company.read(first, first + 6 * DAY)["changed"] == 4
    stored = "select bool_and(_day = due_date), min(_version) from bms.client_invoice"
    assert fetch(warehouse, stored) == [(True, 2)]
    assert company.rebuilds_equally()
