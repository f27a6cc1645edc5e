"""Checks judge day by day: days that pass are published, the others are held with the reason."""

from datetime import date, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.invoices.planning import held_loads
from bms_flows.monitoring import freshness
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY
from bms_warehouse.queries import loads
from tests.bms_flows.invoices.listed import Company, days, invoice
from tests.support.sql import execute, fetch, scalar

FIRST = date(2026, 1, 5)
"""A Monday."""
QUIET = FIRST + 70 * DAY
LAST = QUIET + 4 * DAY
PER_DAY = 20
MARKED = "select count(*) from bms.client_invoice where _missing_since is not null"


def filled(company: Company, first: date, last: date, per_day: int = PER_DAY) -> None:
    """Give the service invoices of each working day."""
    for day in days(first, (last - first).days + 1):
        if day.weekday() < 5:
            number = (day - date(2020, 1, 1)).days * 100
            company.service.rows += [invoice(number + n, day) for n in range(per_day)]


@pytest.fixture
def quiet(company: Company) -> Company:
    """Ten weeks that are loaded, and a week of which Monday has 2 invoices in the place of 20."""
    filled(company, FIRST, QUIET - DAY)
    company.read(FIRST, QUIET - DAY)
    filled(company, QUIET, QUIET, 2)
    filled(company, QUIET + DAY, LAST)
    return company


def published(warehouse: Engine) -> dict[date, int]:
    rows = fetch(warehouse, "select _day, count(*) from bms.client_invoice group by 1 order by 1")
    return {day: count for day, count in rows}  # noqa: C416 - rows, which dict() doesn't take


def steps(warehouse: Engine) -> list[Any]:
    return list(fetch(warehouse, "select * from bms.step_run order by id"))


def test_one_quiet_day_holds_itself_alone(quiet: Company, warehouse: Engine) -> None:
    message = quiet.held(FIRST + 21 * DAY, LAST)
    assert "1 of 54 days held for review, the other days are published" in message
    assert f"fewer_than_usual (2 on {QUIET}, usually about 20)" in message
    assert f"Held: {QUIET}/{QUIET}." in message
    assert "accept_suspect" in message
    assert QUIET not in published(warehouse)
    assert [published(warehouse)[QUIET + n * DAY] for n in (1, 2, 3, 4)] == [PER_DAY] * 4
    *_, complete, held = steps(warehouse)
    assert (complete.state, held.state, held.held_by) == ("complete", "suspect", complete.id)
    assert (complete.inserted, held.rows_read, held.details["few"]) == (80, 2, {f"{QUIET}": 2})
    (unit,) = held_loads(warehouse, [1])
    assert unit.days == {QUIET}


def test_nothing_is_lost_or_written_twice_by_publishing_in_part(quiet: Company) -> None:
    """The same rows, versions and days as by runs that never met the day."""
    quiet.held(FIRST + 21 * DAY, LAST)
    versions = "select max(_version), count(*) from bms.client_invoice_version"
    assert fetch(quiet.warehouse, versions) == [(1, 50 * PER_DAY + 80)]
    assert scalar(quiet.warehouse, "select count(*) from bms.client_invoice_day") == 70 + 4
    assert quiet.rebuilds_equally()
    (manifest,) = quiet.accept()
    assert (manifest["inserted"], published(quiet.warehouse)[QUIET]) == (2, 2)
    assert quiet.rebuilds_equally()


def test_a_flow_stays_fresh_while_a_day_is_held(quiet: Company, warehouse: Engine) -> None:
    quiet.held(QUIET, LAST)
    # As if the company's day were the one after the last that was read.
    execute(warehouse, "update bms.step_run set started_at = :at", at=LAST + timedelta(days=1))
    with warehouse.connect() as connection:
        [standing] = freshness.read_freshness(connection, FlowSettings())[
            "invoice_extraction"
        ].entities
        shown = loads.latest(connection, {"invoice_extraction": "extract"}, 1)
    assert standing.state == "suspect"
    assert standing.complete_at is not None
    assert standing.complete_at.date() > LAST
    [load] = shown["invoice_extraction"]
    assert (load["state"], load["rows_read"], load["inserted"]) == ("suspect", 82, 80)


def test_a_flow_is_not_fresh_by_days_before_the_held_last_one(company: Company) -> None:
    filled(company, FIRST, QUIET - DAY)
    company.read(FIRST, QUIET - 7 * DAY)
    filled(company, QUIET, QUIET, 2)
    assert company.held(QUIET - 6 * DAY, QUIET)
    execute(
        company.warehouse, "update bms.step_run set started_at = :at", at=QUIET + timedelta(days=1)
    )
    with company.warehouse.connect() as connection:
        [standing] = freshness.read_freshness(connection, FlowSettings())[
            "invoice_extraction"
        ].entities
    assert (standing.state, standing.complete_at) == ("suspect", None)


def test_a_later_try_of_the_task_takes_the_place_of_both_steps(quiet: Company) -> None:
    quiet.held(QUIET, LAST)
    filled(quiet, QUIET, QUIET)
    quiet.service.rows = [*{row["id_invoice"]: row for row in quiet.service.rows}.values()]
    quiet.number -= 1
    quiet.read(QUIET, LAST)
    with quiet.warehouse.connect() as connection:
        shown = loads.latest(connection, {"invoice_extraction": "extract"}, 1)
    [load] = shown["invoice_extraction"]
    assert (load["state"], load["inserted"]) == ("complete", 20)


def test_a_quiet_day_is_held_every_night_until_a_week_has_confirmed_it(quiet: Company) -> None:
    for _night in range(3):
        assert "fewer_than_usual" in quiet.held(QUIET, LAST)
    execute(quiet.warehouse, "update bms.step_run set started_at = started_at - interval '7 days'")
    assert quiet.held(QUIET, LAST) == ""
    assert published(quiet.warehouse)[QUIET] == 2
    assert held_loads(quiet.warehouse, [1]) == []


def test_held_days_do_not_end_the_check_of_their_weekday(quiet: Company) -> None:
    """A week later the held Monday is missing from the history; eight others are there."""
    quiet.held(QUIET, LAST)
    filled(quiet, LAST + DAY, QUIET + 6 * DAY)
    filled(quiet, QUIET + 7 * DAY, QUIET + 7 * DAY, 1)
    message = quiet.held(LAST + DAY, QUIET + 7 * DAY)
    assert f"fewer_than_usual (1 on {QUIET + 7 * DAY}, usually about 20)" in message


def test_of_a_window_that_lost_rows_the_window_is_held(quiet: Company, warehouse: Engine) -> None:
    """Its answer lacks too many; the answers for the other windows are complete."""
    lost = [row for row in quiet.service.rows if row["invoice_date"] == f"{QUIET - 4 * DAY}"]
    quiet.service.lost = {row["id_invoice"] for row in lost[:8]}
    message = quiet.held(QUIET - 14 * DAY, QUIET - DAY)
    assert "drop (8 of 100 in" in message
    (unit,) = held_loads(warehouse, [1])
    assert unit.days == {*days(QUIET - 7 * DAY, 7)}
    assert scalar(warehouse, MARKED) == 0
    quiet.service.lost = set()
    quiet.read(QUIET - 14 * DAY, QUIET - DAY)
    assert held_loads(warehouse, [1]) == []


def test_all_days_held_publish_nothing(company: Company, warehouse: Engine) -> None:
    filled(company, FIRST, LAST)
    company.read(FIRST, QUIET - DAY)
    company.service.lost = {row["id_invoice"] for row in company.service.rows}
    with pytest.raises(LoadHeld, match="all days held for review, nothing is published"):
        company.read(FIRST, FIRST + 4 * DAY)
    assert [step.state for step in steps(warehouse)] == ["complete", "suspect"]
    assert steps(warehouse)[-1].held_by is None


def test_a_small_entity_whose_responses_are_empty_is_held(company: Company) -> None:
    """No week has as many invoices as a check of one response needs."""
    month = days(FIRST, 28)
    company.service.rows = [invoice(n, day) for n, day in enumerate(month[::4])]
    company.read(month[0], month[-1])
    company.service.rows = []
    assert "drop (7 of 7 in 4 responses)" in company.held(month[0], month[-1])
    assert scalar(company.warehouse, MARKED) == 0
