"""State of a day: attempts, complete reads and findings decide when a day is read again."""

from datetime import date

import pytest
from sqlalchemy import Engine

from bms_flows.invoices.planning import held_loads, plan_with_lookback
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window
from tests.bms_flows.invoices.listed import Company, days, invoice
from tests.support.days import today
from tests.support.sql import execute, scalar

PER_DAY = 20


def filled(company: Company, first: date, count: int) -> None:
    """Give the service invoices of each day."""
    for day in days(first, count):
        number = (day - date(2010, 1, 1)).days * 100
        company.service.rows += [invoice(number + n, day) for n in range(PER_DAY)]


def planned(
    company: Company, *, nights: int = 1, rotation: int = 10**6, budget: int = 120
) -> set[date]:
    """Return the older days that the run reads whose date is `nights` after today's."""
    settings = FlowSettings(lookback_rotation=rotation, lookback_budget=budget)
    later = today() + (nights - 1) * DAY
    asked = Window(later - DAY, later - DAY)
    units, _ = plan_with_lookback(company.warehouse, [1], asked, settings, today=later)
    return {day for unit in units for day in unit.days if day < later - 35 * DAY}


def aged(warehouse: Engine, number: int) -> None:
    """Let `number` days pass since all reads."""
    columns = {
        "client_invoice_day": ("read_at", "changed_at"),
        "client_invoice_finding": ("attempted_at", "found_at"),
    }
    for table, names in columns.items():
        changes = ", ".join(f"{name} = {name} - interval '{number} days'" for name in names)
        execute(warehouse, f"update bms.{table} set {changes}")


@pytest.fixture
def old(company: Company) -> date:
    """The first of a hundred loaded days, read long ago; a run before today's has read the rest."""
    first = today() - 100 * DAY
    filled(company, first, 100)
    company.read(first, today() - DAY)
    aged(company.warehouse, 70)
    company.read(today() - 70 * DAY, today() - DAY)
    return first


@pytest.mark.parametrize("fault", ["missing", "quarantined", "changed"])
def test_a_wrong_read_of_an_old_day_is_repeated_after_1_2_4_days(
    company: Company, old: date, fault: str
) -> None:
    """The read is plausible enough to be published; no invoice of the day is open."""
    rows = [row for row in company.service.rows if row["invoice_date"] == f"{old}"]
    if fault == "missing":
        company.service.lost = {rows[0]["id_invoice"]}
    elif fault == "quarantined":
        rows[0]["total_due"] = "twelve"
    else:
        for row in rows[:10]:
            row["invoice_subject"] = "wrong"
    company.read(old, old + 9 * DAY)
    assert old in planned(company, nights=2)
    aged(company.warehouse, 1)
    company.read(old)
    assert old not in planned(company, nights=1)
    assert old in planned(company, nights=2)
    aged(company.warehouse, 1)
    company.read(old)
    assert old not in planned(company, nights=2)
    assert old in planned(company, nights=3)


def test_a_plausible_read_of_an_old_day_is_not_repeated(company: Company, old: date) -> None:
    rows = [row for row in company.service.rows if row["invoice_date"] == f"{old}"]
    rows[0]["invoice_subject"] = "corrected"
    company.read(old, old + 9 * DAY)
    assert len(planned(company, nights=2) & {*days(old, 10)}) <= 1  # the day of the rotation


def test_findings_lapse_once_reads_have_confirmed_them_for_a_month(
    company: Company, old: date
) -> None:
    company.service.lost = {company.service.rows[0]["id_invoice"]}
    company.read(old)
    attempts = []
    for night in range(1, 60):
        aged(company.warehouse, 1)
        if old in planned(company):
            company.read(old)
            attempts.append(night)
    assert attempts == [1, 2, 4, 8, 16, 32]
    assert scalar(company.warehouse, "select count(*) from bms.client_invoice_finding") == 0


def test_findings_use_at_most_half_of_the_budget(company: Company, old: date) -> None:
    for row in company.service.rows:
        if row["invoice_date"] < f"{old + 30 * DAY}":
            row["invoice_subject"] = "changed"
    company.read(old, old + 29 * DAY)
    never = [old - n * DAY for n in range(1, 21)]
    filled(company, old - 21 * DAY, 1)
    company.read(old - 21 * DAY)
    read = planned(company, nights=2, budget=20)
    assert len(read & {*days(old, 30)}) == 10
    assert len(read & {*never}) >= 10


def test_held_old_days_do_not_stop_the_rotation(company: Company, old: date) -> None:
    """Each night the same two days would have the oldest read."""
    stuck = {old, old + DAY}
    for row in company.service.rows:
        if row["invoice_date"] in {f"{day}" for day in stuck}:
            row["total_incl_vat"] = 121
            row["invoice_subject"] = "wrong"
    rotated = set[date]()
    for _ in range(8):
        aged(company.warehouse, 1)
        due = planned(company, rotation=65)  # one day a night
        for day in sorted(due):
            assert bool(company.held(day)) == (day in stuck)
        rotated |= due - stuck
    assert len(rotated) >= 6


def test_a_held_backfill_is_due_again(company: Company, old: date) -> None:
    """Its days are before the first day that was ever read."""
    before = old - 30 * DAY
    filled(company, before, 5)
    wrong = [row for row in company.service.rows if row["invoice_date"] == f"{before}"]
    wrong[0]["total_incl_vat"] = 121
    assert "1 of 1" in company.held(before) or "all days" in company.held(before)
    assert before in planned(company, nights=2)
    count = "select count(*) from bms.client_invoice_finding where held"
    assert scalar(company.warehouse, count) == 1
    (unit,) = held_loads(company.warehouse, [1])
    assert unit.days == {before}
    company.accept()
    assert held_loads(company.warehouse, [1]) == []
    assert not scalar(company.warehouse, count)


@pytest.mark.parametrize("accepted", [True, False])
def test_a_held_day_that_is_not_over_can_be_accepted_until_it_is_read_again(
    company: Company, accepted: bool
) -> None:
    """Its read does not count as complete."""
    filled(company, today(), 1)
    company.service.rows[0]["total_incl_vat"] = 121
    assert company.held(today())
    (unit,) = held_loads(company.warehouse, [1])
    assert unit.days == {today()}
    if accepted:
        company.accept()
    else:
        company.service.rows[0]["total_incl_vat"] = company.service.rows[1]["total_incl_vat"]
        company.read(today())
    assert held_loads(company.warehouse, [1]) == []
    assert scalar(company.warehouse, "select count(*) from bms.client_invoice") == PER_DAY


def test_one_mistyped_old_day_does_not_make_a_decade_due(company: Company, old: date) -> None:
    company.read(date(2015, 3, 2))
    due = planned(company, nights=2)
    assert len(due) <= 5
    assert all(day >= old or day == date(2015, 3, 2) for day in due)


def test_the_days_of_a_paused_year_are_due(company: Company, old: date) -> None:
    company.read(old - 300 * DAY)
    assert len(planned(company, nights=2)) >= 120
